"""Plans a GKE site and its pools: address slots, further networks of A3 and A4, system nodes, node pools."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Final

from accelerator_fleet.catalog.model import Catalog, GkeMachine
from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan.model import (
    ClusterPlan,
    ExtraNetworkPlan,
    GkeNetworkPlan,
    MaintenanceExclusionPlan,
    MaintenancePlan,
    PoolPlan,
    SystemPoolPlan,
    VolumePlan,
)
from accelerator_fleet.plan.names import cluster_name
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.zone import regions_of, with_family, zones_of
from accelerator_fleet.spec.model import FleetSpec, MaintenanceSpec, SiteSpec

LETTERS: Final = "abcdef"  # zone letters with a slot for RDMA subnets
GVNIC_SLOTS, RDMA_SLOTS = 8, 8  # most further interfaces of each kind
SYSTEM_MACHINES: Final = ("e2-standard-4", "n2-standard-4")  # the first that the region has
IMAGE: Final = "COS_CONTAINERD"  # GPUDirect and multi-networking need it
# Set by GKE once the nodes exist, outermost first.
# https://cloud.google.com/ai-hypercomputer/docs/workloads/schedule-gke-workloads-tas
TOPOLOGY_LEVELS: Final = (
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "kubernetes.io/hostname",
)


def google_site_errors(spec: FleetSpec, index: int, catalog: Catalog) -> list[FleetError]:
    """What the catalogue knows to be wrong with a GKE site: region, system machine."""
    site, path = spec.sites[index], f"sites[{index}]"
    regions = regions_of(catalog, "gcp")
    if site.region not in regions:
        return [spec.error(f"{path}.region", unknown("region of Google Cloud", site.region, regions))]
    if site.system is None or site.system.machine is None:
        return []
    machine, known = site.system.machine, catalog.gke_system.entries
    if machine not in known:
        return [spec.error(f"{path}.system.machine", unknown("system machine", machine, known))]
    if not with_family(catalog, site.region, known[machine].family, "gcp"):
        near = _usual_machine(catalog, site.region)
        return [spec.error(f"{path}.system.machine", f"{site.region} has no {machine}; nearest: {near}")]
    low, high = site.system.min or site.system.nodes, site.system.max or site.system.nodes
    if not low <= site.system.nodes <= high:
        return [spec.error(f"{path}.system.nodes", f"{site.system.nodes} lies outside min {low} … max {high}")]
    return []


def google_network(site: SiteSpec, pools: tuple[PoolPlan, ...], volumes: tuple[VolumePlan, ...]) -> GkeNetworkPlan:
    """Stable slots of the site's block: pods its first half, then nodes, services, further networks, Google's own.

    Further networks are the ones that pools on the site need; a slot never depends on who needs it.
    """
    assert site.cidr is not None
    block = IPv4Network(site.cidr)
    eighths = list(block.subnets(prefixlen_diff=3))
    needed = {name: p.zone for p in pools for name in p.extra_networks}
    return GkeNetworkPlan(
        pods_cidr=str(next(block.subnets(prefixlen_diff=1))),
        nodes_cidr=str(eighths[4]),
        services_cidr=str(next(eighths[5].subnets(prefixlen_diff=3))),
        nat=True,
        extra=tuple(_extra(name, needed[name], eighths[6]) for name in sorted(needed, key=_slot)),
        peering_cidr=str(next(eighths[7].subnets(prefixlen_diff=1)))
        if any(v.service == "gke-lustre" for v in volumes)
        else None,
    )


def _slot(name: str) -> int:
    kind, *rest = name.split("-")
    if kind == "gvnic":
        return int(rest[0])
    return GVNIC_SLOTS + RDMA_SLOTS * LETTERS.index(rest[0]) + int(rest[1])


def _extra(name: str, zone: str, eighth: IPv4Network) -> ExtraNetworkPlan:
    # 64 slots: eight gVNIC networks, and eight RDMA subnets for each of six zones.
    cidr = list(eighth.subnets(prefixlen_diff=6))[_slot(name)]
    if name.startswith("gvnic"):
        return ExtraNetworkPlan(name=name, cidr=str(cidr), kind="gvnic", profile_zone=None, vpc=name)
    vpc = name.rpartition("-")[0]
    return ExtraNetworkPlan(name=name, cidr=str(cidr), kind="rdma", profile_zone=zone, vpc=vpc)


def extra_networks(machine: GkeMachine, zone: str) -> tuple[str, ...]:
    """Further interfaces of a machine in their order: gVNIC first, then RDMA of the zone."""
    letter = zone.rpartition("-")[2]
    if machine.extra_rdma and letter not in LETTERS:
        raise FleetError("", f"zone {zone} has no slot in the address plan (letters {LETTERS})")
    gvnic = [f"gvnic-{i}" for i in range(machine.extra_gvnic)]
    return (*gvnic, *(f"rdma-{letter}-{i}" for i in range(machine.extra_rdma)))


def google_cluster(spec: FleetSpec, site: SiteSpec, catalog: Catalog, version: str, *, protect: bool) -> ClusterPlan:
    """A regional cluster of at least `version`; its maintenance is pinned."""
    said = site.cluster
    return ClusterPlan(
        name=cluster_name(spec.fleet, spec.env, site.name),
        version=version,
        endpoint_public=True if said.public is None else said.public,
        public_access_cidrs=said.public_cidrs if said.public_cidrs is not None else ("0.0.0.0/0",),
        cloud_addons=(),
        deletion_protection=protect,
        zones=_locations(catalog, site.region),
        location=site.region,
        release_channel=said.channel,
        maintenance=_maintenance(site.maintenance or MaintenanceSpec()),
    )


def _locations(catalog: Catalog, region: str) -> tuple[str, ...]:
    """Zones of the cluster's default nodes: the ones with general-purpose machines (no AI zone has them)."""
    zones = regions_of(catalog, "gcp")[region].zones
    return tuple(z for z in zones_of(catalog, region, "gcp") if zones[z.rpartition("-")[2]].general_purpose)


def _maintenance(said: MaintenanceSpec) -> MaintenancePlan:
    exclusions = (
        tuple(MaintenanceExclusionPlan(name=e.name, start=e.start, end=e.end, scope=e.scope) for e in said.exclusions)
        if said.exclusions is not None
        # An upgrade of nodes recycles a running gang: only when people say so.
        else (
            MaintenanceExclusionPlan(
                name="running-gangs", start="2026-01-01T00:00:00Z", end=None, scope="NO_MINOR_OR_NODE_UPGRADES"
            ),
        )
    )
    return MaintenancePlan(start=said.start, end=said.end, recurrence=said.recurrence, exclusions=exclusions)


def _usual_machine(catalog: Catalog, region: str) -> str:
    known = catalog.gke_system.entries
    return next((m for m in SYSTEM_MACHINES if with_family(catalog, region, known[m].family, "gcp")), "n2-standard-4")


def google_system_pool(
    spec: FleetSpec, index: int, catalog: Catalog, notes: Notes, version: str | None
) -> SystemPoolPlan:
    """System nodes over as many zones as divide their number: GKE counts nodes by zone."""
    site = spec.sites[index]
    system = site.system or spec.defaults.system
    known = catalog.gke_system.entries
    machine = system.machine
    if machine is None or machine not in known:
        machine = _usual_machine(catalog, site.region)
        notes.because(
            f"sites[{index}].system.machine", machine, "the usual one of Google Cloud; `system:` takes another"
        )
    zones = with_family(catalog, site.region, known[machine].family, "gcp")
    counts = (system.nodes, system.min or system.nodes, system.max or system.nodes)
    spread = next(n for n in range(len(zones), 0, -1) if not any(c % n for c in counts))
    return SystemPoolPlan(
        name="system",
        machine=machine,
        nodes=counts[0],
        min_nodes=counts[1],
        max_nodes=counts[2],
        zones=zones[:spread],
        disk_gib=system.disk,
        ami_type=IMAGE,
        labels={"accelerator-fleet.dev/pool": "system"},
        release=version,
    )
