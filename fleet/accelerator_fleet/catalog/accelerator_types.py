"""Accelerator types of the Cloud TPU API: `v5litepod-16` and the slice that it stands for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from accelerator_fleet.catalog.model import Catalog


@dataclass(frozen=True)
class AcceleratorType:
    """One slice by its name in the API. `chip`: the word; `chips` counts chips whatever the name counts."""

    name: str
    chip: str
    topology: str
    chips: int
    machine: str
    hosts: int


def accelerator_types(catalog: Catalog, chip: str = "") -> list[AcceleratorType]:
    """All types, or those of one chip word, smallest first. One type has one topology."""
    found: dict[str, AcceleratorType] = {}
    for word, entry in catalog.cloud_tpu.entries.items():
        if chip not in ("", word):
            continue
        rows = [(math.prod(map(int, s[0].split("x"))), *s) for s in catalog.tpu.entries[word].shapes]
        for chips, topology, machine, hosts in sorted(rows, key=lambda r: (r[0], r[3])):
            name = f"{entry.prefix}{chips * entry.per_chip}"
            found.setdefault(name, AcceleratorType(name, word, topology, chips, machine, hosts))
    return list(found.values())


def accelerator_type(catalog: Catalog, name: str) -> AcceleratorType | None:
    """The type of that name; None when there is none."""
    return next((t for t in accelerator_types(catalog) if t.name == name), None)
