"""Finds an environment's spec file for a command and plans it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from accelerator_fleet.errors import FleetError, unknown

if TYPE_CHECKING:
    from accelerator_fleet.plan.model import FleetPlan


def spec_path(env: str, start: Path | None = None) -> Path:
    """The spec of an environment, of the project around `start` (the working directory). Raises FleetError.

    `stacks/fleets/<env>.yaml`; or, for a stack that owns a part of an environment (`prod-use2`), the file that its
    configuration names.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        fleets = folder / "stacks" / "fleets"
        if fleets.is_dir():
            path = fleets / f"{env}.yaml"
            if path.is_file():
                return path
            named = _named_by_stack(folder / "stacks" / f"Pulumi.{env}.yaml")
            if named is not None:
                return named
            raise FleetError("--env", unknown("environment", env, (p.stem for p in fleets.glob("*.yaml"))))
    raise FleetError("", f"no stacks/fleets folder in {here} or above; run this inside the project")


def _named_by_stack(config: Path) -> Path | None:
    if not config.is_file():
        return None
    import yaml

    spec = ((yaml.safe_load(config.read_text(encoding="utf-8")) or {}).get("config") or {}).get("fleet:spec")
    return config.parent / spec if isinstance(spec, str) and (config.parent / spec).is_file() else None


def plan_of(
    path: Path, placements: Mapping[str, tuple[str, str]] | None = None, as_of: datetime | None = None
) -> FleetPlan:
    """The plan of a spec file; with `placements`, of what is up by it; with `as_of`, refused where its capacity is
    over by then. Raises FleetError."""
    from accelerator_fleet import catalog, spec
    from accelerator_fleet.plan import plan
    from accelerator_fleet.plan.times import check_as_of

    wanted = spec.load(path)
    made = plan(wanted, catalog.load(), placements)
    if as_of is not None:
        check_as_of(wanted, made, as_of, outputs=placements is not None)
    return made
