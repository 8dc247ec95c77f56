"""What GKE refuses of node pools that Dynamic Workload Scheduler fills: flex-start and queued provisioning.

Texts that people report: autoscaling, initial count and reservations of flex-start; affinity and TPUs of queued
provisioning (hashicorp/terraform-provider-google issue 18341). The other refusals are documented, their words are not.
"""

from __future__ import annotations

import re
from typing import Any

from ...daemon.store import Resource
from ..scope import Scope
from .clusters import bad

LEAST_RUN, MOST_RUN = 600, 604800  # https://docs.cloud.google.com/compute/docs/instances/about-flex-start-vms
GPU_SINCE, TPU_SINCE = (1, 32), (1, 33)  # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/dws
COMPACT = ("a3-ultragpu", "a4-highgpu")
GENERATIONS = ("v5e", "v5p", "v6e")  # TPU v3 and v4 are not supported


def flex(config: dict[str, Any]) -> bool:
    """Whether Dynamic Workload Scheduler finds the nodes."""
    return bool(config.get("flexStart"))


def queued(pool: dict[str, Any]) -> bool:
    """Whether nodes come by ProvisioningRequest only."""
    return bool((pool.get("queuedProvisioning") or {}).get("enabled"))


def check_modes(scope: Scope, cluster: Resource, inputs: dict[str, Any], figures: dict[str, Any], first: bool) -> None:
    """Refuse what flex-start and queued provisioning exclude. `first`: the pool is being made."""
    config = inputs["nodeConfig"]
    _run(config)
    if queued(inputs):
        _queued(inputs, config, figures)
    if flex(config):
        _flex(cluster, inputs, config, figures, first)


def _run(config: dict[str, Any]) -> None:
    said = config.get("maxRunDuration")
    if said is None:
        return
    found = re.fullmatch(r"([0-9]+)s", str(said))
    if found is None:
        raise bad("Invalid value at 'node_pool.config.max_run_duration' (type.googleapis.com/google.protobuf.Duration),"
                  " Field 'maxRunDuration', Illegal duration format; duration must end with 's'")  # fmt: skip
    if not LEAST_RUN <= int(found[1]) <= MOST_RUN:
        raise bad(f"Max run duration must be between {LEAST_RUN}s and {MOST_RUN}s, got {said}.")


def _unreserved(config: dict[str, Any]) -> bool:
    return (config.get("reservationAffinity") or {}).get("consumeReservationType") == "NO_RESERVATION"


def _counts(inputs: dict[str, Any]) -> int:
    return int(inputs.get("nodeCount") or 0) or int(inputs.get("initialNodeCount") or 0)


def _flex(
    cluster: Resource, inputs: dict[str, Any], config: dict[str, Any], figures: dict[str, Any], first: bool
) -> None:
    tpu = figures.get("kind") == "tpu"
    if not inputs.get("autoscaling"):
        raise bad("Flex start node pools require autoscaling enabled.")
    if first and _counts(inputs):
        raise bad("Flex start node pools require initial node count to be set to 0.")
    if not _unreserved(config):
        raise bad("Flex start node pools don't support reservations.")
    if config.get("spot") or config.get("preemptible"):
        raise bad("Flex start node pools don't support Spot VMs.")
    if (inputs.get("management") or {}).get("autoRepair", True):
        raise bad("Flex start node pools require auto repair to be disabled.")
    if tpu and str(figures.get("tpu")) not in GENERATIONS:
        raise bad(f'Flex start is not supported for machine type "{config["machineType"]}".')
    placed = (inputs.get("placementPolicy") or {}).get("type") == "COMPACT"
    if placed and not tpu and not str(config["machineType"]).startswith(COMPACT):
        raise bad(f'Compact placement with flex start is not supported for machine type "{config["machineType"]}".')
    since = TPU_SINCE if tpu else GPU_SINCE
    minor = tuple(int(n) for n in str(cluster.outputs["masterVersion"]).split(".")[:2])
    if minor < since:
        raise bad(f"Flex start requires version {'.'.join(map(str, since))} or later.")


def _queued(inputs: dict[str, Any], config: dict[str, Any], figures: dict[str, Any]) -> None:
    tpu = figures.get("kind") == "tpu"
    if tpu and not flex(config):
        raise bad("Queued_provisioning doesn't support TPUs.")
    bounds = inputs.get("autoscaling") or {}
    if not bounds:
        raise bad("Queued_provisioning requires autoscaling to be enabled.")
    if int(bounds.get("minNodeCount") or 0) or int(bounds.get("totalMinNodeCount") or 0):
        raise bad("Queued_provisioning requires minimum node count to be set to 0.")
    if not _unreserved(config):
        raise bad("Queued_provisioning requires reservation affinity to be set to none.")
    if config.get("spot") or config.get("preemptible"):
        raise bad("Queued_provisioning doesn't support Spot VMs.")
    if (inputs.get("placementPolicy") or {}).get("type") == "COMPACT" and not tpu:
        raise bad("Queued_provisioning doesn't support compact placement.")
