"""Checks how a pool's nodes are got against the capacity rules of the catalogue."""

from __future__ import annotations

import re
from typing import Final

from accelerator_fleet.catalog.model import AnyMachine, CapacityRule, Catalog
from accelerator_fleet.plan.google_capacity import named_well
from accelerator_fleet.plan.purchases import PREFIX
from accelerator_fleet.spec.capacity import CapacitySpec
from accelerator_fleet.spec.model import FleetSpec, PoolSpec

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html
RESERVATION: Final = re.compile(r"cr-[0-9a-f]{8,17}")
# Fields of the pool that rules speak of; the others are `capacity`'s.
OF_POOL: Final = ("zone", "scaling", "min_cards", "queue", "taints", "disk", "sharing")


def check_capacity(
    spec: FleetSpec, index: int, kind: str, name: str, machine: AnyMachine, catalog: Catalog
) -> CapacityRule:
    """The rule of `pools[index]`'s mode. Raises FleetError with the rule's own text where the pool breaks it."""
    pool = spec.pools[index]
    capacity, path = pool.capacity, f"pools[{index}].capacity"
    rules = (catalog.capacity if kind == "eks" else catalog.gke_capacity).entries
    if capacity.mode not in rules:
        text = f"{kind} sites have no {capacity.mode}; they have: {', '.join(rules)}"
        raise spec.error(f"{path}.mode", text)
    rule = rules[capacity.mode]
    if not rule.sells(name, machine):
        modes = sorted(m for m, r in rules.items() if r.sells(name, machine))
        raise spec.error(f"{path}.mode", f"{name} is not sold as {capacity.mode}; it is as: {', '.join(modes)}")
    said = _said(pool)
    for field, text in rule.forbids.items():
        if said.get(field) is not None:
            raise spec.error(_where(index, field), text)
    for field, text in rule.needs.items():
        if said.get(field) is None:
            raise spec.error(_where(index, field), text)
    if capacity.reservation is not None:
        _named_well(spec, index, capacity.reservation, kind)
    return rule


def _said(pool: PoolSpec) -> dict[str, object]:
    """What the pool says of the fields that rules speak of. `scaling: auto` is what a mode may be by itself."""
    of_pool: dict[str, object] = {"zone": pool.zone, "min_cards": pool.min_cards or None, "taints": pool.taints or None}
    of_pool |= {"queue": pool.queue, "disk": pool.disk, "sharing": pool.sharing}
    counted = "fixed" if pool.scaling == "fixed" else None
    return {**{f: getattr(pool.capacity, f) for f in CapacitySpec.model_fields}, **of_pool, "scaling": counted}


def _where(index: int, field: str) -> str:
    return f"pools[{index}].{field}" if field in OF_POOL else f"pools[{index}].capacity.{field}"


def _named_well(spec: FleetSpec, index: int, said: str, kind: str) -> None:
    path = f"pools[{index}].capacity.reservation"
    if kind == "eks" and not RESERVATION.fullmatch(said) and not said.startswith(PREFIX):
        text = f"'{said}' is no capacity reservation id: cr- and 8 to 17 hex digits"
        raise spec.error(path, text)
    if kind == "gke":
        projects = [s.project for s in spec.sites if s.name in spec.pools[index].site and s.kind == "gke"]
        named_well(spec, path, said, str(projects[0]))
