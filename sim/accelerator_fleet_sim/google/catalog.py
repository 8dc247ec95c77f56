"""What embedded Google projects can have: machines, zones, TPU shapes, quotas, stock, versions. Data, read once."""

from __future__ import annotations

import json
import math
import re
from functools import cached_property
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
MEMORY = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}  # GB per vCPU of predefined machines
SHARED = {"e2-micro": (2, 1.0), "e2-small": (2, 2.0), "e2-medium": (2, 4.0), "f1-micro": (1, 0.6), "g1-small": (1, 1.7)}


def _load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / name).read_text())
    return data


class Catalog:
    """Lazily read data files."""

    @cached_property
    def account(self) -> dict[str, Any]:
        """`account.json`."""
        return _load("account.json")

    @cached_property
    def machines(self) -> dict[str, dict[str, Any]]:
        """Accelerator machines by name."""
        machines: dict[str, dict[str, Any]] = _load("machines.json")["machines"]
        return machines

    @cached_property
    def topologies(self) -> dict[str, Any]:
        """TPU generations: topologies with machine and hosts."""
        found: dict[str, Any] = _load("machines.json")["tpu_topologies"]
        return found

    @cached_property
    def _zones(self) -> dict[str, Any]:
        zones: dict[str, Any] = _load("zones.json")["zones"]
        return zones

    def zones(self, region: str) -> list[str]:
        """Zones of a region; empty for a region that does not exist."""
        return sorted(z for z in self._zones if z.rpartition("-")[0] == region)

    def all_zones(self) -> list[str]:
        """Every zone."""
        return sorted(self._zones)

    def regions(self) -> list[str]:
        """Every region."""
        return sorted({z.rpartition("-")[0] for z in self._zones})

    def is_zone(self, name: str) -> bool:
        """Whether there is such a zone."""
        return name in self._zones

    def machine(self, name: str) -> dict[str, Any] | None:
        """Figures of a machine: vcpu, memory_gb, family, and what accelerators it has. None when there is none."""
        if name in self.machines:
            return {**self.machines[name], "family": name.partition("-")[0]}
        if name in SHARED:
            return {"vcpu": SHARED[name][0], "memory_gb": SHARED[name][1], "family": name.partition("-")[0]}
        found = re.fullmatch(r"([a-z]\d[a-z]?)-(standard|highmem|highcpu)-(\d+)", name)
        families = self.account["general_purpose"]
        if not found or found[1] not in families:
            return None
        vcpu = int(found[3])
        if vcpu not in families[found[1]]["vcpu"]:
            return None
        return {"vcpu": vcpu, "memory_gb": math.ceil(vcpu * MEMORY[found[2]]), "family": found[1]}

    def offers(self, zone: str, machine: str) -> bool:
        """Whether a zone has a machine."""
        row = self._zones.get(zone)
        figures = self.machine(machine)
        if row is None or figures is None:
            return False
        if figures.get("kind") == "tpu":
            return figures["tpu"] in [*row.get("tpu", []), *row.get("tpu_documented", [])]
        if figures.get("kind") == "gpu":
            return machine.rpartition("-")[0] in row["gpu"]
        return True

    def topology(self, generation: str, topology: str, machine: str) -> dict[str, Any] | None:
        """A TPU shape on a machine: hosts, chips; None when it does not exist."""
        rows = self.topologies[generation]["topologies"]
        return next((r for r in rows if r["topology"] == topology and r["machine_type"] == machine), None)

    def single_host(self, generation: str, machine: str) -> dict[str, Any] | None:
        """The shape of one machine by itself."""
        rows = self.topologies[generation]["topologies"]
        return next((r for r in rows if r["machine_type"] == machine and r["hosts"] == 1), None)

    def stock(self, zone: str, machine: str) -> int | None:
        """Free machines beside reservations; None when they never run out."""
        row = self.account["stock"].get(machine)
        if row is not None:
            return int(row.get(zone, self.account["stock"]["default"]))
        return int(self.account["stock"]["default"]) if machine in self.machines else None

    def seconds(self, what: str) -> float:
        """Simulated seconds of an operation."""
        table = self.account["durations"]
        return float(table.get(what, table["default"]))
