"""Reads the typed recipes and sets what they expect beside what is planned, by the expectation's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from accelerator_fleet import catalog, spec
from accelerator_fleet.plan import plan as make_plan
from accelerator_fleet.plan.model import FleetPlan

FOLDER: Final = Path(__file__).parent / "recipes"
DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
Getter = Callable[[Any], Any]
# What no plan says, only resources do: compared in tests/wiring, the rest in tests/pure.
RESOURCE_FIELDS: Final = frozenset(
    {
        *("capacity_type", "market_type", "reservation_target", "placement_strategy", "queue_quota", "taint", "spot"),
        *("reservation_affinity", "flex_start", "queued_provisioning", "auto_repair", "auto_scaled_from"),
        *("max_run_seconds", "placement", "gpu_partition_size"),
    }
)


@dataclass(frozen=True)
class Recipe:
    """One file: a fleet, what the vendors' documents say of it, and which document."""

    name: str
    pending: str | None
    spec: dict[str, Any]
    expect: dict[str, Any]
    because: dict[str, dict[str, str]]
    date: str

    def plan(self) -> FleetPlan:
        """The plan of its fleet, in an environment that is not `dev`."""
        return _plan(self.name)


@dataclass(frozen=True)
class Difference:
    """The documents and the toolkit disagree."""

    recipe: str
    field: str
    document: Any
    toolkit: Any

    def __str__(self) -> str:
        return f"{self.recipe} {self.field}: the document says {self.document!r}, the toolkit {self.toolkit!r}"


@cache
def recipes() -> dict[str, Recipe]:
    """All recipes by file stem."""
    out = {}
    for path in sorted((FOLDER / "typed").glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        data.pop("title")
        out[path.stem] = Recipe(name=path.stem, pending=data.pop("pending", None), **data)
    return out


@cache
def _plan(name: str) -> FleetPlan:
    return make_plan(spec.parse(recipes()[name].spec, env="typed"), catalog.load())


@cache
def explained() -> dict[tuple[str, str], dict[str, Any]]:
    """The differences that stay, each with who is right and a source."""
    rows = yaml.safe_load((FOLDER / "differences.yaml").read_text(encoding="utf-8")) or []
    return {(row["recipe"], row["field"]): row for row in rows}


def compare(recipe: Recipe, read: Mapping[str, Getter], subject: Any) -> tuple[int, list[Difference]]:
    """How many of the recipe's expectations `read` knows, and which of them differ."""
    fields = [f for f in recipe.expect if f in read]
    found = []
    for field in fields:
        wanted, got = recipe.expect[field], read[field](subject)
        # Two documents disagree on this one, and either will do.
        same = got in wanted if field == "card0_primary" else got == wanted
        if not same:
            found.append(Difference(recipe.name, field, wanted, got))
    return len(fields), found


def unexplained(found: list[Difference]) -> list[str]:
    """Differences without an entry in differences.yaml, or with another value than it says."""
    rows = explained()
    return [str(d) for d in found if rows.get((d.recipe, d.field), {}).get("toolkit", ...) != d.toolkit]
