"""A fleet with a site of every kind, for tests: specs from pools, and plans of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import FleetPlan, PoolPlan

C = catalog.load()
EKS = {"name": "use2", "kind": "eks", "account": "111122223333", "region": "us-east-2", "cidr": "10.16.0.0/16"}
GKE = {"name": "usc1", "kind": "gke", "project": "research-123", "region": "us-central1", "cidr": "10.20.0.0/14"}
BYO = {"name": "byo", "kind": "existing", "kubeconfig": {"context": "lab"}}


def examples(count: int) -> settings:
    """A busy machine is slow, which says nothing about the code."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parsed(pools: list[dict[str, Any]], **more: Any) -> spec.FleetSpec:
    data = {"fleet": "accel", "tags": {"owner": "a", "cost-center": "b"}, "sites": [EKS, GKE, BYO], "pools": pools}
    where = more.pop("env", "dev")
    return spec.parse({**data, **more}, env=where)


def made(pools: list[dict[str, Any]], placements: dict[str, tuple[str, str]] | None = None, **more: Any) -> FleetPlan:
    return plan(parsed(pools, **more), C, placements)


def one(**more: Any) -> PoolPlan:
    return made([{"name": "a", "site": "usc1", **more}]).pools[0]


def refusal(pools: list[dict[str, Any]], **more: Any) -> str:
    with pytest.raises(FleetError) as found:
        made(pools, **more)
    return str(found.value)
