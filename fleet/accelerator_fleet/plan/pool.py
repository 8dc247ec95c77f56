"""Plans a pool: everything that follows from its chip, on the first site of its list that can carry it."""

from __future__ import annotations

from accelerator_fleet.catalog.model import CapacityRule, Catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.capacity import check_capacity
from accelerator_fleet.plan.interfaces import interfaces
from accelerator_fleet.plan.machine import Shape, choose
from accelerator_fleet.plan.model import PoolPlan, Taint
from accelerator_fleet.plan.names import group_prefix, shape_key
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.zone import choose_zone
from accelerator_fleet.spec.model import FleetSpec, PoolSpec

LABEL = "accelerator-fleet.dev"


def plan_pool(spec: FleetSpec, index: int, catalog: Catalog, notes: Notes, *, protect: bool) -> PoolPlan:
    """`pools[index]`. Raises the FleetError of its first site when none of its sites can carry it."""
    pool = spec.pools[index]
    numbers = {s.name: i for i, s in enumerate(spec.sites)}
    first: FleetError | None = None
    for name in pool.site:
        tried = Notes()
        try:
            out = _on_site(spec, index, numbers[name], catalog, tried, protect=protect)
        except FleetError as e:
            first = first or e
            continue
        if len(pool.site) > 1:
            why = "first of the list" if first is None else f"first that can carry it ({first.message})"
            notes.because(f"pools[{index}].site", name, why)
        notes.take(tried)
        return out
    assert first is not None
    raise first


def _on_site(
    spec: FleetSpec, index: int, site_index: int, catalog: Catalog, notes: Notes, *, protect: bool
) -> PoolPlan:
    pool, site = spec.pools[index], spec.sites[site_index]
    shape = choose(spec, index, site.kind, catalog, notes)
    rule = check_capacity(spec, index, shape.machine, shape.entry, catalog)
    zone = choose_zone(spec, index, site_index, site, shape.machine, catalog, notes)
    layout = interfaces(shape.entry)
    topology = shape.entry.network_node_layers > 0 and catalog.zones.entries[site.region].instance_topology
    new_group = bool(layout) and rule.new_placement_group
    # Counts, labels and taints are not part of it: they change without anything being replaced.
    key = shape_key(
        {
            "chip": shape.chip,
            "machine": shape.machine,
            "interfaces": [[i.network_card, i.device, i.interface_type] for i in layout],
            "capacity": [pool.capacity.mode, pool.capacity.reservation],
            "placement": [site.name, zone, new_group, pool.capacity.placement_group],
        }
    )
    low, high = _bounds(spec, pool, shape, rule)
    resource = shape.entry.resource
    image = next(i for i in catalog.images.entries.values() if i.resource == resource)
    return PoolPlan(
        name=pool.name,
        site=site.name,
        zone=zone,
        chip=shape.word,
        machine=shape.machine,
        runtime=pool.runtime or spec.defaults.runtime,
        cards=pool.cards,
        cards_per_node=shape.cards_per_node,
        nodes=shape.nodes,
        min_nodes=low,
        max_nodes=high,
        scaling=pool.scaling or spec.defaults.scaling,
        shape_key=key,
        capacity_mode=pool.capacity.mode,
        reservation=pool.capacity.reservation,
        billing=pool.billing or spec.defaults.billing,
        group_name_prefix=group_prefix(pool.name, key),
        resource=resource,
        efa_interfaces=sum(i.interface_type != "interface" for i in layout),
        interfaces=layout,
        placement_group=new_group,
        ami_type=image.ami_type,
        disk_gib=pool.disk or spec.defaults.disk,
        labels=_labels(pool, shape, efa=bool(layout)),
        taints=_taints(pool, resource),
        flavor=pool.name,
        local_queue=pool.name,
        topology=topology,
        protect=protect,
        existing_placement_group=pool.capacity.placement_group,
        desired_nodes=0 if rule.usage == "capacity-block" else None,
        tags=_tags(pool),
    )


def _bounds(spec: FleetSpec, pool: PoolSpec, shape: Shape, rule: CapacityRule) -> tuple[int, int]:
    """Fewest and most nodes. A capacity block's pool may be empty: its nodes drain before the block ends."""
    fewest = 0 if rule.usage == "capacity-block" else shape.nodes
    if (pool.scaling or spec.defaults.scaling) == "fixed":
        return fewest, shape.nodes
    index = spec.pools.index(pool)
    out: list[int] = []
    for field, cards in (("min_cards", pool.min_cards or 0), ("max_cards", pool.max_cards or pool.cards)):
        nodes, rest = divmod(cards, shape.cards_per_node)
        if rest:
            low, high = nodes * shape.cards_per_node, (nodes + 1) * shape.cards_per_node
            text = f"{cards} {shape.word} cards do not fill nodes of {shape.cards_per_node}; nearest: {low} or {high}"
            raise spec.error(f"pools[{index}].{field}", f"{text} ({shape.machine})")
        out.append(nodes)
    return out[0], out[1]


def _labels(pool: PoolSpec, shape: Shape, *, efa: bool) -> dict[str, str]:
    labels = {**pool.labels, f"{LABEL}/pool": pool.name, f"{LABEL}/chip": shape.word}
    if shape.entry.resource == "nvidia.com/gpu":
        labels["nvidia.com/gpu.present"] = "true"  # what NVIDIA's device-plugin chart selects by
    if efa:
        labels[f"{LABEL}/efa"] = "true"
    return dict(sorted(labels.items()))


def _taints(pool: PoolSpec, resource: str) -> tuple[Taint, ...]:
    own = Taint(key=resource, value="present", effect="NoSchedule")
    return (own, *(Taint(key=t.key, value=t.value, effect=t.effect) for t in pool.taints))


def _tags(pool: PoolSpec) -> dict[str, str]:
    tags = {f"{LABEL}/pool": pool.name}
    if pool.owner:
        tags["owner"] = pool.owner
    return tags
