"""The golden recipes are current: what the code plans and registers is what docs/recipes says, word for word."""

from __future__ import annotations

import os

import pytest

from accelerator_fleet.plan.model import FleetPlan
from tests import golden_recipes
from tests.golden_recipes import FOLDER, Resources
from tests.wiring.recorder import build


def registered(plans: list[FleetPlan]) -> dict[str, Resources]:
    """Pool -> the resources that the components register for it, under mocks."""
    resources: dict[str, Resources] = {}
    for plan in plans:
        names = sorted((p.name for p in plan.pools), reverse=True)
        for made in build(plan).made:
            pool = next((n for n in names if made.name == n or made.name.startswith(f"{n}-")), None)
            if pool is not None and not made.typ.startswith(("accelerator-fleet:", "pulumi:")):
                resources.setdefault(pool, []).append((made.typ, made.inputs))
    return resources


def documents() -> dict[str, str]:
    """File -> text, from the plans and the components under mocks."""
    all_ = list(golden_recipes.recipes())
    resources = registered(golden_recipes.together(all_))
    files = dict.fromkeys(r.chip.file for r in all_)
    return {
        f"{name}.md": golden_recipes.render(name, [r for r in all_ if r.chip.file == name], resources) for name in files
    } | {"README.md": golden_recipes.overview(all_)}


def test_the_recipes_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    texts = documents()
    if os.environ.get("RECORD_GOLDENS"):
        FOLDER.mkdir(exist_ok=True)
        for path in FOLDER.glob("*.md"):
            path.unlink()
        for name, text in texts.items():
            (FOLDER / name).write_text(text, encoding="utf-8")
    recorded = {p.name: p.read_text(encoding="utf-8") for p in FOLDER.glob("*.md")}
    assert set(recorded) == set(texts)
    for name, text in texts.items():
        assert recorded[name] == text, f"docs/recipes/{name} is not current: `make goldens`, and read the diff"
    with capsys.disabled():
        print(f" {golden_recipes.count(texts)} golden recipes ", end="")
