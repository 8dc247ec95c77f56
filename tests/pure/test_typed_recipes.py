"""Thirty fleets typed from the vendors' documents, against the plan: a second opinion of machines, counts and cards."""

from __future__ import annotations

from typing import Final

import pytest

from accelerator_fleet import catalog
from accelerator_fleet.plan.model import FleetPlan, PoolPlan, QueuedPlan, QuotaPlan
from tests.typed_recipes import (
    DATE,
    RESOURCE_FIELDS,
    Difference,
    Getter,
    Recipe,
    compare,
    explained,
    recipes,
    unexplained,
)

NETWORKS: Final = {"tcpx": "TCPX", "tcpxo": "TCPXO", "rdma": "RDMA", None: None}


def pool(plan: FleetPlan) -> PoolPlan:
    """The one pool of a recipe."""
    (one,) = plan.pools
    return one


def _vcpus(plan: FleetPlan) -> int:
    one, quota = pool(plan), _quota(plan)
    # A capacity block takes no quota of running instances: then it is the machines' own count.
    return quota.amount if quota.unit == "vCPU" else one.nodes * catalog.load().machines.entries[one.machine].vcpu


def _quota(plan: FleetPlan) -> QuotaPlan:
    (one,) = plan.quotas
    return one


def _network_cards(plan: FleetPlan) -> int:
    # Without interface blocks EC2 makes one interface, on card 0.
    return len({i.network_card for i in pool(plan).interfaces}) or 1


def _on_card_0(plan: FleetPlan) -> dict[int, str]:
    return {i.device: i.interface_type for i in pool(plan).interfaces if i.network_card == 0}


def _accelerator(plan: FleetPlan) -> str | None:
    one = pool(plan)
    # The label of a TPU node follows from its machine; only the catalogue says it.
    return one.accelerator or catalog.load().gke_machines.entries[one.machine].accelerator


def _extra(plan: FleetPlan, kind: str) -> int:
    network = plan.site(pool(plan).site).gke_network
    assert network is not None
    kinds = {e.name: e.kind for e in network.extra}
    return sum(1 for name in pool(plan).extra_networks if kinds[name] == kind)


def _mig_per_card(plan: FleetPlan) -> int:
    sharing = pool(plan).sharing
    assert sharing is not None
    assert sharing.way == "mig"
    return sharing.parts


def _queued(plan: FleetPlan) -> QueuedPlan:
    queued = pool(plan).queued
    assert queued is not None
    return queued


READ: Final[dict[str, Getter]] = {
    "machine": lambda p: pool(p).machine,
    "nodes": lambda p: pool(p).nodes,
    "cards_per_node": lambda p: pool(p).cards_per_node,
    "chips": lambda p: pool(p).cards,
    "vcpus": _vcpus,
    "quota_name": lambda p: _quota(p).name,
    "efa_interfaces": lambda p: pool(p).efa_interfaces,
    "network_cards": _network_cards,
    "card0_efa": lambda p: any(t.startswith("efa") for t in _on_card_0(p).values()),
    "card0_primary": lambda p: _on_card_0(p).get(0, "interface"),
    "ami_type": lambda p: pool(p).ami_type,
    "device_resource": lambda p: pool(p).resource,
    "accelerator": _accelerator,
    "topology": lambda p: pool(p).topology_shape,
    "slices": lambda p: pool(p).slices,
    "nodes_per_slice": lambda p: pool(p).hosts_per_slice or pool(p).nodes // pool(p).slices,
    "additional_networks": lambda p: len(pool(p).extra_networks),
    "rdma_networks": lambda p: _extra(p, "rdma"),
    "network_kind": lambda p: NETWORKS[catalog.load().gke_machines.entries[pool(p).machine].gpudirect],
    "node_labels": lambda p: pool(p).node_selector,
    "mig_per_card": _mig_per_card,
    "mig_per_node": lambda p: pool(p).devices_per_node,
    "accelerator_type": lambda p: _queued(p).accelerator_type,
    "runtime_version": lambda p: _queued(p).runtime_version,
}


def test_the_recipes_themselves() -> None:
    assert len(recipes()) == 30
    assert sum(1 for r in recipes().values() if pool(r.plan()).cards >= 256) >= 8
    for recipe in recipes().values():
        assert set(recipe.because) == set(recipe.expect), recipe.name
        assert all(why["source"] and why["says"] for why in recipe.because.values()), recipe.name
        assert DATE.fullmatch(recipe.date), recipe.name


def test_every_expectation_is_compared_somewhere() -> None:
    assert {f for r in recipes().values() for f in r.expect} == set(READ) | RESOURCE_FIELDS
    assert not set(READ) & RESOURCE_FIELDS


@pytest.mark.parametrize("recipe", recipes().values(), ids=list(recipes()))
def test_the_plan_says_what_the_documents_say(recipe: Recipe) -> None:
    fields, found = compare(recipe, READ, recipe.plan())
    assert fields
    assert unexplained(found) == []


def test_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    fields, found = 0, list[Difference]()
    for recipe in recipes().values():
        some, differences = compare(recipe, READ, recipe.plan())
        fields, found = fields + some, found + differences
    rest = sum(len(r.expect) for r in recipes().values()) - fields
    with capsys.disabled():
        print(f"\ntyped recipes: {len(recipes())}, {fields} facts against plans ({rest} against resources), ", end="")
        print(f"{len(found)} differences")
    assert unexplained(found) == []


def test_no_explanation_is_stale() -> None:
    pure = {(r.name, f) for r in recipes().values() for f in r.expect if f in READ}
    found = [d for r in recipes().values() for d in compare(r, READ, r.plan())[1]]
    assert {key for key in explained() if key in pure} == {(d.recipe, d.field) for d in found}
    assert all(row["why"] and row["source"] and row["right"] in {"document", "toolkit"} for row in explained().values())
