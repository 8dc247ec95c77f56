"""Checks how a pool's nodes are got against the capacity rules of the catalogue."""

from __future__ import annotations

import re
from typing import Final

from accelerator_fleet.catalog.model import CapacityRule, Catalog, Machine
from accelerator_fleet.spec.model import FleetSpec

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CapacityReservation.html
RESERVATION: Final = re.compile(r"cr-[0-9a-f]{8,17}")


def check_capacity(spec: FleetSpec, index: int, name: str, machine: Machine, catalog: Catalog) -> CapacityRule:
    """The rule of `pools[index]`'s mode. Raises FleetError with the rule's own text where the pool breaks it."""
    pool = spec.pools[index]
    capacity, path = pool.capacity, f"pools[{index}].capacity"
    rule = catalog.capacity.entries[capacity.mode]
    said = {"reservation": capacity.reservation, "placement_group": capacity.placement_group, "zone": pool.zone}
    for field, text in rule.forbids.items():
        if said[field] is not None:
            raise spec.error(f"{path}.{field}", text)
    for field, text in rule.needs.items():
        if said[field] is None:
            where = f"pools[{index}].zone" if field == "zone" else f"{path}.{field}"
            raise spec.error(where, text)
    if capacity.reservation is not None and not RESERVATION.fullmatch(capacity.reservation):
        text = f"'{capacity.reservation}' is no capacity reservation id: cr- and 8 to 17 hex digits"
        raise spec.error(f"{path}.reservation", text)
    if rule.usage not in machine.usage:
        modes = sorted(m for m, r in catalog.capacity.entries.items() if r.usage in machine.usage)
        raise spec.error(f"{path}.mode", f"{name} is not sold as {capacity.mode}; it is as: {', '.join(modes)}")
    return rule
