"""Shared GPUs on GKE: which partitions and clients a node pool takes, and what its nodes then show."""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any

STRATEGIES = {"TIME_SHARING": "time-sharing", "MPS": "mps"}


@functools.cache
def _data() -> dict[str, Any]:
    text = (resources.files("accelerator_fleet_sim.google") / "data" / "sharing.json").read_text()
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def problem(config: dict[str, Any]) -> str | None:
    """Why GKE refuses the pool's sharing; None: it does not."""
    for card in config.get("guestAccelerators") or []:
        kind = str(card.get("type")).rpartition("/")[2]
        size, shared = card.get("gpuPartitionSize"), card.get("gpuSharingConfig") or {}
        if size and size not in _data()["partitions"].get(kind, {}):
            return f'GPU partition size "{size}" is not supported for accelerator type "{kind}".'
        if not shared:
            continue
        strategy, clients = shared.get("gpuSharingStrategy"), int(shared.get("maxSharedClientsPerGpu") or 0)
        if strategy not in STRATEGIES:
            return f'GPU sharing strategy "{strategy}" is not supported.'
        low, high = _data()["clients"]
        if not low <= clients <= high:
            return f"Max shared clients per GPU must be in the range [{low}, {high}], got {clients}."
    return None


def parts(config: dict[str, Any]) -> int:
    """How many of `nvidia.com/gpu` each card is."""
    card = (config.get("guestAccelerators") or [{}])[0]
    kind = str(card.get("type")).rpartition("/")[2]
    each = 1
    if card.get("gpuPartitionSize"):
        each *= int(_data()["partitions"][kind][card["gpuPartitionSize"]])
    shared = card.get("gpuSharingConfig") or {}
    return each * (int(shared["maxSharedClientsPerGpu"]) if shared else 1)


def labels(config: dict[str, Any]) -> dict[str, str]:
    """What GKE says of it on the nodes."""
    card = (config.get("guestAccelerators") or [{}])[0]
    shared = card.get("gpuSharingConfig") or {}
    made = {}
    if card.get("gpuPartitionSize"):
        made["cloud.google.com/gke-gpu-partition-size"] = str(card["gpuPartitionSize"])
    if shared:
        made["cloud.google.com/gke-gpu-sharing-strategy"] = STRATEGIES[shared["gpuSharingStrategy"]]
        made["cloud.google.com/gke-max-shared-clients-per-gpu"] = str(shared["maxSharedClientsPerGpu"])
    return made
