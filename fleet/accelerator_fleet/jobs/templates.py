"""Job templates, kept as data in templates.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from accelerator_fleet.errors import FleetError, unknown


class Template(BaseModel):
    """What runs in each pod of a job. `kinds`: card resources it can use, `*` for any."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    about: str
    image: dict[str, Any]  # {value, status, source, date}
    command: tuple[str, ...]
    kinds: tuple[str, ...]


def load(name: str) -> Template:
    """The template of that name; FleetError names the nearest one."""
    known = json.loads((Path(__file__).parent / "templates.json").read_text())
    if name not in known:
        raise FleetError("TEMPLATE", unknown("template", name, known))
    return Template(name=name, **known[name])
