"""Plans a pool on a GKE site: GPU node pools, and TPU slices."""

from __future__ import annotations

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.capacity import check_capacity
from accelerator_fleet.plan.common import common, labels, pool_bounds, taints
from accelerator_fleet.plan.google import IMAGE, extra_networks
from accelerator_fleet.plan.machine import choose
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.names import group_prefix, shape_key
from accelerator_fleet.plan.notes import Notes
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
) -> PoolPlan:
    """`pools[index]` on a GKE site. Raises FleetError."""
    pool, site = spec.pools[index], spec.sites[site_index]
    shape = choose(spec, index, site.kind, catalog, notes)
    machine = catalog.gke_machines.entries[shape.machine]
    rule = check_capacity(spec, index, site.kind, shape.machine, machine, catalog)
    zone = choose_zone(spec, index, site_index, site, shape.machine, catalog, notes, kept)
    try:
        extra = extra_networks(machine, zone)
    except FleetError as e:
        raise spec.error(f"pools[{index}].zone", e.message) from None
    if extra:
        notes.rely(catalog.gke_machines, shape.machine, "extra_gvnic")
        notes.rely(catalog.gke_machines, shape.machine, "extra_rdma")
    tpu = shape.topology is not None
    # A slice of several hosts is placed by its topology; one host takes no policy. GPUs: close together if they may.
    policy = (shape.hosts_per_slice or 0) > 1 if tpu else machine.spans_nodes and rule.new_placement_group
    accelerator = None if tpu else machine.accelerator
    if accelerator:
        notes.rely(catalog.gke_machines, shape.machine, "accelerator")
    key = shape_key(
        {
            "chip": shape.chip,
            "machine": shape.machine,
            "accelerator": [accelerator, machine.gpu_driver],
            "topology": shape.topology,
            "networks": list(extra),
            "capacity": [pool.capacity.mode, pool.capacity.reservation],
            "placement": [site.name, zone, policy, pool.capacity.placement_group],
        }
    )
    low, high = pool_bounds(spec, index, shape, rule)
    return PoolPlan(
        **common(spec, index, site.name, shape.word, protect=protect),
        zone=zone,
        machine=shape.machine,
        cards=shape.cards,
        cards_per_node=shape.cards_per_node,
        nodes=shape.nodes,
        min_nodes=low,
        max_nodes=high,
        shape_key=key,
        capacity_mode=pool.capacity.mode,
        reservation=pool.capacity.reservation,
        group_name_prefix=group_prefix(pool.name, key),
        resource=machine.resource,
        efa_interfaces=0,
        interfaces=(),
        placement_group=False,
        ami_type=IMAGE,
        labels=_labels(labels(pool, shape.word, machine.resource)),
        taints=taints(pool, machine.resource),
        topology=machine.topology_labels,
        existing_placement_group=pool.capacity.placement_group,
        accelerator=accelerator,
        gpu_driver=machine.gpu_driver,
        topology_shape=shape.topology,
        slices=shape.slices,
        hosts_per_slice=shape.hosts_per_slice,
        placement_policy=policy,
        extra_networks=extra,
    )


def _labels(all_: dict[str, str]) -> dict[str, str]:
    # GKE runs its own device plugin, and finds its nodes by its own label.
    return {k: v for k, v in all_.items() if k != "nvidia.com/gpu.present"}
