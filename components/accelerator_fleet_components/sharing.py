"""What shared cards look like to the clouds: GKE's own fields, and the settings of NVIDIA's device plugin on EKS."""

from __future__ import annotations

from typing import Final

from accelerator_fleet.plan.model import AddonPlan, PoolPlan

STRATEGIES: Final = {"time_slicing": "TIME_SHARING", "mps": "MPS"}  # GPUSharingConfig of the GKE API


def guest_accelerator(pool: PoolPlan) -> dict[str, object]:
    """What a GPU node pool's `guest_accelerators` says of sharing, beside type, count and driver; {}: nothing."""
    if pool.sharing is None:
        return {}
    if pool.sharing.way == "mig":
        return {"gpu_partition_size": pool.sharing.profile}
    return {
        "gpu_sharing_config": {
            "gpu_sharing_strategy": STRATEGIES[pool.sharing.way],
            "max_shared_clients_per_gpu": pool.sharing.parts,
        }
    }


def plugin_values(addon: AddonPlan) -> dict[str, object]:
    """Values of the chart nvidia-device-plugin: the configurations, and the one of nodes without the label."""
    values: dict[str, object] = {"nfd": {"enabled": False}, "gfd": {"enabled": False}}
    if addon.configs:
        values["config"] = {"map": dict(addon.configs), "default": addon.configs[0][0]}
    return values
