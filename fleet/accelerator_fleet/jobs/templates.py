"""Job templates, kept as data in templates.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from accelerator_fleet.errors import FleetError, unknown


class Row(BaseModel):
    """Base of what the file holds."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Variable(Row):
    """One environment variable of the collective library or the vendor's runtime, and where its value is from."""

    value: str
    when: Literal["always", "efa", "eks", "gke"] = "always"  # efa: the pod has EFA interfaces
    status: Literal["verified", "derived"]
    source: str
    date: str


class Template(Row):
    """What runs in each pod of a job. `kinds`: card resources it can use, `*` for any."""

    name: str
    about: str
    image: dict[str, Any]  # {value, status, source, date}
    command: tuple[str, ...]
    kinds: tuple[str, ...]
    topology: Literal["block", "preferred", "none"] = "preferred"
    env: dict[str, Variable] = {}
    processes: dict[str, int] = {}  # chip -> processes per card, where it is not one: NeuronCores of a device

    def must_run_on(self, resource: str) -> None:
        """Raises FleetError when the template is for other cards."""
        if "*" not in self.kinds and resource not in self.kinds:
            raise FleetError("TEMPLATE", f"{self.name} runs on {', '.join(self.kinds)}, not on {resource}")

    def env_on(self, *, efa: bool, site: str) -> dict[str, str]:
        """The variables that hold for a pod on that kind of site."""
        met = {"always", site} | ({"efa"} if efa else set())
        return {name: v.value for name, v in self.env.items() if v.when in met}

    def processes_per_card(self, chip: str) -> int:
        """How many processes a launcher starts for each card."""
        return self.processes.get(chip, 1)


def load(name: str) -> Template:
    """The template of that name; FleetError names the nearest one."""
    known = json.loads((Path(__file__).parent / "templates.json").read_text())
    if name not in known:
        raise FleetError("TEMPLATE", unknown("template", name, known))
    return Template(name=name, **known[name])


def names() -> tuple[str, ...]:
    """All templates."""
    return tuple(json.loads((Path(__file__).parent / "templates.json").read_text()))
