"""What pools have on every kind of site: names, owner, labels, taints, bounds."""

from __future__ import annotations

from typing import Any, Final

from accelerator_fleet.catalog.model import CapacityRule, GkeCapacityRule
from accelerator_fleet.plan.machine import Shape, whole_nodes
from accelerator_fleet.plan.model import Taint
from accelerator_fleet.plan.names import group_prefix
from accelerator_fleet.spec.model import FleetSpec, PoolSpec

LABEL: Final = "accelerator-fleet.dev"


def common(spec: FleetSpec, index: int, site: str, word: str, *, protect: bool) -> dict[str, Any]:
    """The fields of a PoolPlan that no machine decides."""
    pool = spec.pools[index]
    claims = tuple(sorted(v.name for v in spec.volumes if v.site == site))
    return {
        "name": pool.name,
        "site": site,
        "chip": word,
        "runtime": pool.runtime or spec.defaults.runtime,
        "scaling": pool.scaling or spec.defaults.scaling,
        "billing": pool.billing or spec.defaults.billing,
        "disk_gib": pool.disk or spec.defaults.disk,
        "flavor": pool.name,
        "local_queue": pool.queue or pool.name,
        "protect": protect,
        "tags": tags(pool),
        "volume_claims": claims,
    }


def shaped(pool: PoolSpec, shape: Shape, zone: str, key: str) -> dict[str, Any]:
    """The fields of a PoolPlan of nodes that are created: what the shape, its zone and its key say."""
    return {
        "zone": zone,
        "machine": shape.machine,
        "cards": shape.cards,
        "cards_per_node": shape.cards_per_node,
        "nodes": shape.nodes,
        "shape_key": key,
        "capacity_mode": pool.capacity.mode,
        "reservation": pool.capacity.reservation,
        "group_name_prefix": group_prefix(pool.name, key),
        "resource": shape.entry.resource,
        "topology_shape": shape.topology,
        "slices": shape.slices,
        "hosts_per_slice": shape.hosts_per_slice,
    }


def pool_bounds(spec: FleetSpec, index: int, shape: Shape, rule: CapacityRule) -> tuple[int, int]:
    """Fewest and most nodes. A capacity block's pool may be empty: its nodes drain before the block ends; so may one
    whose nodes come when jobs ask for them.
    """
    pool = spec.pools[index]
    fewest = 0 if rule.usage == "capacity-block" else shape.nodes
    by_jobs = isinstance(rule, GkeCapacityRule) and rule.demand
    if by_jobs and pool.max_cards is None:
        return 0, shape.nodes
    if (pool.scaling or spec.defaults.scaling) == "fixed":
        return fewest, shape.nodes
    low, high = (
        whole_nodes(spec, f"pools[{index}].{field}", cards, shape.word, shape.cards_per_node, shape.machine)
        for field, cards in (("min_cards", pool.min_cards or 0), ("max_cards", pool.max_cards or shape.cards))
    )
    return low, high


def labels(pool: PoolSpec, word: str, resource: str, *, efa: bool = False) -> dict[str, str]:
    """Labels of a pool's nodes."""
    out = {**pool.labels, f"{LABEL}/pool": pool.name, f"{LABEL}/chip": word}
    if resource == "nvidia.com/gpu":
        out["nvidia.com/gpu.present"] = "true"  # what NVIDIA's device-plugin chart selects by
    if efa:
        out[f"{LABEL}/efa"] = "true"
    return dict(sorted(out.items()))


def taints(pool: PoolSpec, resource: str | None = None) -> tuple[Taint, ...]:
    """The accelerator's own taint on nodes that are created, then the pool's."""
    own = [Taint(key=resource, value="present", effect="NoSchedule")] if resource else []
    return (*own, *(Taint(key=t.key, value=t.value, effect=t.effect) for t in pool.taints))


def tags(pool: PoolSpec) -> dict[str, str]:
    """Cloud tags of one pool."""
    out = {f"{LABEL}/pool": pool.name}
    if pool.owner:
        out["owner"] = pool.owner
    return out
