"""The golden recipes are what the real engine previews: every value of the components' resources, recipe by recipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests import golden_recipes
from tests.engine.project import Project
from tests.golden_recipes import SITES, TAGS, Recipe, Resources
from tests.wiring.test_recipes import registered

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# Modes that name nothing that would have to be there; the embedded account has no reservation of every machine.
MODES = ("on-demand", "spot", "flex-start", "queued-provisioning")
KINDS = ("aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool")
UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"  # how the engine writes what only a cloud knows
NETWORKS = "networkConfig.additionalNodeNetworkConfigs"  # by name; that they are the right ones, test_gke says
DRAWN = ("cluster", "name", "placement.group", "nodeConfig.resourceLabels", NETWORKS)
LIKE_MOCKS = ("-id", "arn:", "sg-cluster", "nodes@example")  # what mocks answer where a cloud would


def test_every_recipe_previews_as_it_is_written(fresh: Project) -> None:
    all_ = [r for r in golden_recipes.recipes() if r.made is not None and r.mode in MODES]
    seen = compared = 0
    different: list[str] = []
    for site in ("use2", "usw2", "usc1", "usc2", "usw4", "use5"):
        mine = [r for r in all_ if r.chip.site == site]
        previewed = _preview(fresh, site, mine)
        for name, resources in registered(golden_recipes.together(mine)).items():
            for kind, inputs in resources:
                if kind in KINDS:
                    (found,) = [i for k, i in previewed[name] if k == kind][:1]
                    values, wrong = _compared(found, inputs)
                    compared, seen = compared + values, seen + 1
                    different += [f"{name} {kind} {w}" for w in wrong]
    print(f"\n{len(all_)} recipes: {seen} resources and {compared} values of theirs as the engine previews them")
    assert not different, "\n".join(different[:40])
    assert seen > len(all_)


def _preview(project: Project, site: str, recipes: list[Recipe]) -> dict[str, Resources]:
    env = f"recipes-{site}"
    data = {
        "fleet": "accel",
        "tags": TAGS,
        "defaults": {"protect": False},
        "sites": [{"name": site, **SITES[site]}],
        "pools": [r.pool for r in recipes],
    }
    project.add(env, json.dumps(data))
    out: dict[str, Resources] = {}
    names = sorted((r.pool["name"] for r in recipes), reverse=True)
    for step in project.preview(env):
        _, kind, name = _last(step["urn"])
        pool = next((n for n in names if name == n or name.startswith(f"{n}-")), None)
        if pool is not None and kind in KINDS:
            out.setdefault(pool, []).append((kind, step["newState"].get("inputs", {})))
    return out


def _last(urn: str) -> tuple[str, str, str]:
    parts = urn.split("::")
    return parts[1], parts[2].rpartition("$")[2], parts[3]


def _compared(found: dict[str, Any], wanted: dict[str, Any]) -> tuple[int, list[str]]:
    """How many values are known to both, and the differences: (engine, recipe)."""
    real, told = dict(_leaves(found)), dict(_leaves(wanted))
    known = {p: v for p, v in told.items() if not any(m in str(v) for m in LIKE_MOCKS) and real.get(p) != UNKNOWN}
    # Names are drawn by the engine; clusters and tags bear the environment's.
    known = {p: v for p, v in known.items() if not p.startswith(DRAWN) and "tags" not in p}
    return len(known), [f"{p}: {real.get(p)!r}, {v!r}" for p, v in known.items() if real.get(p) != v]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{number}]")
    elif value is not None:
        yield path, int(value) if isinstance(value, float) and value.is_integer() else value
