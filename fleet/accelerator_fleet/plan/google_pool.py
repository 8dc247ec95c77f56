"""Plans a pool on a GKE site: GPU node pools, and TPU slices."""

from __future__ import annotations

from accelerator_fleet.catalog.model import Catalog, GkeCapacityRule
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.capacity import check_capacity
from accelerator_fleet.plan.common import common, labels, pool_bounds, shaped, taints
from accelerator_fleet.plan.google import IMAGE, extra_networks
from accelerator_fleet.plan.google_capacity import check_shape, demand_of, zones_sold
from accelerator_fleet.plan.google_versions import Pin, node_version
from accelerator_fleet.plan.machine import Shape, choose
from accelerator_fleet.plan.model import DemandPlan, PoolPlan
from accelerator_fleet.plan.names import shape_key
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.queued import MODE, queued_pool
from accelerator_fleet.plan.zone import choose_zone
from accelerator_fleet.spec.model import FleetSpec


def google_pool(
    spec: FleetSpec,
    index: int,
    site_index: int,
    catalog: Catalog,
    notes: Notes,
    *,
    protect: bool,
    kept: str | None,
    version: tuple[str, str] | None = None,
    pin: Pin | None = None,
) -> PoolPlan:
    """`pools[index]` on a GKE site. `version`: of its nodes that are up; `pin`: of the site. Raises FleetError."""
    if spec.pools[index].capacity.mode == MODE:
        return queued_pool(spec, index, site_index, catalog, notes, protect=protect, kept=kept)
    pool, site = spec.pools[index], spec.sites[site_index]
    shape = choose(spec, index, site.kind, catalog, notes)
    machine = catalog.gke_machines.entries[shape.machine]
    rule = check_capacity(spec, index, site.kind, shape.machine, machine, catalog)
    assert isinstance(rule, GkeCapacityRule)
    check_shape(spec, index, rule, shape)
    only = zones_sold(rule, shape.machine)
    zone = choose_zone(spec, index, site_index, site, shape.machine, catalog, notes, kept, only)
    trial = Pin(site.kubernetes or spec.defaults.kubernetes, None)
    release = node_version(spec, index, shape.machine, pin or trial, version, catalog, notes)
    demand = demand_of(spec, index, rule, catalog, notes)
    extra = _networks(spec, index, shape.machine, zone, catalog, notes)
    policy = _together(shape, rule)
    accelerator = None if shape.topology is not None else machine.accelerator
    if accelerator:
        notes.rely(catalog.gke_machines, shape.machine, "accelerator")
    key = shape_key(
        {
            "chip": shape.chip,
            "machine": shape.machine,
            "accelerator": [accelerator, machine.gpu_driver],
            "topology": shape.topology,
            "networks": list(extra),
            "capacity": [pool.capacity.mode, pool.capacity.reservation, *_runs(demand)],
            "placement": [site.name, zone, policy, pool.capacity.placement_group],
        }
    )
    low, high = pool_bounds(spec, index, shape, rule)
    return PoolPlan(
        **{**common(spec, index, site.name, shape.word, protect=protect), **({"scaling": "auto"} if demand else {})},
        **shaped(pool, shape, zone, key),
        min_nodes=low,
        max_nodes=high,
        ami_type=IMAGE,
        labels=_labels(labels(pool, shape.word, machine.resource), demand),
        taints=taints(pool, machine.resource),
        # Kueue places by the topology of nodes that are there; here they come after the job is let in.
        topology=machine.topology_labels and demand is None,
        existing_placement_group=pool.capacity.placement_group,
        accelerator=accelerator,
        gpu_driver=machine.gpu_driver,
        placement_policy=policy,
        extra_networks=extra,
        demand=demand,
        release=release,
        starts=pool.capacity.starts,
        ends=pool.capacity.ends,
    )


def _networks(spec: FleetSpec, index: int, name: str, zone: str, catalog: Catalog, notes: Notes) -> tuple[str, ...]:
    """The machine's further networks, by name."""
    try:
        extra = extra_networks(catalog.gke_machines.entries[name], zone)
    except FleetError as e:
        raise spec.error(f"pools[{index}].zone", e.message) from None
    if extra:
        notes.rely(catalog.gke_machines, name, "extra_gvnic")
        notes.rely(catalog.gke_machines, name, "extra_rdma")
    return extra


def _together(shape: Shape, rule: GkeCapacityRule) -> bool:
    """A slice of several hosts is placed by its topology, one host takes no policy; GPUs close together if they may."""
    if shape.topology is not None:
        return (shape.hosts_per_slice or 0) > 1
    may = rule.compact is None or shape.machine in rule.compact
    return shape.entry.spans_nodes and rule.new_placement_group and may


def _runs(demand: DemandPlan | None) -> list[int]:
    # A node's longest life is fixed when the pool is made; queued nodes get theirs with each request.
    return [demand.max_run_seconds] if demand and demand.max_run_seconds is not None and not demand.queued else []


def _labels(all_: dict[str, str], demand: DemandPlan | None) -> dict[str, str]:
    # GKE runs its own device plugin, and finds its nodes by its own label. The taints that it sets on queued nodes it
    # does by itself, the label that jobs select by it does not.
    own = {t.key: t.value for t in demand.taints} if demand else {}
    return dict(sorted({**{k: v for k, v in all_.items() if k != "nvidia.com/gpu.present"}, **own}.items()))
