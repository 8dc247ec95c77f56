"""Somebody scales a pool in the console: a refresh shows it; `scaling: fixed` takes it back, `auto` leaves it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.project import Project

pytestmark = pytest.mark.engine

FIXED = "{name: pretrain, site: use2, chip: h100, cards: 16, runtime: pytorch}"
AUTO = (
    "{name: pretrain, site: use2, chip: h100, cards: 16, min_cards: 0, max_cards: 64, scaling: auto, runtime: pytorch}"
)
SPEC = """\
extends: base
defaults: {protect: false}
sites:
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: pretrain, site: usc1, chip: a100, cards: 16, runtime: pytorch}
"""


def nodes(project: Project, env: str) -> int:
    """Nodes of the pool that are ready."""
    import json

    found = json.loads(project.fleet("status", "--env", env, "--json").stdout)["pools"]
    return int(found[0]["nodesReady"])


def changes(steps: list[dict[str, Any]]) -> list[tuple[str, str, list[str]]]:
    """Operation, resource, paths of what is neither a component's nor the stack's own."""
    return [
        (s["op"], s["urn"].rpartition("::")[2], sorted(s.get("detailedDiff") or {}))
        for s in steps
        if "accelerator-fleet:index:" not in s["urn"].split("::")[2].split("$")[-1] and "pulumi:Stack" not in s["urn"]
    ]


def by_hand(project: Project, env: str, count: int) -> str:
    """Scales in the console, refreshes; what the refresh says."""
    project.run_in(env, "fleet", "sim", "console", "scale", "pretrain", str(count))
    assert nodes(project, env) == count
    return project.pulumi("refresh", "--yes", "--skip-preview", "--diff", env=env).stdout


def test_fixed_takes_it_back_and_auto_leaves_it(single: Project) -> None:
    try:
        said = by_hand(single, "single", 3)
        assert "desiredSize" in said
        assert "2 => 3" in said
        paths = ["scalingConfig.desiredSize", "scalingConfig.maxSize"]
        assert changes(single.preview()) == [("update", "pretrain", paths)]
        single.pulumi("up", "--yes", "--skip-preview")
        assert nodes(single, "single") == 2

        single.edit("fleets/single.yaml", FIXED, AUTO)
        single.pulumi("up", "--yes", "--skip-preview")
        assert "2 => 3" in by_hand(single, "single", 3)
        assert changes(single.preview()) == []
        single.pulumi("up", "--yes", "--skip-preview")
        assert nodes(single, "single") == 3
    finally:
        text = (single.folder / "stacks" / "fleets" / "single.yaml").read_text()
        (single.folder / "stacks" / "fleets" / "single.yaml").write_text(text.replace(AUTO, FIXED))
        single.pulumi("up", "--yes", "--skip-preview")


@pytest.mark.slow
def test_the_same_on_google(fresh: Project) -> None:
    fresh.add("drift", SPEC)
    fresh.run_in("drift", "fleet", "sim", "clock", "--speed", "1000")
    fresh.pulumi("up", "--yes", "--skip-preview", env="drift")
    assert "2 => 3" in by_hand(fresh, "drift", 3)
    assert changes(fresh.preview("drift")) == [("update", "pretrain", ["nodeCount"])]
    fresh.pulumi("up", "--yes", "--skip-preview", env="drift")
    assert nodes(fresh, "drift") == 2
    fresh.edit("fleets/drift.yaml", "cards: 16,", "cards: 16, min_cards: 0, max_cards: 64, scaling: auto,")
    fresh.pulumi("up", "--yes", "--skip-preview", env="drift")
    by_hand(fresh, "drift", 3)  # no input any more, so the engine notes it without a line
    exported = fresh.pulumi("stack", "export", env="drift").stdout
    assert '"nodeCount": 3' in exported
    assert changes(fresh.preview("drift")) == []
    fresh.pulumi("up", "--yes", "--skip-preview", env="drift")
    assert nodes(fresh, "drift") == 3
