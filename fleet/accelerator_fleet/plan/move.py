"""Moving a pool to another site: two edits of the spec, add beside and then remove. Pure, nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import FleetPlan, PoolPlan
from accelerator_fleet.spec.model import FleetSpec, PoolSpec

# Fields of the new entry that the command has a word for.
OPTIONS = ("chip", "cards", "zone", "topology", "cards_per_node", "mode")
QUEUED = "queued-resource"
# What only nodes of a cluster have: a queued resource takes none of it.
OF_NODES = ("queue", "taints", "disk", "sharing", "scaling", "min_cards", "max_cards")
# What is said of the old nodes and means nothing, or another thing, on the new site.
STAYS_BEHIND = ("zone", "variant", "machine", "topology", "capacity", "cards_per_node", "node_selector", "disk")


@dataclass(frozen=True)
class Wanted:
    """What `fleet move` was asked: the pool, the site, and what the pool is to be there (None: as it is)."""

    pool: str
    to: str
    chip: str | None = None
    cards: int | None = None
    zone: str | None = None
    topology: str | None = None
    cards_per_node: int | None = None
    mode: str | None = None  # how it is got there; on the same site: between nodes of the cluster and a queued resource


@dataclass(frozen=True)
class Move:
    """Both steps as entries of the spec's `pools`, with what they come to, and what to mind."""

    old: PoolPlan
    new: PoolPlan
    added: dict[str, Any]
    removed: str  # the old pool's name
    narrowed: bool  # the old pool names several sites: it has to say its own before the new one comes
    place: str  # where the old entry stands: fleets/dev.yaml:9
    mind: tuple[str, ...]


def move(spec: FleetSpec, catalog: Catalog, wanted: Wanted) -> Move:
    """The two steps, each planned. Raises FleetError when one of them cannot be."""
    index = _index(spec, wanted.pool)
    now = plan(spec, catalog)
    old = now.pools[index]
    if wanted.to not in [s.name for s in spec.sites]:
        raise FleetError("--to", unknown("site", wanted.to, (s.name for s in spec.sites)))
    turns = wanted.mode is not None and (wanted.mode == QUEUED) != (old.queued is not None)
    if wanted.to == old.site and wanted.mode is not None and not turns:
        text = f"{old.name} stays {'a queued resource' if old.queued else 'nodes of the cluster'}: edit its `capacity`"
        raise FleetError("--mode", text)
    if wanted.to == old.site and not turns:
        text = f"{old.name} is on {old.site}; on one site a pool moves by its own fields, new nodes before old ones go"
        raise FleetError("--to", text)
    entry = _entry(spec.pools[index], old, wanted)
    stays = spec.pools[index].model_copy(update={"site": (old.site,)})
    comes = PoolSpec.model_validate(entry)
    both = (*spec.pools[:index], stays, *spec.pools[index + 1 :], comes)
    after = (*spec.pools[:index], *spec.pools[index + 1 :], comes)
    here = {p.name: (p.site, p.zone) for p in now.pools}
    here |= {f"volumes/{v.name}": (v.site, v.zone or "") for v in now.volumes}
    first = _planned(spec, both, catalog, here)
    _planned(spec, after, catalog, here)
    at = spec.error(f"pools[{index}]", "")
    return Move(
        old=old,
        new=first.pools[-1],
        added=entry,
        removed=old.name,
        narrowed=len(spec.pools[index].site) > 1,
        place=f"{at.file}:{at.line}" if at.file else "",
        mind=_mind(first, old, first.pools[-1]),
    )


def _index(spec: FleetSpec, name: str) -> int:
    names = [p.name for p in spec.pools]
    if name not in names:
        raise FleetError("POOL", unknown("pool", name, names))
    return names.index(name)


def _entry(pool: PoolSpec, old: PoolPlan, wanted: Wanted) -> dict[str, Any]:
    """The new pool as people write it: what they said of the old one, but for what belongs to its nodes."""
    said = pool.model_dump(mode="json", exclude_unset=True)
    keep = {k: v for k, v in said.items() if k not in STAYS_BEHIND}
    ending = wanted.to if wanted.to != old.site else ("queued" if wanted.mode == QUEUED else "nodes")
    keep |= {"name": f"{pool.name}-{ending}", "site": wanted.to}
    keep |= {} if old.queued else {"queue": pool.queue or pool.name}
    if wanted.mode is not None:
        keep["capacity"] = {"mode": wanted.mode}
    if wanted.mode == QUEUED:
        keep = {k: v for k, v in keep.items() if k not in OF_NODES}
    asked: dict[str, Any] = {"chip": wanted.chip, "zone": wanted.zone, "topology": wanted.topology}
    asked |= {"cards": wanted.cards, "cards_per_node": wanted.cards_per_node}
    keep |= {k: v for k, v in asked.items() if v is not None}
    if wanted.chip is None:  # the same chip: what narrows it narrows it there too
        keep |= {k: said[k] for k in ("variant", "topology", "cards_per_node") if k in said and k not in keep}
    if wanted.topology is not None and wanted.cards is None:
        keep.pop("cards", None)
    elif "topology" not in keep:
        keep.setdefault("cards", old.cards)
    return keep


def _planned(
    spec: FleetSpec, pools: tuple[PoolSpec, ...], catalog: Catalog, here: Mapping[str, tuple[str, str]]
) -> FleetPlan:
    try:
        return plan(spec.model_copy(update={"pools": pools}), catalog, here)
    except FleetError as e:
        # Its file and line would be those of another entry: the new one stands nowhere yet.
        message = e.message.partition("; sites that can")[0]
        field = e.path.rpartition(".")[2]
        if e.path.startswith(f"pools[{len(pools) - 1}].") and field in OPTIONS:
            option = f"--{field.replace('_', '-')}"
            raise FleetError(option, message.replace(f"`{field}`", f"`{option} N`")) from None
        raise FleetError("--to", f"the pool cannot be there: {e.path}: {message}") from None


def _mind(both: FleetPlan, old: PoolPlan, new: PoolPlan) -> tuple[str, ...]:
    out: list[str] = []
    left, there = both.volumes_of(old.site), both.volumes_of(new.site)
    if left and new.queued is None and new.site != old.site:
        names = ", ".join(v.name for v in left)
        text = f"the volume {names} stays on {old.site} and does not follow: copy what is needed before step 2"
        out.append(text + (f"; jobs on {new.site} see {', '.join(v.name for v in there)}" if there else ""))
        if not there:
            out.append(f"{new.site} has no volume: jobs there see none at all")
    if new.queued is not None:
        out.append("a queued resource has no queue, volume or `fleet job`: what runs there is started on its hosts")
    elif old.queued is not None:
        out.append(f"jobs go to the new LocalQueue {new.local_queue}; what runs on {old.name}'s hosts ends with step 2")
    else:
        out.append(f"jobs keep their queue: LocalQueue {new.local_queue} is on both sites between the steps")
    if old.capacity_mode in ("reserved", "capacity-block", "calendar"):
        out.append(f"the reservation {old.reservation} stays with {old.site}; the new pool is bought on demand")
    if both.site(old.site).protect:
        out.append(f"{old.name} is protected: step 2 is refused until its protection is taken away")
    return tuple(out)
