"""What an edit of one pool changes, over random fleets: that pool as the table of changes says, and no other pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import event, given, reject
from hypothesis import strategies as st

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import FleetPlan, PoolPlan
from tests.pure.sites import C, examples, made
from tests.pure.test_properties import Entry, planned, shape, sites, specs

# Edits that never replace: who is there stays there.
SAFE: dict[str, Any] = {
    "scaled up": lambda p: {"cards": 2 * p["cards"]},
    "scaled down": lambda p: {"cards": p["cards"] // 2},
    "labelled": lambda p: {"labels": {"team": "vision"}},
    "tainted": lambda p: {"taints": [{"key": "team", "value": "vision"}]},
    "owned": lambda p: {"owner": "vision"},
    "larger disk": lambda p: {"disk": 700},
    "billed by the week": lambda p: {"billing": "week"},
    "given to an autoscaler": lambda p: {"scaling": "auto"},
    "taken from an autoscaler": lambda p: {"scaling": "fixed", "max_cards": None},
    "room for more": lambda p: {"scaling": "auto", "max_cards": 4 * p["cards"]},
}
# Edits that are other nodes.
OTHER: dict[str, Any] = {
    "another chip": lambda p: {"chip": "h200" if p["chip"] == "h100" else "h100", "topology": None, "machine": None},
    "spot": lambda p: {"capacity": {"mode": "spot"}},
    "on demand": lambda p: {"capacity": {"mode": "on-demand"}},
    "another topology": lambda p: {"topology": "4x8", "cards": 32, "machine": None},
}

EDITS: dict[str, Any] = {**SAFE, **OTHER}


def edited(pools: list[Entry], index: int, edit: Any) -> list[Entry]:
    """The pools with one of them edited; None takes a word away."""
    new = {**pools[index], **edit(pools[index])}
    return [*pools[:index], {k: v for k, v in new.items() if v is not None}, *pools[index + 1 :]]


def placed(plan: FleetPlan) -> dict[str, tuple[str, str]]:
    """Where the pools stand once they are up."""
    return {p.name: (p.site, p.zone) for p in plan.pools}


def after(pools: list[Entry], volumes: list[Entry], before: FleetPlan) -> FleetPlan:
    """The plan of an edit in a fleet that is up; an edit that cannot be is another test's."""
    try:
        return made(pools, placed(before), sites=sites(["use2", "use1", "usc1", "euw4", "byo"]), volumes=volumes)
    except FleetError:
        reject()


def changed(old: PoolPlan, new: PoolPlan) -> set[str]:
    return {f for f in type(old).model_fields if getattr(old, f) != getattr(new, f)}


@dataclass(frozen=True)
class Edit:
    """One pool of a fleet that is up, before and after an edit, and the fleets around it."""

    name: str
    pool: str
    before: FleetPlan
    after: FleetPlan

    @property
    def old(self) -> PoolPlan:
        return next(p for p in self.before.pools if p.name == self.pool)

    @property
    def new(self) -> PoolPlan:
        return next(p for p in self.after.pools if p.name == self.pool)

    @property
    def kind(self) -> str:
        return self.after.site(self.new.site).kind


Up = tuple[list[Entry], list[Entry], int]


@st.composite
def fleets(draw: st.DrawFn) -> Up:
    """A random fleet, and the place of one of its pools."""
    pools, volumes = draw(specs())
    if not pools:
        reject()
    return pools, volumes, draw(st.integers(0, len(pools) - 1))


def edit_of(name: str, fleet: Up) -> Edit:
    pools, volumes, index = fleet
    if name == "another topology":  # of a slice that has another one
        slice_ = {"name": "tpu", "chip": "tpu-v5e", "topology": "4x4", "cards": 16, "site": ["usc1", "euw4"]}
        pools, index = [*pools, slice_], len(pools)
    before = planned(pools, volumes)
    event(name)
    return Edit(name, pools[index]["name"], before, after(edited(pools, index, EDITS[name]), volumes, before))


@pytest.mark.parametrize("name", EDITS)
@given(fleets())
@examples(15)
def test_an_edit_of_one_pool_changes_no_other(name: str, fleet: Up) -> None:
    edit = edit_of(name, fleet)
    was, now = ({p.name: shape(p) for p in x.pools if p.name != edit.pool} for x in (edit.before, edit.after))
    assert now == was


@pytest.mark.parametrize("name", SAFE)
@given(fleets())
@examples(15)
def test_what_is_safe_replaces_nothing(name: str, fleet: Up) -> None:
    """Scaling, labels, taints, owners, disks, autoscaling: the shape key stays, and so do nodes, names and flavours."""
    edit = edit_of(name, fleet)
    old, new = edit.old, edit.new
    kept = ["shape_key", "group_name_prefix", "local_queue", "zone", "machine", "topology_shape"]
    if edit.name != "tainted":  # Kueue lets no toleration of a flavour change: other taints are another flavour
        kept.append("flavor")
    assert {f: getattr(new, f) for f in kept} == {f: getattr(old, f) for f in kept}
    assert new.hosts_per_slice == old.hosts_per_slice  # a slice is atomic: more cards are more slices


@pytest.mark.parametrize("name", OTHER)
@given(fleets())
@examples(15)
def test_other_nodes_have_another_key(name: str, fleet: Up) -> None:
    """Whatever the cloud fixes at creation is in the shape key, also where the provider would show an update only."""
    edit = edit_of(name, fleet)
    old, new = edit.old, edit.new
    fixed = ("chip", "machine", "topology_shape", "capacity_mode", "reservation", "site", "zone", "placement_group")
    if all(getattr(old, f) == getattr(new, f) for f in fixed):
        reject()
    if old.site != "byo" or new.site != "byo":
        assert old.shape_key != new.shape_key
        assert old.group_name_prefix != new.group_name_prefix


@pytest.mark.parametrize("name", SAFE)
@given(fleets())
@examples(15)
def test_every_change_is_in_the_table(name: str, fleet: Up) -> None:
    """What an edit changes of a pool that the clouds hold is known by its effect, or follows from what is."""
    edit = edit_of(name, fleet)
    if edit.kind == "existing":
        reject()
    known = {e.field for e in C.changes.entries.values() if e.kind == edit.kind}
    assert changed(edit.old, edit.new) - FOLLOWS <= known


# Fields of a pool that no resource of a cloud carries by themselves.
FOLLOWS = {"cards", "flavor", "scaling", "billing", "quotas", "volume_claims", "runtime", "owner"}
