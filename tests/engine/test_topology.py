"""A TPU pool's topology is fixed at creation: through the component another one is a replacement, seen in the preview.

What the provider itself does with it (an update that changes nothing) is in test_google_provider.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project
from tests.engine.steps import naming, new_before_old, replacement_steps

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENV = "topology"
SPEC = """extends: base
defaults: {protect: false}
sites:
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
volumes:
  - {name: shared, site: usc1, size: 1TiB}
pools:
  - {name: vision, site: usc1, chip: tpu-v5e, topology: 4x4, runtime: jax}
  - {name: other, site: usc1, chip: tpu-v5e, topology: 2x4, runtime: jax}
  - name: held
    site: usc1
    zone: us-central1-a
    chip: tpu-v5e
    topology: 2x2
    runtime: jax
    capacity: {mode: reserved, reservation: train-v5e} # 64 hosts that the embedded project has
"""
SLICE = "gcp:container/nodePool:NodePool::"


@pytest.fixture(scope="module")
def slices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project with two slices up."""
    project = Project(tmp_path_factory.mktemp("topology") / "project")
    project.add(ENV, SPEC)
    try:
        project.fleet("up", "--env", ENV)
        yield project
    finally:
        stop(project)


def pools(project: Project) -> dict[str, tuple[int, int]]:
    """Pool -> (nodes, cards) that are ready."""
    found = json.loads(project.fleet("status", "--env", ENV, "--json").stdout)["pools"]
    return {p["pool"]: (p["nodesReady"], p["cardsReady"]) for p in found}


def test_another_topology_is_a_visible_replacement(slices: Project) -> None:
    assert pools(slices) == {"vision": (4, 16), "other": (1, 8), "held": (1, 4)}
    slices.edit(f"fleets/{ENV}.yaml", "topology: 4x4", "topology: 8x8")
    steps = replacement_steps(slices, ENV)
    assert [op for op, what in steps if what == f"{SLICE}vision"] == ["create-replacement", "delete-replaced"], steps
    assert new_before_old(steps), steps
    assert naming(steps, "shared", "olume", "::other", "::held") == []
    slices.fleet("up", "--env", ENV)
    assert pools(slices) == {"vision": (16, 64), "other": (1, 8), "held": (1, 4)}
    assert slices.preview(ENV) == []


def test_where_both_draw_on_one_reservation_the_old_slice_goes_first(slices: Project) -> None:
    slices.edit(f"fleets/{ENV}.yaml", "topology: 2x2", "topology: 4x4")
    steps = replacement_steps(slices, ENV)
    assert [op for op, what in steps if what == f"{SLICE}held"] == ["delete-replaced", "create-replacement"], steps
    assert naming(steps, "shared", "olume", "::other", "::vision") == []
    slices.fleet("up", "--env", ENV)
    assert pools(slices)["held"] == (4, 16)


def test_what_leaves_its_reservation_has_its_new_slice_first(slices: Project) -> None:
    slices.edit(f"fleets/{ENV}.yaml", "    capacity: {mode: reserved, reservation: train-v5e}", "    ")
    steps = replacement_steps(slices, ENV)
    assert [op for op, what in steps if what == f"{SLICE}held"] == ["create-replacement", "delete-replaced"], steps
    assert new_before_old(steps), steps
