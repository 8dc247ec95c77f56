"""Edits of a fleet that is up, on the real engine: what the preview does to every accelerator pool, each as predicted.

For each edit the operations of all node groups and node pools are asserted, not of the edited pool only; and beside the
expected ones, written here, those that the plan predicts by the catalogue's table of changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import FleetPlan
from accelerator_fleet.plan.placed import placements
from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENV = "safe"
SPEC = """extends: base
defaults: {protect: false}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 16, runtime: pytorch}
  - {name: cheap, site: use2, chip: a100, cards: 8, runtime: pytorch, capacity: {mode: spot}}
  - {name: trn, site: use2, zone: us-east-2c, chip: trn1n, cards: 16, runtime: neuron, scaling: auto, max_cards: 32}
  - {name: tpu, site: usc1, chip: tpu-v5e, topology: 4x4, cards: 16, runtime: jax}
  - {name: goog, site: usc1, chip: a100, cards: 8, runtime: pytorch, scaling: auto, max_cards: 16}
"""
GROUP, POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"
UPDATE, REPLACE, CREATE = "update", "replace", "create"
# Edit -> (what is replaced in the file, what happens to each accelerator pool; others stay as they are).
EDITS: dict[str, tuple[list[tuple[str, str]], dict[str, str]]] = {
    "scaled up": ([("h100, cards: 16", "h100, cards: 24")], {"pretrain": UPDATE}),
    "scaled down": ([("h100, cards: 16", "h100, cards: 8")], {"pretrain": UPDATE}),
    "spot, scaled up": ([("a100, cards: 8, runtime: pytorch, cap", "a100, cards: 16, runtime: pytorch, cap")],
                        {"cheap": UPDATE}),
    "a slice more": ([("4x4, cards: 16", "4x4, cards: 32")], {"tpu-1": CREATE}),
    "labels": ([("h100, ", "h100, labels: {team: vision}, "), ("tpu-v5e, ", "tpu-v5e, labels: {team: vision}, ")],
               {"pretrain": UPDATE, "tpu": UPDATE}),
    "taints": ([("h100, ", "h100, taints: [{key: team, value: a}], "),
                ("tpu-v5e, ", "tpu-v5e, taints: [{key: team, value: a}], ")], {"pretrain": UPDATE, "tpu": UPDATE}),
    "an autoscaler's bounds": ([("max_cards: 32", "max_cards: 48"), ("max_cards: 16", "max_cards: 24")],
                               {"trn": UPDATE, "goog": UPDATE}),
    "an autoscaler's present count": ([("trn1n, cards: 16", "trn1n, cards: 32")], {}),
    "spot pool, labels": ([("a100, cards: 8, runtime: pytorch, cap",
                            "a100, labels: {team: a}, cards: 8, runtime: pytorch, cap")], {"cheap": UPDATE}),
    "a chip": ([("chip: h100, ", "chip: trn1n, "), ("cards: 16, runtime: pytorch", "cards: 16, runtime: neuron")],
               {"pretrain": REPLACE}),
    "a topology": ([("4x4, cards: 16", "4x8, cards: 32")], {"tpu": REPLACE}),
    # The group itself keeps its words: only the launch template names it. By itself the provider would roll the nodes.
    "a reservation": (
        [("h100, ", "h100, capacity: {mode: reserved, reservation: cr-0a1b2c3d4e5f60718}, ")],
        {"pretrain": REPLACE},
    ),
    "spot becomes on demand": ([("capacity: {mode: spot}", "capacity: {mode: on-demand}")], {"cheap": REPLACE}),
}  # fmt: skip


@pytest.fixture(scope="module")
def safe(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose environment `safe` is up."""
    project = Project(tmp_path_factory.mktemp("safe") / "project")
    project.add(ENV, SPEC)
    try:
        project.fleet("up", "--env", ENV, timeout=900)
        yield project
    finally:
        stop(project)


def operations(project: Project) -> dict[str, str]:
    """Node group or node pool -> what the preview does to it, for all that it touches; system nodes stand aside."""
    steps = [s for s in project.preview(ENV) if s["urn"].split("::")[-2].rpartition("$")[2] in (GROUP, POOL)]
    return {s["urn"].rpartition("::")[2]: s["op"] for s in steps}


def planned(project: Project, outputs: dict[str, object]) -> FleetPlan:
    wanted = spec.load(project.folder / "stacks" / "fleets" / f"{ENV}.yaml")
    return plan(wanted, catalog.load(), placements(outputs))


def predicted(before: FleetPlan, after: FleetPlan) -> dict[str, str]:
    """What the plan says of each node group and node pool, by the catalogue's table of changes."""
    effects: dict[tuple[str, str], str] = {(e.kind, e.field): e.effect for e in catalog.load().changes.entries.values()}
    found: dict[str, str] = {}
    for old, new in zip(before.pools, after.pools, strict=True):
        kind = next(s.kind for s in after.sites if s.name == new.site)
        changed = {f for f in type(old).model_fields if getattr(old, f) != getattr(new, f)}
        worst = {effects.get((kind, f), "none") for f in changed} - {"none"}
        numbered = [new.name, *(f"{new.name}-{i}" for i in range(1, max(old.slices, new.slices)))]
        for name in numbered[old.slices :]:
            found[name] = CREATE
        if "replace" in worst:
            found |= dict.fromkeys(numbered[: old.slices], REPLACE)
        elif changed & CARRIED[kind] and not (new.scaling == "auto" and changed & CARRIED[kind] == {"nodes"}):
            found |= dict.fromkeys(numbered[: old.slices], UPDATE)
    return found


# Fields of a pool that stand in the node group or pool itself; a slice's count is its hosts, whatever the pool has.
CARRIED = {
    "eks": {"nodes", "min_nodes", "max_nodes", "labels", "taints", "tags", "disk_gib", "release", "kubernetes"},
    "gke": {"labels", "taints", "tags", "disk_gib", "release", "ami_type", "min_nodes", "max_nodes"},
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit(safe: Project, edit: str) -> None:
    changes, expected = EDITS[edit]
    outputs = safe.outputs(ENV)
    before = planned(safe, outputs)
    path: Path = safe.folder / "stacks" / "fleets" / f"{ENV}.yaml"
    kept = path.read_text()
    try:
        for old, new in changes:
            safe.edit(f"fleets/{ENV}.yaml", old, new)
        after = planned(safe, outputs)
        found = operations(safe)
    finally:
        path.write_text(kept)
    assert found == expected
    if not any(p.slices > 1 and p.topology_shape for p in (*before.pools, *after.pools)):
        assert predicted(before, after) == found
    print(f"{edit}: {found or 'no accelerator pool touched'}")


def test_nothing_drifts(safe: Project) -> None:
    """Labels and taints as the clouds' agents show them are no change, and after a refresh neither."""
    assert operations(safe) == {}
    safe.pulumi("refresh", "--yes", "--expect-no-changes", env=ENV)
    assert safe.preview(ENV) == []


def test_edits_one_after_another_leave_the_others(safe: Project) -> None:
    """Made for real: spot stays spot, slices stay, and each `up` touches the one pool."""
    for old, new, pools in (
        ("a100, cards: 8, runtime: pytorch, cap", "a100, cards: 16, runtime: pytorch, cap", {"cheap"}),
        ("4x4, cards: 16", "4x4, cards: 32", {"tpu-1"}),
        ("h100, cards: 16", "h100, labels: {team: vision}, cards: 24", {"pretrain"}),
    ):
        safe.edit(f"fleets/{ENV}.yaml", old, new)
        assert set(operations(safe)) == pools
        safe.pulumi("up", "--yes", "--skip-preview", env=ENV, timeout=600)
        assert safe.preview(ENV) == []
    kinds = {
        n["metadata"]["labels"]["accelerator-fleet.dev/pool"]: n["metadata"]["labels"].get(
            "eks.amazonaws.com/capacityType"
        )
        for n in safe.kubectl("use2", "/api/v1/nodes", ENV)["items"]
        if "accelerator-fleet.dev/pool" in n["metadata"]["labels"]
    }
    assert kinds["cheap"] == "SPOT"
