"""TPU slices: from a topology, or from a count of chips, to machines, hosts and slices."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from accelerator_fleet.catalog.model import Catalog, TpuShapes
from accelerator_fleet.plan.machine import Shape
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec

CUBE = 64  # chips of a 4x4x4


@dataclass(frozen=True)
class Form:
    """One slice: its topology on hosts of one machine type."""

    topology: str
    machine: str
    hosts: int

    @property
    def chips(self) -> int:
        return chips(self.topology)


def chips(topology: str) -> int:
    """Chips of a topology: 4x4 has 16."""
    return math.prod(int(side) for side in topology.split("x"))


def forms(shapes: TpuShapes) -> list[Form]:
    """All listed slices of a generation, smallest first, one-host forms before others of the same topology."""
    return sorted((Form(*row) for row in shapes.shapes), key=lambda f: f.chips)


def largest(shapes: TpuShapes) -> Form:
    """The slice with the most chips."""
    return max(forms(shapes), key=lambda f: f.chips)


def by_rule(shapes: TpuShapes, topology: str) -> Form | None:
    """A 3-D slice that is not listed but follows the rule: sides that are multiples of 4, so many cubes at most."""
    sides = [int(s) for s in topology.split("x")]
    if shapes.cube_limit is None or len(sides) != shapes.dims:
        return None
    if any(s % 4 or not 4 <= s <= 256 for s in sides) or math.prod(sides) // CUBE > shapes.cube_limit:
        return None
    if shapes.sides_rise and sides != sorted(sides):
        return None
    sample = largest(shapes)
    return Form(topology, sample.machine, math.prod(sides) * sample.hosts // sample.chips)


def choose_slices(spec: FleetSpec, index: int, word: str, catalog: Catalog, notes: Notes) -> Shape:
    """The slices of `pools[index]`. Raises FleetError with the nearest topologies or counts."""
    pool, path = spec.pools[index], f"pools[{index}]"
    shapes = catalog.tpu.entries[word]
    rule = catalog.gke_capacity.entries.get(pool.capacity.mode)
    if (pool.scaling or spec.defaults.scaling) == "auto" and not (rule and rule.demand):
        where = f"{path}.scaling" if pool.scaling else "defaults.scaling"
        text = f"a {word} slice is whole or absent, so no autoscaler owns its count; say `scaling: fixed` in this pool"
        raise spec.error(where, text)
    found = (
        _by_topology(spec, path, pool.topology, word, shapes) if pool.topology else _by_chips(spec, index, word, shapes)
    )
    form = _on_machine(spec, path, pool.machine, word, found, notes)
    per_node = form.chips // form.hosts
    if pool.cards_per_node is not None and pool.cards_per_node != per_node:
        text = f"{form.machine} has {per_node} chips, not {pool.cards_per_node}; leave this out"
        raise spec.error(f"{path}.cards_per_node", text)
    slices, rest = divmod(pool.cards or form.chips, form.chips)
    if rest:
        low, high = slices * form.chips, (slices + 1) * form.chips
        near = f"{low} or {high}" if low else f"{high}"
        text = f"{pool.cards} chips do not fill slices of {form.topology} ({form.chips}); nearest: {near}"
        raise spec.error(f"{path}.cards", text)
    most = catalog.limits.entries["gke.slices"].value
    if slices > most:
        raise spec.error(f"{path}.cards", f"{slices} slices are more than a pool takes ({most}); make several pools")
    notes.rely(catalog.gke_machines, form.machine, "cards_per_node")
    notes.rely(catalog.gke_machines, form.machine, "accelerator")
    if pool.topology is None:
        notes.because(f"{path}.topology", form.topology, f"the slice of {form.chips} chips; `topology:` fixes another")
    if slices > 1:
        notes.because(f"{path}.cards", str(pool.cards), f"{slices} slices of {form.topology}, each a node pool")
    entry = catalog.gke_machines.entries[form.machine]
    return Shape(
        word, entry.chip, form.machine, entry, per_node, slices * form.hosts, form.topology, slices, form.hosts
    )


def _by_topology(spec: FleetSpec, path: str, said: str, word: str, shapes: TpuShapes) -> list[Form]:
    listed = [f for f in forms(shapes) if f.topology == said]
    if listed:
        return listed
    if re.fullmatch(r"[1-9][0-9]{0,2}(x[1-9][0-9]{0,2}){1,2}", said):
        ruled = by_rule(shapes, said)
        if ruled:
            return [ruled]
        near = ", ".join(_near(shapes, chips(said)))
    else:
        near = ", ".join(dict.fromkeys(f.topology for f in forms(shapes)[:6]))
    text = f"{word} has no topology '{said}' ({shapes.dims} sides)"
    raise spec.error(f"{path}.topology", f"{text}; nearest: {near}")


def _near(shapes: TpuShapes, wanted: int) -> list[str]:
    """Topologies with the nearest counts of chips, below and above."""
    all_ = forms(shapes)
    below = [f for f in all_ if f.chips <= wanted][-1:]
    above = [f for f in all_ if f.chips > wanted][:1]
    best = {f.chips for f in (*below, *above)}
    return [f"{t} ({chips(t)})" for t in dict.fromkeys(f.topology for f in all_ if f.chips in best)]


def _by_chips(spec: FleetSpec, index: int, word: str, shapes: TpuShapes) -> list[Form]:
    cards = spec.pools[index].cards
    assert cards is not None
    found = [f for f in forms(shapes) if f.chips == cards]
    if found:
        return [f for f in found if f.topology == found[0].topology]
    most = largest(shapes)
    path = f"pools[{index}].cards"
    if cards > most.chips:
        text = f"{cards} chips are more than one {word} slice has ({most.chips}: {most.topology}); for several slices"
        raise spec.error(path, f"{text} say their `topology`")
    text = f"no {word} slice has {cards} chips; nearest: {' or '.join(_near(shapes, cards))}"
    raise spec.error(path, f"{text}; or several slices of one `topology`")


def _on_machine(spec: FleetSpec, path: str, machine: str | None, word: str, found: list[Form], notes: Notes) -> Form:
    if machine is None:
        if len(found) > 1:
            others = ", ".join(f"{f.machine} ({f.hosts} hosts)" for f in found[1:])
            why = f"{found[0].topology} on one host; by `machine:` also {others}"
            notes.because(f"{path}.machine", found[0].machine, why)
        return found[0]
    for form in found:
        if form.machine == machine:
            return form
    fitting = ", ".join(f.machine for f in found)
    raise spec.error(f"{path}.machine", f"{machine} makes no {word} slice of {found[0].topology}; these do: {fitting}")
