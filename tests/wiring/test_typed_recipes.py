"""The typed recipes again: facts that only resources show, by the cloud's own words (market, reservation, taints)."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import pytest

from tests.typed_recipes import RESOURCE_FIELDS, Getter, Recipe, compare, explained, recipes, unexplained
from tests.wiring.recorder import Recorder, build

GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT: Final = "aws:ec2/placementGroup:PlacementGroup"
NODE_POOL: Final = "gcp:container/nodePool:NodePool"
QUEUED: Final = "accelerator-fleet-native:index:QueuedResource"
QUEUE: Final = "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"


@cache
def made(name: str) -> Recorder:
    """The resources of one recipe."""
    return build(recipes()[name].plan())


def _template(r: Recorder) -> dict[str, Any]:
    return dict(r.one(TEMPLATE, "pool").inputs)


def _market(r: Recorder) -> str | None:
    options = _template(r).get("instanceMarketOptions") or {}
    return str(options["marketType"]) if options else None


def _target(r: Recorder) -> str:
    target = _template(r)["capacityReservationSpecification"]["capacityReservationTarget"]
    return str(target["capacityReservationId"])


def _strategy(r: Recorder) -> str:
    group = r.one(PLACEMENT, "pool")
    assert _template(r)["placement"]["groupName"] == group.name  # the nodes are launched into it
    return str(group.inputs["strategy"])


def _quota(r: Recorder) -> int:
    (queue,) = r.of(QUEUE)
    (group,) = queue.inputs["spec"]["resourceGroups"]
    (flavor,) = group["flavors"]
    (resource,) = flavor["resources"]
    return int(resource["nominalQuota"])


def _node_pool(r: Recorder) -> dict[str, Any]:
    return dict(r.one(NODE_POOL, "pool").inputs)


def _node(r: Recorder) -> dict[str, Any]:
    return dict(_node_pool(r)["nodeConfig"])


def _taint(r: Recorder) -> dict[str, str]:
    (taint,) = [t for t in _node(r)["taints"] if t["key"] in {"nvidia.com/gpu", "google.com/tpu"}]
    return dict(taint)


def _spot(r: Recorder) -> bool:
    queued = r.of(QUEUED)
    return queued[0].inputs["provision"] == "spot" if queued else bool(_node(r).get("spot", False))


def _affinity(r: Recorder) -> dict[str, Any] | None:
    found = _node(r).get("reservationAffinity")
    if found is None:
        return None
    return {"type": found["consumeReservationType"], **{k: found[k] for k in ("key", "values") if k in found}}


def _placement(r: Recorder) -> dict[str, Any] | None:
    policy = _node_pool(r).get("placementPolicy")
    # The API's names, which documents and Terraform give; Pulumi's SDKs write them in camel case.
    return {"tpu_topology" if k == "tpuTopology" else k: v for k, v in policy.items()} if policy else None


def _run_seconds(r: Recorder) -> int | None:
    text = _node(r).get("maxRunDuration")
    return int(text.removesuffix("s")) if text else None


READ: Final[dict[str, Getter]] = {
    "capacity_type": lambda r: r.one(GROUP, "pool").inputs["capacityType"],
    "market_type": _market,
    "reservation_target": _target,
    "placement_strategy": _strategy,
    "queue_quota": _quota,
    "taint": _taint,
    "spot": _spot,
    "reservation_affinity": _affinity,
    "flex_start": lambda r: bool(_node(r).get("flexStart", False)),
    "queued_provisioning": lambda r: bool((_node_pool(r).get("queuedProvisioning") or {}).get("enabled", False)),
    "auto_repair": lambda r: _node_pool(r)["management"]["autoRepair"],
    "auto_scaled_from": lambda r: _node_pool(r)["autoscaling"]["minNodeCount"],
    "max_run_seconds": _run_seconds,
    "placement": _placement,
    "gpu_partition_size": lambda r: _node(r)["guestAccelerators"][0].get("gpuPartitionSize"),
}
BUILT: Final = [r for r in recipes().values() if r.pending is None]


def test_the_fields_are_those_that_resources_show() -> None:
    assert set(READ) == RESOURCE_FIELDS


@pytest.mark.parametrize("recipe", BUILT, ids=[r.name for r in BUILT])
def test_the_resources_say_what_the_documents_say(recipe: Recipe) -> None:
    _, found = compare(recipe, READ, made(recipe.name))
    assert unexplained(found) == []


def test_what_was_compared(capsys: pytest.CaptureFixture[str]) -> None:
    counts = [compare(r, READ, made(r.name)) for r in BUILT]
    found = [d for _, differences in counts for d in differences]
    pending = [f"{r.name} ({r.pending})" for r in recipes().values() if r.pending is not None]
    with capsys.disabled():
        print(f"\ntyped recipes: {len(BUILT)}, {sum(n for n, _ in counts)} facts against resources, ", end="")
        print(f"{len(found)} differences; pending: {', '.join(pending) or 'none'}")
    assert {key for key in explained() if key[1] in READ} == {(d.recipe, d.field) for d in found}
