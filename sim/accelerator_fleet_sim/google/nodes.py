"""Kubernetes nodes of GKE machines: names, labels, taints and capacity as Google's agents set them."""

from __future__ import annotations

import hashlib
from typing import Any

from ..cluster.model import NodeShape, NodeSpec
from ..daemon.store import Resource
from . import sharing
from .scope import Scope

EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TPU_TAINT = {"key": "google.com/tpu", "value": "present", "effect": "NoSchedule"}
QUEUED_TAINT = {"key": "cloud.google.com/gke-queued", "value": "true", "effect": "NoSchedule"}
DRIVERS = {"DEFAULT": "default", "LATEST": "latest", "INSTALLATION_DISABLED": "disabled"}


def node_name(cluster: str, pool: str, number: int) -> str:
    """`gke-CLUSTER-POOL-HASH-xxxx`, at most 63 characters as GKE cuts it."""
    seed = hashlib.sha256(f"{cluster}/{pool}".encode()).hexdigest()[:8]
    own = hashlib.sha256(f"{cluster}/{pool}/{number}".encode()).hexdigest()
    tail = "".join("bcdfghjklmnpqrstvwxz0123456789"[int(own[i : i + 2], 16) % 30] for i in range(0, 8, 2))
    head = f"gke-{cluster[:22].rstrip('-')}-{pool[:22].rstrip('-')}"
    return f"{head}-{seed}-{tail}"


def capacity(figures: dict[str, Any], disk_gib: int, pods: int) -> dict[str, str]:
    """What kubelet reports by itself. The kernel and firmware keep about 2 % of memory (estimate)."""
    return {
        "cpu": str(figures["vcpu"]),
        "memory": f"{int(figures['memory_gb'] * 1024 * 1024 * 0.98)}Ki",
        "pods": str(pods),
        "ephemeral-storage": f"{int(disk_gib * 1024 * 1024 * 0.96)}Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }


def devices(figures: dict[str, Any], config: dict[str, Any]) -> dict[str, str]:
    """What GKE's device plugins offer while their pods run on the node.

    GKE runs `nvidia-gpu-device-plugin` and `tpu-device-plugin` itself, in kube-system. Without its drivers
    (INSTALLATION_DISABLED) the GPU plugin finds nothing: people install drivers by a DaemonSet of their own, which
    nothing here can run, so such nodes stay without GPUs.
    """
    if figures.get("kind") == "tpu":
        return {"google.com/tpu": str(figures["chips_per_vm"])}
    if figures.get("kind") == "gpu" and driver(config) != "disabled":
        return {"nvidia.com/gpu": str(figures["accelerator"]["count"] * sharing.parts(config))}
    return {}


def driver(config: dict[str, Any]) -> str:
    """The GPU driver version of a pool, as its label says it; GKE installs the default one when nothing is said."""
    cards = config.get("guestAccelerators") or [{}]
    wanted = (cards[0].get("gpuDriverInstallationConfig") or {}).get("gpuDriverVersion") or "DEFAULT"
    return DRIVERS.get(wanted, "default")


def taints(figures: dict[str, Any], config: dict[str, Any], pool: dict[str, Any] | None = None) -> list[dict[str, str]]:
    """GKE's own taints for accelerators and for queued nodes, and the pool's (`pool`: its outputs)."""
    queued = ((pool or {}).get("queuedProvisioning") or {}).get("enabled")
    made = [dict(GPU_TAINT)] if figures.get("kind") == "gpu" else []
    made += [dict(QUEUED_TAINT)] if queued else []
    made += [dict(TPU_TAINT)] if figures.get("kind") == "tpu" else []
    for taint in config.get("taints") or []:
        one = {"key": taint["key"], "value": taint.get("value") or "", "effect": EFFECTS[taint["effect"]]}
        if all((t["key"], t["effect"]) != (one["key"], one["effect"]) for t in made):
            made.append(one)
    return made


def labels(scope: Scope, pool: Resource, node: dict[str, Any], figures: dict[str, Any]) -> dict[str, str]:
    """Labels of GKE and of the cloud provider, and the pool's own."""
    out, config = pool.outputs, pool.outputs.get("nodeConfig") or {}
    region = node["zone"].rpartition("-")[0]
    spot = bool(config.get("spot"))
    made = {
        "cloud.google.com/gke-nodepool": out["name"],
        "cloud.google.com/gke-boot-disk": config.get("diskType") or "pd-balanced",
        "cloud.google.com/gke-container-runtime": "containerd",
        "cloud.google.com/gke-os-distribution": "ubuntu" if "UBUNTU" in str(config.get("imageType")) else "cos",
        "cloud.google.com/gke-provisioning": "spot" if spot else "standard",
        "cloud.google.com/gke-cpu-scaling-level": str(figures["vcpu"]),
        "cloud.google.com/gke-memory-gb-scaling-level": str(int(figures["memory_gb"])),
        "cloud.google.com/gke-max-pods-per-node": str(out.get("maxPodsPerNode") or 110),
        "cloud.google.com/gke-logging-variant": config.get("loggingVariant") or "DEFAULT",
        "cloud.google.com/gke-stack-type": "IPV4",
        "cloud.google.com/machine-family": figures["family"],
        "cloud.google.com/private-node": "true" if pool.hidden.get("private") else "false",
        "node.kubernetes.io/instance-type": node["machine"],
        "beta.kubernetes.io/instance-type": node["machine"],
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": node["zone"],
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": node["zone"],
        "topology.gke.io/zone": node["zone"],
    }
    if spot:
        made["cloud.google.com/gke-spot"] = "true"
    if config.get("flexStart"):
        made["cloud.google.com/gke-flex-start"] = "true"
    if (config.get("workloadMetadataConfig") or {}).get("mode") == "GKE_METADATA":
        made["iam.gke.io/gke-metadata-server-enabled"] = "true"
    if (config.get("gvnic") or {}).get("enabled"):
        made["cloud.google.com/gke-gvnic"] = "true"
    if node.get("reservation"):
        made["cloud.google.com/reservation-name"] = node["reservation"]
    made |= _accelerator(pool, figures, config) | _place(scope, node)
    return made | {k: str(v) for k, v in (config.get("labels") or {}).items()}


def _accelerator(pool: Resource, figures: dict[str, Any], config: dict[str, Any]) -> dict[str, str]:
    if figures.get("kind") == "tpu":
        return {
            "cloud.google.com/gke-tpu-accelerator": figures["gke_accelerator"],
            "cloud.google.com/gke-tpu-topology": pool.hidden["topology"],
            "cloud.google.com/gke-accelerator-count": str(figures["chips_per_vm"]),
        }
    if figures.get("kind") == "gpu":
        return {
            "cloud.google.com/gke-accelerator": figures["accelerator"]["gke_accelerator"],
            "cloud.google.com/gke-accelerator-count": str(figures["accelerator"]["count"]),
            "cloud.google.com/gke-gpu-driver-version": driver(config),
            "cloud.google.com/gke-gpu": "true",
            **sharing.labels(config),
        }
    return {}


def _place(scope: Scope, node: dict[str, Any]) -> dict[str, str]:
    """Where a machine stands: block, sub-block, host; for families that show it."""
    table = scope.catalog.account["topology"]
    if node["machine"].rpartition("-")[0] not in table["families"]:
        return {}
    slot = node["slot"]
    sub = slot // table["hosts_per_subblock"]
    block = sub // table["subblocks_per_block"]

    def name(*parts: Any) -> str:
        return hashlib.sha256("/".join(map(str, (node["zone"], *parts))).encode()).hexdigest()[:32]

    return {
        "cloud.google.com/gce-topology-block": name("block", block),
        "cloud.google.com/gce-topology-subblock": name("subblock", sub),
        "cloud.google.com/gce-topology-host": name("host", slot),
    }


def node_spec(scope: Scope, pool: Resource, node: dict[str, Any]) -> NodeSpec:
    """The node of one machine."""
    figures = scope.catalog.machine(node["machine"])
    assert figures is not None
    config = pool.outputs.get("nodeConfig") or {}
    shape = NodeShape(
        labels=labels(scope, pool, node, figures),
        taints=taints(figures, config, pool.outputs),
        capacity=capacity(
            figures, int(config.get("diskSizeGb") or 100), int(pool.outputs.get("maxPodsPerNode") or 110)
        ),
        device_resources=devices(figures, config),
        system="gke",
    )
    return NodeSpec(
        name=node["name"],
        provider_id=f"gce://{scope.project}/{node['zone']}/{node['name']}",
        zone=node["zone"],
        region=node["zone"].rpartition("-")[0],
        instance_type=node["machine"],
        internal_ip=node["ip"],
        shape=shape,
        interfaces=tuple(tuple(row) for row in node.get("interfaces") or ()),
    )
