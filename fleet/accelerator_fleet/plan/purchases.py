"""Capacity blocks that are bought: what a purchase is, which pools draw on it, and that nothing is bought twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan.model import PoolPlan, PurchasePlan
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.times import times_errors
from accelerator_fleet.plan.zone import offering, zones_of
from accelerator_fleet.spec.model import FleetSpec, PoolSpec
from accelerator_fleet.spec.purchase import PurchaseSpec

PREFIX: Final = "purchase/"  # how a pool names a purchase of its own fleet where others name cr-…
AGAIN: Final = "a purchase never changes, as changing it would buy again: put it back, and give another block an entry "
NO_MONEY_BACK: Final = "AWS takes no block back: deleting the entry, the stack or the resource gives no money back"


def purchase_of(pool: PoolSpec) -> str | None:
    """The name of the purchase that a pool draws on."""
    said = pool.capacity.reservation
    return said.removeprefix(PREFIX) if said is not None and said.startswith(PREFIX) else None


def applied(spec: FleetSpec) -> FleetSpec:
    """The spec, in which a pool that names a purchase says its zone and dates too, where it left them out."""
    bought = {p.name: p for p in spec.purchases}
    pools = []
    for pool in spec.pools:
        found = bought.get(purchase_of(pool) or "")
        if found is None or pool.capacity.mode != "capacity-block":
            pools.append(pool)
            continue
        capacity = pool.capacity.model_copy(
            update={"starts": pool.capacity.starts or found.starts, "ends": pool.capacity.ends or found.ends}
        )
        pools.append(pool.model_copy(update={"capacity": capacity, "zone": pool.zone or found.zone}))
    return spec.model_copy(update={"pools": tuple(pools)})


def naming_errors(spec: FleetSpec) -> list[FleetError]:
    """Pools that name a purchase which is not there, or in a mode that draws on none."""
    errors = []
    names = [p.name for p in spec.purchases]
    for i, pool in enumerate(spec.pools):
        name, path = purchase_of(pool), f"pools[{i}].capacity"
        if name is None:
            continue
        if name not in names:
            errors.append(spec.error(f"{path}.reservation", unknown("purchase", name, names)))
        elif pool.capacity.mode != "capacity-block":
            text = f"{name} is a capacity block, which `{pool.capacity.mode}` does not use; say `mode: capacity-block`"
            errors.append(spec.error(f"{path}.mode", text))
    return errors


def plan_purchases(
    spec: FleetSpec, catalog: Catalog, placements: Mapping[str, tuple[str, str]], notes: Notes, errors: list[FleetError]
) -> list[PurchasePlan]:
    """All purchases; what is wrong with one goes to `errors`."""
    plans: list[PurchasePlan] = []
    for i, purchase in enumerate(spec.purchases):
        found = list(_errors(spec, i, catalog, placements))
        errors += found
        if found:
            continue
        was = placements.get(f"purchases/{purchase.name}")
        plan = PurchasePlan(**purchase.model_dump(), bought=was[1] if was else None)
        notes.warn(f"purchases[{i}]", purchase.name, _mind(plan))
        plans.append(plan)
    named = {p.name for p in spec.purchases}
    for key, (_, identity) in sorted(placements.items()):
        kind, _, name = key.partition("/")
        if kind == "purchases" and "/" not in name and name not in named:
            text = f"{name} ({identity}) is bought and no longer in the spec; it stays until it ends. {NO_MONEY_BACK}; "
            text += "its protection refuses the delete: `pulumi state delete` alone forgets it"
            notes.warn("purchases", name, text)
    return plans


def _mind(plan: PurchasePlan) -> str:
    block = f"{plan.nodes} {plan.machine} in {plan.zone}, {plan.starts} to {plan.ends}"
    price = f"{plan.price:,.0f} USD up front" if plan.price is not None else "paid up front, at the offering's price"
    if plan.bought:
        return f"is bought: {plan.bought} ({block}). {NO_MONEY_BACK}"
    return f"`up` buys {plan.offering}, once: {block}, {price}. {NO_MONEY_BACK}"


def _errors(
    spec: FleetSpec, index: int, catalog: Catalog, placements: Mapping[str, tuple[str, str]]
) -> list[FleetError]:
    purchase, path = spec.purchases[index], f"purchases[{index}]"
    site = next((s for s in spec.sites if s.name == purchase.site), None)
    if site is None:
        return [spec.error(f"{path}.site", unknown("site", purchase.site, (s.name for s in spec.sites)))]
    if site.kind != "eks":
        text = f"capacity blocks are AWS', and {site.name} is of kind {site.kind}"
        return [spec.error(f"{path}.site", text)]
    machines = catalog.machines.entries
    if purchase.machine not in machines:
        return [spec.error(f"{path}.machine", unknown("machine", purchase.machine, machines))]
    if "capacity-block" not in machines[purchase.machine].usage:
        return [spec.error(f"{path}.machine", f"{purchase.machine} is not sold as capacity-block")]
    if site.region not in catalog.zones.entries:
        return []  # told of the site itself
    if purchase.zone not in offering(catalog, site.region, purchase.machine):
        known = offering(catalog, site.region, purchase.machine) or zones_of(catalog, site.region)
        text = unknown(f"zone with {purchase.machine}", purchase.zone, known)
        return [spec.error(f"{path}.zone", text)]
    found = list(times_errors(spec, path, purchase.starts, purchase.ends))
    for i, other in enumerate(spec.purchases[:index]):
        if other.offering == purchase.offering:
            text = f"{purchase.offering} is bought by purchases[{i}] ({other.name}) already; an offering is bought once"
            found.append(spec.error(f"{path}.offering", text))
    return found or _changed(spec, path, purchase, placements)


def _changed(
    spec: FleetSpec, path: str, purchase: PurchaseSpec, placements: Mapping[str, tuple[str, str]]
) -> list[FleetError]:
    """Fields that are not what was bought."""
    key = f"purchases/{purchase.name}"
    if key not in placements:
        return []
    identity = placements[key][1]
    was = {"offering": placements[key][0]}
    was |= dict(zip(("machine", "zone"), placements.get(f"{key}/shape", ()), strict=False))
    was |= dict(zip(("starts", "ends"), placements.get(f"{key}/times", ()), strict=False))
    was |= dict(zip(("nodes", "site"), placements.get(f"{key}/place", ()), strict=False))
    errors = []
    for field, before in was.items():
        now = str(getattr(purchase, field))
        if before and now != before and not (field == "ends" and now > before):  # an extension moves the end alone
            text = f"{purchase.name} is bought ({identity}) with {before}, not {now}; {AGAIN}of its own"
            errors.append(spec.error(f"{path}.{field}", text))
    return errors


def drawn(spec: FleetSpec, pools: list[PoolPlan], purchases: list[PurchasePlan]) -> list[tuple[int, FleetError]]:
    """Pools that name a purchase which does not have what they need, by their place in the spec."""
    bought = {p.name: p for p in purchases}
    places = {p.name: i for i, p in enumerate(spec.pools)}
    left = {p.name: p.nodes for p in purchases}
    found: list[tuple[int, FleetError]] = []
    for pool in pools:
        if pool.purchase is None:
            continue
        i = places[pool.name]
        one = bought.get(pool.purchase)
        if one is None:
            continue  # its own errors are told
        error = _does_not_fit(spec, i, pool, one)
        left[one.name] -= pool.max_nodes
        if error is None and left[one.name] < 0:
            text = f"{one.name} has {one.nodes} nodes, and its pools need {one.nodes - left[one.name]}"
            error = spec.error(f"pools[{i}].cards", f"{text}; nearest: {one.nodes * pool.cards_per_node} cards")
        if error is not None:
            found.append((i, error))
    return found


def _does_not_fit(spec: FleetSpec, index: int, pool: PoolPlan, one: PurchasePlan) -> FleetError | None:
    path = f"pools[{index}]"
    if pool.site != one.site:
        return spec.error(f"{path}.capacity.reservation", f"{one.name} is bought for site {one.site}")
    if pool.machine != one.machine:
        text = f"{one.name} is of {one.machine}, and {pool.chip} here is {pool.machine}"
        return spec.error(f"{path}.capacity.reservation", text)
    if pool.zone != one.zone:
        return spec.error(f"{path}.zone", f"{one.name} lies in {one.zone} and not in {pool.zone}")
    for field in ("starts", "ends"):
        said, is_ = getattr(pool, field), getattr(one, field)
        if said != is_:
            text = f"{one.name} has {is_}, not {said}; leave it out"
            return spec.error(f"{path}.capacity.{field}", text)
    return None
