"""Plans a pool on an existing cluster: nothing is created, its nodes are found by labels."""

from __future__ import annotations

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import unknown
from accelerator_fleet.plan.common import common, taints
from accelerator_fleet.plan.machine import known_word, runtime_fits, whole_cards, whole_nodes
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.names import group_prefix, shape_key
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec, PoolSpec


def existing_pool(
    spec: FleetSpec, index: int, site_index: int, catalog: Catalog, notes: Notes, *, protect: bool
) -> PoolPlan:
    """`pools[index]` on an existing cluster; whether its nodes are there is checked against the cluster itself."""
    pool, site = spec.pools[index], spec.sites[site_index]
    path = f"pools[{index}]"
    word = known_word(spec, path, pool, catalog, notes)
    entry = catalog.words.entries[word]
    if pool.capacity.mode != "on-demand" or pool.capacity.reservation is not None:
        raise spec.error(f"{path}.capacity", f"the nodes of {site.name} are there already; they are not bought")
    if (pool.scaling or spec.defaults.scaling) == "auto":
        where = f"{path}.scaling" if pool.scaling else "defaults.scaling"
        raise spec.error(where, f"the nodes of {site.name} are not ours to scale; say `scaling: fixed` in this pool")
    variant = pool.variant or entry.default or sorted(entry.variants)[0]
    if variant not in entry.variants:
        raise spec.error(f"{path}.variant", unknown(f"variant of {word}", variant, entry.variants))
    chip = entry.variants[variant]
    cards = whole_cards(spec, path, pool, word)
    per_node = _cards_per_node(spec, path, pool, word, chip, catalog, notes)
    nodes = whole_nodes(spec, f"{path}.cards", cards, word, per_node, "")
    runtime_fits(spec, path, pool, word, chip, catalog)
    key = shape_key({"chip": chip, "site": site.name, "nodes": dict(pool.node_selector)})
    return PoolPlan(
        **common(spec, index, site.name, word, protect=protect),
        zone="",
        machine="",
        cards=cards,
        cards_per_node=per_node,
        nodes=nodes,
        min_nodes=nodes,
        max_nodes=nodes,
        shape_key=key,
        capacity_mode="existing",
        reservation=None,
        group_name_prefix=group_prefix(pool.name, key),
        resource=catalog.chips.entries[chip].resource,
        ami_type="",
        labels={},
        taints=taints(pool),
        topology=False,
        node_selector=dict(sorted(pool.node_selector.items())),
    )


def _cards_per_node(
    spec: FleetSpec, path: str, pool: PoolSpec, word: str, chip: str, catalog: Catalog, notes: Notes
) -> int:
    """The spec's figure, or the catalogue's where it is sure and there is one."""
    known = catalog.chips.entries[chip].cards_per_node
    fact = catalog.chips.fact(chip, "cards_per_node")
    if pool.cards_per_node is not None:
        notes.given(f"{chip}.cards_per_node", pool.cards_per_node, "cards", f"{path}.cards_per_node")
        return pool.cards_per_node
    if fact.status == "verified" and len(known) == 1:
        notes.rely(catalog.chips, chip, "cards_per_node")
        return known[0]
    hint = f"; nodes of {' or '.join(map(str, known))} are usual" if known else ""
    text = f"the catalogue is not sure how many {word} cards a node of an existing cluster has{hint}; "
    raise spec.error(f"{path}.cards_per_node", f"{text}give `cards_per_node`")
