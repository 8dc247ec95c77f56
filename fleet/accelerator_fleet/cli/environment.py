"""Finds an environment's spec file for a command and plans it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from accelerator_fleet.errors import FleetError, unknown

if TYPE_CHECKING:
    from accelerator_fleet.plan.model import FleetPlan


def spec_path(env: str, start: Path | None = None) -> Path:
    """`stacks/fleets/<env>.yaml` of the project around `start` (the working directory). Raises FleetError."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        fleets = folder / "stacks" / "fleets"
        if fleets.is_dir():
            path = fleets / f"{env}.yaml"
            if path.is_file():
                return path
            raise FleetError("--env", unknown("environment", env, (p.stem for p in fleets.glob("*.yaml"))))
    raise FleetError("", f"no stacks/fleets folder in {here} or above; run this inside the project")


def plan_of(path: Path) -> FleetPlan:
    """The plan of a spec file. Raises FleetError."""
    from accelerator_fleet import catalog, spec
    from accelerator_fleet.plan import plan

    return plan(spec.load(path), catalog.load())
