"""Plans written out by hand: what the planner decides is its own tests' business, here it is given."""

from __future__ import annotations

from typing import Any

from accelerator_fleet.plan.model import (
    AddonPlan,
    ClusterPlan,
    ExtraNetworkPlan,
    FleetPlan,
    GkeNetworkPlan,
    MaintenanceExclusionPlan,
    MaintenancePlan,
    NetworkPlan,
    PoolPlan,
    SitePlan,
    SubnetPlan,
    SystemPoolPlan,
    Taint,
    VolumePlan,
)

KUEUE = AddonPlan(name="kueue", state="present", version="0.17.0", namespace="kueue-system")
EXTRA = (
    ExtraNetworkPlan(name="gvnic-0", cidr="10.23.0.0/20", kind="gvnic", vpc="gvnic-0"),
    *(
        ExtraNetworkPlan(
            name=f"rdma-b-{i}",
            cidr=f"10.23.{16 * (i + 1)}.0/20",
            kind="rdma",
            profile_zone="us-central1-b",
            vpc="rdma-b",
        )
        for i in range(8)
    ),
)
WINDOW = MaintenancePlan(
    start="2026-01-03T00:00:00Z",
    end="2026-01-03T08:00:00Z",
    recurrence="FREQ=WEEKLY;BYDAY=SA",
    exclusions=(
        MaintenanceExclusionPlan(
            name="no-upgrades", start="2026-01-01T00:00:00Z", end=None, scope="NO_MINOR_OR_NODE_UPGRADES"
        ),
    ),
)


def gke_site(**more: Any) -> SitePlan:
    """A GKE site in us-central1 with all extra networks."""
    fields: dict[str, Any] = {
        "name": "usc1",
        "kind": "gke",
        "project": "embedded-research",
        "region": "us-central1",
        "cluster": ClusterPlan(
            name="accel-dev-usc1",
            version="1.36",
            cloud_addons=(),
            zones=("us-central1-a", "us-central1-b"),
            location="us-central1",
            release_channel="REGULAR",
            maintenance=WINDOW,
            deletion_protection=True,
        ),
        "system_pool": SystemPoolPlan(
            name="system",
            machine="e2-standard-4",
            nodes=2,
            min_nodes=2,
            max_nodes=2,
            zones=("us-central1-a", "us-central1-b"),
            disk_gib=50,
            ami_type="COS_CONTAINERD",
            labels={"accelerator-fleet.dev/pool": "system"},
        ),
        "addons": (KUEUE,),
        "jobs_namespace": "jobs",
        "topology_name": None,
        "topology_levels": (),
        "queue": "fleet",
        "protect": True,
        "gke_network": GkeNetworkPlan(
            nodes_cidr="10.20.0.0/18",
            pods_cidr="10.21.0.0/16",
            services_cidr="10.22.0.0/20",
            nat=True,
            extra=EXTRA,
            peering_cidr="10.22.128.0/20",
        ),
    }
    return SitePlan(**{**fields, **more})


def eks_site(**more: Any) -> SitePlan:
    """An EKS site with two zones."""
    subnets = tuple(
        SubnetPlan(key=f"{'public' if public else 'private'}-{z}", zone=f"us-east-2{z}", cidr=cidr, public=public)
        for z, public, cidr in (
            ("a", False, "10.16.0.0/19"),
            ("b", False, "10.16.32.0/19"),
            ("a", True, "10.16.192.0/22"),
        )
    )
    fields: dict[str, Any] = {
        "name": "use2",
        "kind": "eks",
        "account": "000000000000",
        "region": "us-east-2",
        "network": NetworkPlan(cidr="10.16.0.0/16", subnets=subnets, nat_zones=("us-east-2a",)),
        "cluster": ClusterPlan(name="accel-dev-use2", version="1.36"),
        "system_pool": SystemPoolPlan(
            name="system",
            machine="m6i.large",
            nodes=2,
            min_nodes=2,
            max_nodes=2,
            zones=("us-east-2a", "us-east-2b"),
            disk_gib=50,
            ami_type="AL2023_x86_64_STANDARD",
            labels={"accelerator-fleet.dev/pool": "system"},
        ),
        "addons": (KUEUE,),
        "jobs_namespace": "jobs",
        "topology_name": None,
        "topology_levels": (),
        "queue": "fleet",
        "protect": False,
    }
    return SitePlan(**{**fields, **more})


def existing_site(**more: Any) -> SitePlan:
    """A cluster that is there: the kubeconfig's context `lab`."""
    fields: dict[str, Any] = {
        "name": "byo",
        "kind": "existing",
        "region": "",
        "context": "lab",
        "cluster": ClusterPlan(name="lab", version=None, existing=True, cloud_addons=()),
        "system_pool": None,
        "addons": (KUEUE,),
        "jobs_namespace": "jobs",
        "topology_name": None,
        "topology_levels": (),
        "queue": "fleet",
        "protect": False,
    }
    return SitePlan(**{**fields, **more})


def pool(**more: Any) -> PoolPlan:
    """Two H200 nodes with RDMA networks on the GKE site."""
    fields: dict[str, Any] = {
        "name": "pretrain",
        "site": "usc1",
        "zone": "us-central1-b",
        "chip": "h200",
        "machine": "a3-ultragpu-8g",
        "runtime": "pytorch",
        "cards": 16,
        "cards_per_node": 8,
        "nodes": 2,
        "min_nodes": 2,
        "max_nodes": 2,
        "scaling": "fixed",
        "shape_key": "0123abcd",
        "capacity_mode": "on-demand",
        "reservation": None,
        "billing": "hour",
        "group_name_prefix": "pretrain-0123abcd-",
        "resource": "nvidia.com/gpu",
        "efa_interfaces": 0,
        "interfaces": (),
        "placement_group": False,
        "ami_type": "COS_CONTAINERD",
        "disk_gib": 500,
        "labels": {"accelerator-fleet.dev/pool": "pretrain"},
        "taints": (Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),),
        "flavor": "pretrain",
        "local_queue": "pretrain",
        "topology": False,
        "protect": True,
        "accelerator": "nvidia-h200-141gb",
        "gpu_driver": "LATEST",
        "placement_policy": True,
        "extra_networks": tuple(e.name for e in EXTRA),
        "tags": {"accelerator-fleet.dev/pool": "pretrain"},
    }
    return PoolPlan(**{**fields, **more})


def tpu(**more: Any) -> PoolPlan:
    """One v5e 4x4 slice: four hosts of four chips."""
    fields: dict[str, Any] = {
        "name": "tpu",
        "chip": "tpu-v5e",
        "machine": "ct5lp-hightpu-4t",
        "cards_per_node": 4,
        "nodes": 4,
        "min_nodes": 4,
        "max_nodes": 4,
        "resource": "google.com/tpu",
        "taints": (Taint(key="google.com/tpu", value="present", effect="NoSchedule"),),
        "accelerator": None,
        "gpu_driver": None,
        "topology_shape": "4x4",
        "hosts_per_slice": 4,
        "extra_networks": (),
        "flavor": "tpu",
        "local_queue": "tpu",
        "labels": {"accelerator-fleet.dev/pool": "tpu"},
    }
    return pool(**{**fields, **more})


def lab_pool(**more: Any) -> PoolPlan:
    """Sixteen MI300X cards of the existing cluster."""
    fields: dict[str, Any] = {
        "name": "mi",
        "site": "byo",
        "zone": "",
        "chip": "mi300x",
        "machine": "",
        "resource": "amd.com/gpu",
        "capacity_mode": "existing",
        "ami_type": "",
        "taints": (),
        "accelerator": None,
        "gpu_driver": None,
        "placement_policy": False,
        "extra_networks": (),
        "node_selector": {"amd.com/gpu.product-name": "mi300x"},
        "flavor": "mi",
        "local_queue": "mi",
    }
    return pool(**{**fields, **more})


def volume(service: str, **more: Any) -> VolumePlan:
    """A volume of a service, zonal in zone b where the service is."""
    fields: dict[str, Any] = {
        "name": "shared",
        "site": "use2" if service in {"efs", "fsx-lustre"} else "byo" if service in {"csi", "nfs"} else "usc1",
        "service": service,
        "zone": {"fsx-lustre": "us-east-2b", "gke-lustre": "us-central1-b", "filestore": "us-central1-b"}.get(service),
        "size_gib": 18000 if service == "gke-lustre" else 1200,
        "asked_gib": 1024,
        "mount": "/data/cloud_storage",
        "protect": True,
        "retain": True,
        "claim": "shared",
        **({"tier": "ZONAL"} if service == "filestore" else {}),
        **({"tier": "PERSISTENT_2"} if service == "fsx-lustre" else {}),
        **({"throughput": 125} if service in {"fsx-lustre", "gke-lustre"} else {}),
        **({"nfs_server": "10.0.0.9", "nfs_path": "/export"} if service == "nfs" else {}),
        **({"storage_class": "fast"} if service == "csi" else {}),
    }
    return VolumePlan(**{**fields, **more})


def fleet(
    sites: tuple[SitePlan, ...], pools: tuple[PoolPlan, ...] = (), volumes: tuple[VolumePlan, ...] = ()
) -> FleetPlan:
    """All of it as the fleet `accel` of `dev`."""
    tags = {"owner": "ml", "cost-center": "Research", "fleet": "accel", "environment": "dev"}
    return FleetPlan(env="dev", fleet="accel", tags=tags, sites=sites, pools=pools, volumes=volumes)
