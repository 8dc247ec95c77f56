"""A pool that is a Cloud TPU queued resource: one resource in the site's network, and nothing in its cluster."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet.plan.model import QueuedPlan
from tests.wiring.plans import fleet, gke_site, pool, tpu
from tests.wiring.recorder import Recorder, build

KIND = "accelerator-fleet-native:index:QueuedResource"
QUEUED = QueuedPlan(
    id="accel-dev-usc1-tpu-1a2b3c4d", accelerator_type="v5litepod-16", runtime_version="v2-alpha-tpuv5-lite",
    provision="reserved", wait="active", valid_until="24h",
)  # fmt: skip


def queued(**more: Any) -> Any:
    fields = {"queued": QUEUED, "flavor": "", "local_queue": "", "taints": (), "capacity_mode": "queued-resource",
              "slices": 3, "nodes": 12, "cards": 48, "reservation": "train-v5e", "tags": {"owner": "x"}}  # fmt: skip
    return tpu(**{**fields, **more})


@pytest.fixture(scope="module")
def made() -> Recorder:
    return build(fleet((gke_site(),), (pool(), queued())))


def test_one_request_for_all_slices_in_the_sites_network(made: Recorder) -> None:
    (found,) = made.of(KIND)
    access = {k: found.inputs.pop(k) for k in ("network", "subnetwork", "serviceAccount")}
    assert all(access.values())
    assert found.inputs == {
        "queuedResourceId": QUEUED.id, "zone": queued().zone, "acceleratorType": "v5litepod-16", "topology": "4x4",
        "runtimeVersion": "v2-alpha-tpuv5-lite", "nodeCount": 3, "provision": "reserved", "reservation": "train-v5e",
        "validUntil": "24h", "wait": "active",
        "labels": {"accelerator-fleet_dev_pool": "tpu", "owner": "x"},
    }  # fmt: skip
    assert made.protected[KIND, "tpu"]
    (own,) = made.of("pulumi:providers:accelerator-fleet-native")
    assert (own.name, own.inputs["project"]) == ("usc1-tpu", "embedded-research")
    assert "::usc1-tpu::" in str(found.provider)
    assert made.fleet is not None
    assert set(made.fleet.pools["tpu"]) >= {"queuedResource", "shapeKey"}  # type: ignore[call-overload]


def test_the_cluster_has_nothing_of_it(made: Recorder) -> None:
    assert not [a for a in made.of("gcp:container/nodePool:NodePool") if a.name.startswith("tpu")]
    objects = [a for a in made.made if a.typ.startswith("kubernetes:kueue")]
    assert objects
    assert not [a.name for a in objects if "tpu" in repr(a.inputs)]


def test_a_fleet_without_one_has_no_such_provider() -> None:
    assert not build(fleet((gke_site(),), (pool(), tpu()))).of("pulumi:providers:accelerator-fleet-native")
