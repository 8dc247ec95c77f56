"""What every spec object is made of: the frozen base class and counts."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import PydanticCustomError


def _whole(value: object) -> object:
    # YAML's `yes` would count as 1.
    if isinstance(value, bool):
        raise PydanticCustomError("fleet", "{text}", {"text": f"a whole number is needed, not {str(value).lower()}"})
    return value


Count = Annotated[int, BeforeValidator(_whole)]


class Model(BaseModel):
    """Base of every spec object: frozen, and a key it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
