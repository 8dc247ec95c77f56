"""From a chip word to a machine: aliases, variants, defaults, and whole nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from accelerator_fleet.catalog.model import AnyMachine, Catalog, Machine, Table
from accelerator_fleet.errors import nearest, unknown
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec, PoolSpec

CLOUD_OF: Final = {"eks": "aws", "gke": "gcp"}


@dataclass(frozen=True)
class Shape:
    """A pool's machine and counts."""

    word: str  # as catalogued
    chip: str  # the form: a100-80gb-sxm
    machine: str
    entry: AnyMachine
    cards_per_node: int
    nodes: int
    topology: str | None = None  # TPU
    slices: int = 1
    hosts_per_slice: int | None = None

    @property
    def cards(self) -> int:
        """Cards of the whole pool."""
        return self.nodes * self.cards_per_node


def machines_in(catalog: Catalog, cloud: str) -> Mapping[str, AnyMachine]:
    """The machines of a cloud by name."""
    return catalog.machines.entries if cloud == "aws" else catalog.gke_machines.entries


def _table(catalog: Catalog, cloud: str) -> Table[Any]:
    return catalog.machines if cloud == "aws" else catalog.gke_machines


def carried(catalog: Catalog, cloud: str) -> list[str]:
    """Chip words that some machine of the cloud carries."""
    return sorted(w for w in catalog.words.entries if machines_of(catalog, w, None, cloud))


def machines_of(catalog: Catalog, word: str, variant: str | None, cloud: str = "aws") -> list[str]:
    """Machines of a cloud that carry a word (in one variant, or in any), fewest cards first."""
    entry = catalog.words.entries[word]
    known = machines_in(catalog, cloud)
    if variant in entry.narrows:
        return [m for m in entry.narrows[variant] if m in known]
    chips = {entry.variants[variant]} if variant else set(entry.variants.values())
    pinned = {m for w in catalog.words.entries.values() for m in w.machines or ()}
    found = [
        name
        for name, m in known.items()
        if m.chip in chips and (name in entry.machines if entry.machines is not None else name not in pinned)
    ]
    return sorted(found, key=lambda n: (known[n].cards_per_node or 0, n))


def choose(spec: FleetSpec, index: int, kind: str, catalog: Catalog, notes: Notes) -> Shape:
    """The machine and node count of `pools[index]` on a site of `kind`. Raises FleetError."""
    from accelerator_fleet.plan.slices import choose_slices

    pool = spec.pools[index]
    path = f"pools[{index}]"
    cloud = CLOUD_OF[kind]
    word = known_word(spec, path, pool, catalog, notes)
    usable = carried(catalog, cloud)
    if word not in usable:
        text = f"no machine of {kind} sites carries {word}; they carry: {', '.join(usable)}"
        raise spec.error(f"{path}.chip", text)
    variant = _variant(spec, path, pool, word, catalog, notes)
    if word in catalog.tpu.entries:
        shape = choose_slices(spec, index, word, catalog, notes)
        runtime_fits(spec, path, pool, word, shape.chip, catalog)
        return shape
    cards = whole_cards(spec, path, pool, word)
    machine = _machine(spec, path, pool, word, variant, kind, cloud, catalog, notes)
    entry = machines_in(catalog, cloud)[machine]
    per_node = _cards_per_node(spec, path, pool, machine, cloud, catalog, notes)
    if isinstance(entry, Machine):
        _efa_is_sure(spec, path, machine, entry, catalog, notes)
    nodes = whole_nodes(spec, f"{path}.cards", cards, word, per_node, machine)
    runtime_fits(spec, path, pool, word, entry.chip, catalog)
    return Shape(word, entry.chip, machine, entry, per_node, nodes)


def whole_cards(spec: FleetSpec, path: str, pool: PoolSpec, word: str) -> int:
    """The pool's cards, of a chip that has no topology."""
    if pool.topology is not None:
        raise spec.error(f"{path}.topology", f"only TPU slices have a topology, not {word}; leave this out")
    assert pool.cards is not None
    return pool.cards


def whole_nodes(spec: FleetSpec, path: str, cards: int, word: str, per_node: int, machine: str) -> int:
    """Nodes that `cards` fill. Raises FleetError with the nearest counts."""
    nodes, rest = divmod(cards, per_node)
    if rest:
        low, high = nodes * per_node, (nodes + 1) * per_node
        near = f"{low} or {high}" if low else f"{high}"
        where = f" ({machine})" if machine else ""
        raise spec.error(path, f"{cards} {word} cards do not fill nodes of {per_node}; nearest: {near}{where}")
    return nodes


def known_word(spec: FleetSpec, path: str, pool: PoolSpec, catalog: Catalog, notes: Notes) -> str:
    """The chip word as catalogued. Raises FleetError with the nearest words."""
    words = catalog.words.entries
    aliases = {a: w for w, e in words.items() for a in e.aliases}
    said = pool.chip.lower()
    word = said if said in words else aliases.get(said)
    if word is None:
        if said == "none":
            raise spec.error(f"{path}.chip", "pools without accelerators are not yet available in this version")
        close = nearest(said, aliases)
        known = words if not close or nearest(said, words) else [*words, close[0]]
        raise spec.error(f"{path}.chip", f"{unknown('chip', pool.chip, known)}; `fleet catalog chips` shows all")
    if word != pool.chip:
        notes.because(f"{path}.chip", word, f"'{pool.chip}' is another word for it")
    return word


def _variant(spec: FleetSpec, path: str, pool: PoolSpec, word: str, catalog: Catalog, notes: Notes) -> str | None:
    entry = catalog.words.entries[word]
    if pool.variant is not None:
        if pool.variant not in entry.variants:
            raise spec.error(f"{path}.variant", unknown(f"variant of {word}", pool.variant, entry.variants))
        return pool.variant
    if pool.machine is not None:  # the machine says the variant
        return None
    if entry.default is None:
        text = f"{word} is ambiguous ({entry.why}); give `variant`: {', '.join(sorted(entry.variants))}"
        raise spec.error(f"{path}.chip", text)
    if len(entry.variants) > 1:
        notes.because(f"{path}.variant", entry.default, f"the default of {word}: {entry.why}")
    return entry.default


def _machine(
    spec: FleetSpec,
    path: str,
    pool: PoolSpec,
    word: str,
    variant: str | None,
    kind: str,
    cloud: str,
    catalog: Catalog,
    notes: Notes,
) -> str:
    fitting = machines_of(catalog, word, variant, cloud)
    known = machines_in(catalog, cloud)
    if pool.machine is not None:
        if pool.machine in fitting:
            return pool.machine
        if pool.machine in known:
            text = f"{pool.machine} does not carry {_said(word, variant)}; these do: {', '.join(fitting)}"
            raise spec.error(f"{path}.machine", text)
        raise spec.error(f"{path}.machine", unknown("machine", pool.machine, fitting))
    entry = catalog.words.entries[word]
    if not fitting:
        others = sorted(v for v in entry.variants if machines_of(catalog, word, v, cloud))
        text = f"no machine of {kind} sites carries {_said(word, variant)}; they carry: {', '.join(others)}"
        raise spec.error(f"{path}.variant", text)
    default = entry.default_machine.get(f"{cloud}/{variant}") or entry.default_machine.get(cloud)
    small = _one_small_node(pool, default, fitting, known)
    if small is not None:
        cards = f"{pool.cards} {'card is' if pool.cards == 1 else 'cards are'}"
        notes.because(f"{path}.machine", small, f"{cards} one node of it; the default of {word} is {default}")
        return small
    if default in fitting:
        if len(fitting) > 1:
            notes.because(f"{path}.machine", str(default), f"the default of {word}: {entry.machine_why}")
        return str(default)
    if len(fitting) == 1:
        notes.because(f"{path}.machine", fitting[0], f"the one machine that carries {_said(word, variant)}")
        return fitting[0]
    sizes = ", ".join(f"{m} ({known[m].cards_per_node})" for m in fitting)
    raise spec.error(f"{path}.machine", f"{word} comes in several machines; say which (cards): {sizes}")


def _one_small_node(
    pool: PoolSpec, default: str | None, fitting: list[str], known: Mapping[str, AnyMachine]
) -> str | None:
    """The one machine that `cards` fill exactly, where they are fewer than the default's: a card for an hour."""
    usual = known[default].cards_per_node if default in fitting and default is not None else None
    if usual is None or pool.cards is None or pool.max_cards is not None or pool.cards >= usual:
        return None
    exact = [m for m in fitting if known[m].cards_per_node == pool.cards]
    return exact[0] if len(exact) == 1 else None


def _said(word: str, variant: str | None) -> str:
    return f"{word} {variant}" if variant and variant != word else word


def _cards_per_node(
    spec: FleetSpec, path: str, pool: PoolSpec, machine: str, cloud: str, catalog: Catalog, notes: Notes
) -> int:
    table = _table(catalog, cloud)
    fact = table.fact(machine, "cards_per_node")
    given = pool.cards_per_node
    if fact.status == "verified" and isinstance(fact.value, int):
        if given is not None and given != fact.value:
            text = f"{machine} has {fact.value} cards, not {given} ({fact.source}); leave this out"
            raise spec.error(f"{path}.cards_per_node", text)
        notes.rely(table, machine, "cards_per_node")
        return fact.value
    if given is None:
        text = f"the catalogue is not sure how many cards {machine} has ({fact.status}); give `cards_per_node` here"
        raise spec.error(path, text)
    notes.given(fact.subject, given, "cards", f"{path}.cards_per_node")
    return given


def _efa_is_sure(spec: FleetSpec, path: str, machine: str, entry: Machine, catalog: Catalog, notes: Notes) -> None:
    if not entry.spans_nodes:
        return
    fact = notes.rely(catalog.machines, machine, "efa_max")
    if fact.status != "verified":
        text = f"the catalogue is not sure how many EFA interfaces {machine} takes ({fact.status}); choose another"
        raise spec.error(f"{path}.machine", text)
    notes.rely(catalog.machines, machine, "efa_on_card_0")


def runtime_fits(spec: FleetSpec, path: str, pool: PoolSpec, word: str, chip: str, catalog: Catalog) -> None:
    """Raises FleetError with the runtimes that run on the chip."""
    runtime = pool.runtime or spec.defaults.runtime
    where = f"{path}.runtime" if pool.runtime else "defaults.runtime"
    vendor = catalog.chips.entries[chip].vendor
    known = catalog.runtimes.entries
    if runtime not in known:
        raise spec.error(where, unknown("runtime", runtime, known))
    if vendor not in known[runtime].vendors:
        fitting = sorted(r for r, e in known.items() if vendor in e.vendors)
        raise spec.error(where, f"{runtime} does not run on {word}; these do: {', '.join(fitting)}")
