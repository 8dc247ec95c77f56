"""Queued provisioning: Kueue asks Google for all nodes of a job at once and lets it in when they are there.

https://docs.cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest: an AdmissionCheck of Kueue's own
controller, and a ProvisioningRequestConfig with GKE's class. A pool has its own: a slice's topology is a parameter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pulumi

from accelerator_fleet.plan.model import PoolPlan

CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
CLASS: Final = "queued-provisioning.gke.io"
# Capacity that Google takes back, or a request that fails, is asked for again: after a minute, at most half an hour.
RETRY: Final = {"backoffLimitCount": 3, "backoffBaseSeconds": 60, "backoffMaxSeconds": 1800}
Make = Callable[[str, str, dict[str, object], list[pulumi.Resource]], pulumi.Resource]


def queued(pools: tuple[PoolPlan, ...]) -> list[PoolPlan]:
    """Pools whose nodes come by request only."""
    return sorted((p for p in pools if p.demand is not None and p.demand.queued), key=lambda p: p.name)


def check_name(pool: PoolPlan) -> str:
    """The pool's AdmissionCheck and its configuration."""
    return f"queued-{pool.name}"


def checks(pools: tuple[PoolPlan, ...], make: Make, after: list[pulumi.Resource]) -> list[pulumi.Resource]:
    """The checks of all queued pools, each with its configuration. `make`: kind, name, spec, after."""
    made: list[pulumi.Resource] = []
    for pool in queued(pools):
        name = check_name(pool)
        config = make("ProvisioningRequestConfig", name, config_of(pool), after)
        parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": name}
        made.append(make("AdmissionCheck", name, {"controllerName": CONTROLLER, "parameters": parameters}, [config]))
    return made


def config_of(pool: PoolPlan) -> dict[str, object]:
    """What is asked for with each job; a job's own annotation may shorten the time."""
    assert pool.demand is not None
    parameters = {"maxRunDurationSeconds": str(pool.demand.max_run_seconds)}
    if pool.topology_shape is not None:
        parameters["tpu-topology"] = pool.topology_shape
    return {
        "provisioningClassName": CLASS,
        "managedResources": [pool.resource],
        "parameters": parameters,
        "retryStrategy": dict(RETRY),
    }


def strategy(pools: tuple[PoolPlan, ...]) -> dict[str, object]:
    """The part of a ClusterQueue that lets a check hold for the flavour of its pool only; {}: no pool is queued."""
    rows = [{"name": check_name(p), "onFlavors": [p.flavor]} for p in queued(pools)]
    return {"admissionChecksStrategy": {"admissionChecks": rows}} if rows else {}
