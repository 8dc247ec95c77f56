"""Pools that are Cloud TPU queued resources: what they are, what they have not, and how one becomes the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator_fleet.catalog.accelerator_types import accelerator_type, accelerator_types
from accelerator_fleet.cli.move import render as rendered
from accelerator_fleet.cli.plan import render
from accelerator_fleet.clusters import placements
from accelerator_fleet.cost.list_price import pool_month
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.move import Wanted, move
from tests.pure.sites import C, examples, made, parsed, refusal

QUEUED = {"mode": "queued-resource"}
POOL: dict[str, Any] = {"name": "tpu", "site": "usc1", "chip": "tpu-v5e", "topology": "4x4"}
UP = {"site": "usc1", "zone": "us-central1-a", "machine": "ct5lp-hightpu-4t", "reservation": None}


def queued(**more: Any) -> PoolPlan:
    capacity = {**QUEUED, **more.pop("capacity", {})}
    return made([{**POOL, **more, "capacity": capacity}]).pools[0]


def test_names_of_the_api_count_chips_or_tensorcores() -> None:
    said = {
        "v5litepod-16": ("tpu-v5e", "4x4", 16), "v5litepod-8": ("tpu-v5e", "2x4", 8),
        "v6e-256": ("tpu-v6e", "16x16", 256), "v4-32": ("tpu-v4", "2x2x4", 16), "v5p-8": ("tpu-v5p", "2x2x1", 4),
    }  # fmt: skip
    for name, fields in said.items():
        found = accelerator_type(C, name)
        assert found is not None
        assert (found.chip, found.topology, found.chips) == fields
    assert len({t.name for t in accelerator_types(C)}) == len({(t.chip, t.topology) for t in accelerator_types(C)})
    assert accelerator_type(C, "v5e-16") is None


def test_a_plan_has_all_of_the_request_and_nothing_of_kubernetes() -> None:
    pool = queued(topology="4x4", cards=48, capacity={"provision": "spot", "valid_until": "24h", "wait": "active"})
    assert pool.queued is not None
    assert (pool.queued.accelerator_type, pool.queued.runtime_version) == ("v5litepod-16", "v2-alpha-tpuv5-lite")
    assert (pool.queued.provision, pool.queued.valid_until, pool.queued.wait) == ("spot", "24h", "active")
    assert (pool.slices, pool.hosts_per_slice, pool.nodes, pool.cards) == (3, 4, 12, 48)
    assert pool.queued.id == f"accel-dev-usc1-tpu-{pool.shape_key}"
    assert (pool.flavor, pool.local_queue, pool.taints, pool.volume_claims) == ("", "", (), ())
    asked = {"provision": "spot", "valid_until": "24h", "wait": "active"}
    (quota,) = made([{**POOL, "topology": "4x4", "cards": 48, "capacity": {**QUEUED, **asked}}]).quotas
    assert (quota.code, quota.amount, quota.unit) == ("TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI", 48, "chips")
    plan = made([{**POOL, "capacity": QUEUED}, {"name": "gpu", "site": "usc1", "chip": "h100", "cards": 8}])
    assert [p.name for p in plan.cluster_pools_of("usc1")] == ["gpu"]
    assert "beside the clusters, without nodes, queue or `fleet job` in them: tpu (queued resource accel-" in render(
        plan
    )


def test_every_field_of_the_request_is_in_the_shape_key() -> None:
    reserved = {"zone": "us-central1-a", "capacity": {"reservation": "train-v5e"}}
    keys = [queued(**more).shape_key for more in (
        {}, {"topology": "4x8"}, {"cards": 32}, {"capacity": {"provision": "spot"}}, reserved,
        {"capacity": {"valid_until": "24h"}}, {"zone": "us-central1-a", "chip": "tpu-v5p", "topology": "2x2x4"},
    )]  # fmt: skip
    assert len(set(keys)) == len(keys)
    same = [queued(**more).shape_key for more in (
        {}, {"labels": {"team": "a"}}, {"owner": "x"}, {"capacity": {"wait": "active"}}, {"billing": "week"},
    )]  # fmt: skip
    assert set(same) == {keys[0]}
    assert keys[0] != made([POOL]).pools[0].shape_key


@given(st.sampled_from([t.name for t in accelerator_types(C) if t.chip != "tpu-v4"]))
@examples(40)
def test_every_type_of_the_api_is_planned(name: str) -> None:
    kind = accelerator_type(C, name)
    assert kind is not None
    site = {"name": "use5", "kind": "gke", "project": "research-123", "region": "us-east5", "cidr": "10.24.0.0/14"}
    chip = {"chip": kind.chip, "topology": kind.topology}
    pool = made([{"name": "a", "site": "use5", **chip, "capacity": QUEUED}], sites=[site]).pools[0]
    assert pool.queued is not None
    assert (pool.queued.accelerator_type, pool.machine, pool.nodes, pool.cards) == (
        name, kind.machine, kind.hosts, kind.chips,
    )  # fmt: skip


def test_neither_becomes_the_other_in_place() -> None:
    as_nodes = placements({"pools": {"tpu": {**UP, "nodePools": ["tpu"]}}})
    as_queued = placements({"pools": {"tpu": {**UP, "queuedResource": {"name": "x"}}}})
    text = refusal([{**POOL, "capacity": QUEUED}], placements=as_nodes)
    assert text.startswith("pools[0].capacity.mode: tpu is up as nodes of the cluster and does not become a Cloud TPU")
    assert text.endswith("Put its old line back; in two steps: fleet move tpu --to usc1 --mode queued-resource")
    assert "--mode on-demand" in refusal([POOL], placements=as_queued)
    assert made([{**POOL, "capacity": QUEUED}], placements=as_queued).pools[0].flavor == ""
    assert made([POOL], placements=as_nodes).pools[0].queued is None


def test_move_makes_it_two_steps() -> None:
    found = move(parsed([POOL]), C, Wanted("tpu", "usc1", mode="queued-resource"))
    assert found.added == {
        "name": "tpu-queued",
        "site": "usc1",
        "chip": "tpu-v5e",
        "topology": "4x4",
        "capacity": QUEUED,
    }
    assert found.removed == "tpu"
    assert "queued resource of v5litepod-16" in rendered(found, "dev")
    assert "a queued resource has no queue" in rendered(found, "dev")
    back = move(parsed([{**POOL, "capacity": QUEUED}]), C, Wanted("tpu", "usc1", mode="spot"))
    assert (back.added["name"], back.added["capacity"], "queue" in back.added) == ("tpu-nodes", {"mode": "spot"}, False)
    for pool, mode in ((POOL, "spot"), ({**POOL, "capacity": QUEUED}, "queued-resource")):
        with pytest.raises(FleetError, match="edit its `capacity`"):
            move(parsed([pool]), C, Wanted("tpu", "usc1", mode=mode))
    gpu = {"name": "gpu", "site": "usc1", "chip": "h100", "cards": 8}
    with pytest.raises(FleetError, match="--mode: a3-highgpu-8g is not sold"):
        move(parsed([gpu]), C, Wanted("gpu", "usc1", mode="queued-resource"))


def test_it_costs_what_its_provision_costs() -> None:
    from accelerator_fleet.catalog import load_prices

    prices = load_prices()
    on_demand = pool_month(made([POOL]).pools[0], "us-central1", prices).usd
    assert on_demand
    assert pool_month(queued(), "us-central1", prices).usd == on_demand
    spot = pool_month(queued(capacity={"provision": "spot"}), "us-central1", prices).usd
    assert spot is not None
    assert spot < on_demand


def test_a_reservation_is_given_back_first() -> None:
    held = placements({"pools": {"tpu": {**UP, "reservation": "train-v5e", "queuedResource": {"name": "x"}}}})
    more = {"zone": "us-central1-a", "capacity": {**QUEUED, "reservation": "train-v5e", "valid_until": "24h"}}
    assert made([{**POOL, **more}], placements=held).pools[0].old_first
