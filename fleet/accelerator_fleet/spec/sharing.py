"""How jobs share the cards of a pool: whole cards by request always; parts of a card only where it is said."""

from __future__ import annotations

from typing import Final

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from accelerator_fleet.spec.base import Count, Model

WAYS: Final = ("mig", "time_slicing", "mps")


class SharingSpec(Model):
    """Parts of a card for jobs: exactly one way."""

    mig: str | None = Field(
        default=None, pattern=r"^[1-9]g\.[1-9][0-9]{0,2}gb$", description="MIG profile on every card: 1g.10gb (gke)"
    )
    time_slicing: Count | None = Field(default=None, ge=2, description="jobs that take turns on a card; no own memory")
    mps: Count | None = Field(default=None, ge=2, description="processes on a card at once, each with its part (MPS)")

    @model_validator(mode="after")
    def _one_way(self) -> SharingSpec:
        said = [w for w in WAYS if getattr(self, w) is not None]
        if len(said) != 1:
            what = " and ".join(f"`{w}`" for w in said) or "nothing"
            text = f"says {what}; a pool shares its cards in one way: `mig`, `time_slicing` or `mps`"
            raise PydanticCustomError("fleet", "{text}", {"text": text})
        return self

    @property
    def way(self) -> str:
        """`mig`, `time_slicing` or `mps`."""
        return next(w for w in WAYS if getattr(self, w) is not None)
