"""Checks how a pool's nodes are got against the capacity rules of the catalogue."""

from __future__ import annotations

import re
from typing import Final

from accelerator_fleet.catalog.model import AnyMachine, CapacityRule, Catalog
from accelerator_fleet.spec.model import FleetSpec

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html
RESERVATION: Final = re.compile(r"cr-[0-9a-f]{8,17}")


# https://cloud.google.com/compute/docs/naming-resources, or another project's: projects/PROJECT/reservations/NAME
GOOGLE_RESERVATION: Final = re.compile(
    r"(projects/[a-z][a-z0-9-]{4,28}[a-z0-9]/reservations/)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
)


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
    said = {"reservation": capacity.reservation, "placement_group": capacity.placement_group, "zone": pool.zone}
    for field, text in rule.forbids.items():
        if said[field] is not None:
            raise spec.error(f"{path}.{field}", text)
    for field, text in rule.needs.items():
        if said[field] is None:
            where = f"pools[{index}].zone" if field == "zone" else f"{path}.{field}"
            raise spec.error(where, text)
    if capacity.reservation is not None:
        _named_well(spec, f"{path}.reservation", capacity.reservation, kind)
    if rule.usage not in machine.usage:
        modes = sorted(m for m, r in rules.items() if r.usage in machine.usage)
        raise spec.error(f"{path}.mode", f"{name} is not sold as {capacity.mode}; it is as: {', '.join(modes)}")
    return rule


def _named_well(spec: FleetSpec, path: str, said: str, kind: str) -> None:
    if kind == "eks" and not RESERVATION.fullmatch(said):
        text = f"'{said}' is no capacity reservation id: cr- and 8 to 17 hex digits"
        raise spec.error(path, text)
    if kind == "gke" and (RESERVATION.fullmatch(said) or not GOOGLE_RESERVATION.fullmatch(said)):
        whose = "AWS' id" if RESERVATION.fullmatch(said) else "no name"
        raise spec.error(path, f"'{said}' is {whose} and no reservation of Google Cloud: its name, as it lists it")
