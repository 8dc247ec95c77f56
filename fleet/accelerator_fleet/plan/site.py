"""Plans a site: network, cluster, system nodes, add-ons and queue names."""

from __future__ import annotations

import re
from typing import Final

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan.google import TOPOLOGY_LEVELS as GOOGLE_LEVELS
from accelerator_fleet.plan.google import google_cluster, google_network, google_site_errors, google_system_pool
from accelerator_fleet.plan.google_versions import Pin
from accelerator_fleet.plan.model import AddonPlan, ClusterPlan, PoolPlan, SitePlan, SystemPoolPlan, VolumePlan
from accelerator_fleet.plan.names import cluster_name
from accelerator_fleet.plan.network import plan_network
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.sharing import PLUGIN, plugin_configs
from accelerator_fleet.plan.versions import node_version
from accelerator_fleet.plan.zone import with_family, zones_of
from accelerator_fleet.spec.model import AddonState, FleetSpec, SiteSpec, SystemSpec

QUEUE: Final = "fleet"  # the site's ClusterQueue, and its Topology
JOBS_NAMESPACE: Final = "jobs"
SYSTEM_MACHINE: Final = "m6i.large"  # of EKS sites, where the spec says none
EFA: Final = "vpc.amazonaws.com/efa"
# Labels that AWS's cloud controller sets on nodes once they exist, outermost first; the host's own comes last.
# https://github.com/kubernetes/cloud-provider-aws (topology.k8s.aws/network-node-layer-1..3)
TOPOLOGY_LEVELS: Final = (
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "kubernetes.io/hostname",
)


def site_errors(spec: FleetSpec, index: int, catalog: Catalog) -> list[FleetError]:
    """What the catalogue knows to be wrong with a site: region, zones, system machine, add-ons."""
    site, path = spec.sites[index], f"sites[{index}]"
    if site.kind != "eks":
        errors = google_site_errors(spec, index, catalog) if site.kind == "gke" else []
        return errors + _addon_errors(spec, index, catalog)
    regions = catalog.zones.entries
    if site.region not in regions:
        return [spec.error(f"{path}.region", unknown("region", site.region, regions))]
    errors = []
    least = catalog.limits.entries["eks.min-zones"].value
    if site.vpc is not None and site.cluster.name is None and len(site.vpc.subnets) < least:
        text = f"a new EKS cluster needs subnets in {least} zones; give one more"
        errors.append(spec.error(f"{path}.vpc.subnets", text))
    errors += _addon_errors(spec, index, catalog)
    if site.cluster.name is None:
        errors += _system_errors(spec, index, catalog)
    return errors


def _addon_errors(spec: FleetSpec, index: int, catalog: Catalog) -> list[FleetError]:
    known = catalog.addons.entries
    errors = []
    for name, said in spec.sites[index].addons.items():
        path = f"sites[{index}].addons.{name}"
        if name not in known:
            errors.append(spec.error(path, unknown("add-on", name, known)))
            continue
        least = known[name].minimum
        if least and said.version and _numbers(said.version) < _numbers(least):
            text = f"{said.version} is older than {least}, the least that queues and jobs rely on; nearest: {least}"
            errors.append(spec.error(f"{path}.version", text))
    return errors


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", version)[:3])


def _system_errors(spec: FleetSpec, index: int, catalog: Catalog) -> list[FleetError]:
    site = spec.sites[index]
    system = site.system or spec.defaults.system
    path = f"sites[{index}].system" if site.system else "defaults.system"
    known = catalog.system.entries
    machine = _system_machine(system)
    if machine not in known:
        return [spec.error(f"{path}.machine", unknown("system machine", machine, known))]
    family, _, size = machine.partition(".")
    if len(with_family(catalog, site.region, family)) < catalog.limits.entries["eks.min-zones"].value:
        families = sorted({m.family for m in known.values()})
        near = "".join(f"; nearest: {f}.{size}" for f in families if with_family(catalog, site.region, f))
        return [spec.error(f"{path}.machine", f"{site.region} has no {machine}{near}")]
    low, high = system.min or system.nodes, system.max or system.nodes
    if not low <= system.nodes <= high:
        return [spec.error(f"{path}.nodes", f"{system.nodes} lies outside min {low} … max {high}")]
    return []


def _system_machine(system: SystemSpec) -> str:
    return system.machine or SYSTEM_MACHINE


def plan_site(
    spec: FleetSpec,
    index: int,
    pools: tuple[PoolPlan, ...],
    volumes: tuple[VolumePlan, ...],
    catalog: Catalog,
    notes: Notes,
    *,
    protect: bool,
    version: tuple[str, str] | None = None,
    pin: Pin | None = None,
) -> SitePlan:
    """One site; `pools` and `volumes` are the ones planned on it: they decide plugins and further networks.

    `version`: Kubernetes version and release ("": not pinned) of its system nodes that are up; `pin`: of a GKE site.
    """
    site = spec.sites[index]
    if site.kind == "gke":
        assert pin is not None
        return _google_site(spec, index, pools, volumes, catalog, notes, pin, protect=protect)
    if site.kind == "existing":
        return _existing_site(spec, site, pools, catalog, protect=protect)
    zones = zones_of(catalog, site.region)
    notes.rely(catalog.limits, "eks.min-zones", "value")
    existing = site.cluster.name is not None
    network = plan_network(site, zones)
    reached = tuple(z for z, _ in network.existing_subnets) if site.vpc else zones
    return SitePlan(
        name=site.name,
        kind="eks",
        account=site.account,
        region=site.region,
        network=network,
        cluster=_cluster(spec, site, _common_zones(catalog, site, reached), protect=protect),
        system_pool=None if existing else _system_pool(spec, index, reached, catalog, notes, version),
        addons=_addons(site, pools, catalog, teams=bool(spec.teams)),
        jobs_namespace=JOBS_NAMESPACE,
        topology_name=QUEUE if catalog.zones.entries[site.region].instance_topology else None,
        topology_levels=TOPOLOGY_LEVELS if catalog.zones.entries[site.region].instance_topology else (),
        queue=QUEUE,
        protect=protect,
    )


def _google_site(
    spec: FleetSpec,
    index: int,
    pools: tuple[PoolPlan, ...],
    volumes: tuple[VolumePlan, ...],
    catalog: Catalog,
    notes: Notes,
    pin: Pin,
    *,
    protect: bool,
) -> SitePlan:
    site = spec.sites[index]
    return SitePlan(
        name=site.name,
        kind="gke",
        project=site.project,
        region=site.region,
        gke_network=google_network(site, pools, volumes),
        cluster=google_cluster(spec, site, catalog, pin.cluster, protect=protect),
        system_pool=google_system_pool(spec, index, catalog, notes, pin.nodes),
        addons=_addons(site, pools, catalog, teams=bool(spec.teams)),
        jobs_namespace=JOBS_NAMESPACE,
        topology_name=QUEUE,
        topology_levels=GOOGLE_LEVELS,
        queue=QUEUE,
        protect=protect,
    )


def _existing_site(
    spec: FleetSpec, site: SiteSpec, pools: tuple[PoolPlan, ...], catalog: Catalog, *, protect: bool
) -> SitePlan:
    assert site.kubeconfig is not None
    context = site.kubeconfig.context
    return SitePlan(
        name=site.name,
        kind="existing",
        region="",
        cluster=ClusterPlan(name=context, version=None, existing=True, cloud_addons=()),
        system_pool=None,
        addons=_addons(site, pools, catalog, teams=bool(spec.teams)),
        jobs_namespace=JOBS_NAMESPACE,
        topology_name=None,
        topology_levels=(),
        queue=QUEUE,
        protect=protect,
        context=context,
    )


def _common_zones(catalog: Catalog, site: SiteSpec, reached: tuple[str, ...]) -> tuple[str, ...]:
    """Zones for the control plane's own interfaces.

    EKS refuses some old zones, by zone id, which a letter does not tell; they are the ones without any general-purpose
    family (us-east-1e in AWS's own listing), so those are left out.
    """
    good = [z for z in reached if catalog.zones.entries[site.region].zones[z[-1]].general_purpose]
    return tuple(good) if len(good) >= catalog.limits.entries["eks.min-zones"].value else reached


def _cluster(spec: FleetSpec, site: SiteSpec, zones: tuple[str, ...], *, protect: bool) -> ClusterPlan:
    if site.cluster.name is not None:
        return ClusterPlan(name=site.cluster.name, version=None, existing=True)
    said = site.cluster
    return ClusterPlan(
        name=cluster_name(spec.fleet, spec.env, site.name),
        version=site.kubernetes or spec.defaults.kubernetes,
        endpoint_public=True if said.public is None else said.public,
        public_access_cidrs=said.public_cidrs if said.public_cidrs is not None else ("0.0.0.0/0",),
        log_types=said.logs,
        deletion_protection=protect,
        zones=zones,
    )


def _system_pool(
    spec: FleetSpec,
    index: int,
    reached: tuple[str, ...],
    catalog: Catalog,
    notes: Notes,
    version: tuple[str, str] | None,
) -> SystemPoolPlan:
    site, path = spec.sites[index], f"sites[{index}].version"
    said = (path, site.version) if site.version else None
    of_nodes = node_version(spec, site, path, said, version, catalog, notes)
    system: SystemSpec = site.system or spec.defaults.system
    machine = _system_machine(system)
    offered = with_family(catalog, site.region, machine.partition(".")[0])
    return SystemPoolPlan(
        name="system",
        machine=machine,
        nodes=system.nodes,
        min_nodes=system.min or system.nodes,
        max_nodes=system.max or system.nodes,
        zones=tuple(z for z in reached if z in offered) or reached,
        disk_gib=system.disk,
        ami_type=catalog.images.entries["system"].ami_type,
        labels={"accelerator-fleet.dev/pool": "system"},
        release=of_nodes.release,
        kubernetes=of_nodes.kubernetes,
    )


def _addons(site: SiteSpec, pools: tuple[PoolPlan, ...], catalog: Catalog, *, teams: bool) -> tuple[AddonPlan, ...]:
    """Kueue everywhere, device plugins where a pool needs one; `present` in an existing cluster, unless said.
    JobSet where the spec says it, or has teams: gangs that share a cluster come back whole.

    GKE brings its own device plugins, and existing clusters have theirs: only what the spec says is added there.
    """
    resources = {p.resource for p in pools} | {EFA for p in pools if p.efa_interfaces}
    there = site.kind == "existing" or site.cluster.name is not None
    usual: AddonState = "present" if there else "managed"
    out: list[AddonPlan] = []
    for name, entry in catalog.addons.entries.items():
        said = site.addons.get(name)
        for_all = entry.for_resource is None and (teams or not entry.asked_for)
        wanted = for_all or (site.kind == "eks" and entry.for_resource in resources)
        if said is None and not wanted:
            continue
        version = (said.version if said else None) or entry.version
        image = entry.image.rpartition(":")[0] + f":{version}" if entry.image else None
        out.append(
            AddonPlan(
                name=name,
                state=said.state if said else usual,
                version=version,
                namespace=entry.namespace,
                chart=entry.chart,
                image=image,
                configs=plugin_configs(pools) if name == PLUGIN else (),
            )
        )
    return tuple(out)
