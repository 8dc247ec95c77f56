"""The catalogue with what a spec's `catalog` says instead: figures of one's own, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from accelerator_fleet.catalog.model import Catalog, Doubt, Entry, Machine, Source, Table
from accelerator_fleet.errors import FleetError, raise_all, unknown
from accelerator_fleet.plan.model import GivenPrice
from accelerator_fleet.spec.model import FleetSpec, GivenFigures

E = TypeVar("E", bound=Entry)
Given = Mapping[str, GivenFigures]
# A wrong one builds a wrong machine; what the cloud's own data says of it stands.
DECIDES = ("cards_per_node", "efa_max")


def overridden(spec: FleetSpec, catalog: Catalog) -> Catalog:
    """`catalog` with the figures that the spec gives. Raises FleetError with every entry that cannot be."""
    said = spec.catalog
    if not (said.chips or said.machines or said.prices):
        return catalog
    raise_all([*_problems(spec, catalog), *_prices(spec, catalog)])
    ec2 = {k: v for k, v in said.machines.items() if k in catalog.machines.entries}
    google = {k: v for k, v in said.machines.items() if k in catalog.gke_machines.entries}
    return catalog.model_copy(
        update={
            "chips": _with(catalog.chips, said.chips, "chips"),
            "machines": _with(catalog.machines, ec2, "machines"),
            "gke_machines": _with(catalog.gke_machines, google, "machines"),
        }
    )


def prices(spec: FleetSpec) -> tuple[GivenPrice, ...]:
    """The prices that the spec gives, each the only one of its machine, region and mode."""
    return tuple(
        GivenPrice(**p.model_dump(exclude={"source"}), source=f"the spec, catalog.prices[{i}]: {p.source}")
        for i, p in enumerate(spec.catalog.prices)
    )


def _with(table: Table[E], given: Given, kind: str) -> Table[E]:
    if not given:
        return table
    sources, entries = dict(table.sources), dict(table.entries)
    for name, one in given.items():
        key = f"spec-{name}"
        sources[key] = Source(text=f"the spec, catalog.{kind}.{name}: {one.source}", date=one.date)
        doubts = {**entries[name].doubts, **{f: Doubt(status="verified", source=key) for f in one.figures()}}
        entries[name] = entries[name].model_copy(update={**one.figures(), "doubts": doubts})
    return table.model_copy(update={"sources": sources, "entries": entries})


def _problems(spec: FleetSpec, catalog: Catalog) -> Iterator[FleetError]:
    machines = {**catalog.machines.entries, **catalog.gke_machines.entries}
    for kind, given, known in (
        ("chips", spec.catalog.chips, catalog.chips.entries),
        ("machines", spec.catalog.machines, machines),
    ):
        for name, one in given.items():
            path = f"catalog.{kind}.{name}"
            if name not in known:
                yield spec.error(path, unknown(kind[:-1], name, known))
                continue
            if not one.figures():
                yield spec.error(path, "gives no figure; leave it out")
            yield from _figures(spec, path, name, one.figures(), known[name], catalog)
    yield from _cards(spec, catalog, machines)


def _figures(
    spec: FleetSpec, path: str, name: str, figures: Mapping[str, object], entry: Entry, catalog: Catalog
) -> Iterator[FleetError]:
    for field, value in figures.items():
        if field not in type(entry).model_fields:
            yield spec.error(f"{path}.{field}", f"{name} has no such figure: it is not a machine of EC2")
            continue
        if field not in DECIDES or isinstance(value, tuple):
            continue
        table: Table[Any] = catalog.machines if isinstance(entry, Machine) else catalog.gke_machines
        fact = table.fact(name, field)
        if fact.status == "verified" and fact.value not in (None, value):
            text = f"{name} has {fact.value}, not {value} ({fact.source}); leave this out"
            yield spec.error(f"{path}.{field}", text)
        elif (
            isinstance(entry, Machine) and field == "efa_max" and isinstance(value, int) and value > entry.network_cards
        ):
            # One EFA interface on a network card.
            text = f"{value} EFA interfaces do not fit {name}'s {entry.network_cards} network cards"
            yield spec.error(f"{path}.{field}", text)


def _cards(spec: FleetSpec, catalog: Catalog, machines: Mapping[str, Any]) -> Iterator[FleetError]:
    """A machine's cards and its chip's usual counts, where the spec gives both, must go together."""
    for name, one in spec.catalog.machines.items():
        chip = machines[name].chip if name in machines else None
        said = spec.catalog.chips.get(chip or "")
        if one.cards_per_node is None or said is None or said.cards_per_node is None:
            continue
        if one.cards_per_node not in said.cards_per_node:
            counts = ", ".join(str(c) for c in said.cards_per_node)
            text = f"{one.cards_per_node} contradicts catalog.chips.{chip}.cards_per_node: {counts}"
            yield spec.error(f"catalog.machines.{name}.cards_per_node", text)


def _prices(spec: FleetSpec, catalog: Catalog) -> Iterator[FleetError]:
    tables = (catalog.machines, catalog.gke_machines, catalog.system, catalog.gke_system)
    machines = sorted({m for t in tables for m in t.entries})
    regions = sorted({*catalog.zones.entries, *catalog.gke_zones.entries})
    seen: dict[tuple[str, str, str], int] = {}
    for i, price in enumerate(spec.catalog.prices):
        key = (price.machine, price.region, price.mode)
        if key in seen:
            text = f"{price.machine} in {price.region}, {price.mode}, has its price in catalog.prices[{seen[key]}]"
            yield spec.error(f"catalog.prices[{i}]", f"{text}; leave one out")
        seen.setdefault(key, i)
        if price.machine not in machines:
            yield spec.error(f"catalog.prices[{i}].machine", unknown("machine", price.machine, machines))
        if price.region not in regions:
            yield spec.error(f"catalog.prices[{i}].region", unknown("region", price.region, regions))
