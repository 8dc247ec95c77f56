"""What the embedded account can have: machines, zones, quotas, stock, versions. Data files, read once."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


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
        """Instance types by name."""
        machines: dict[str, dict[str, Any]] = _load("machines.json")["machines"]
        return machines

    @cached_property
    def managed_policies(self) -> frozenset[str]:
        """Names of AWS's own policies, with their path."""
        return frozenset([*_load("managed_policies.json")["policies"], *self.account["managed_policies_beyond_sdk"]])

    @cached_property
    def _regions(self) -> dict[str, Any]:
        regions: dict[str, Any] = _load("offerings.json")["regions"]
        return regions

    @cached_property
    def _offered(self) -> dict[str, dict[str, frozenset[str]]]:
        return {}

    def zones(self, region: str) -> dict[str, str]:
        """Zone name -> zone id; empty for a region that does not exist."""
        zones: dict[str, str] = self._regions.get(region, {}).get("zones", {})
        return zones

    def zones_of(self, region: str, machine: str) -> frozenset[str]:
        """Zones of a region that have a machine."""
        if region not in self._offered:
            table: dict[str, frozenset[str]] = {}
            for zones, kinds in self._regions.get(region, {}).get("offered", {}).items():
                there = frozenset(zones.split())
                for group in kinds.split():
                    family, _, sizes = group.partition(":")
                    table.update({f"{family}.{size}": there for size in sizes.split(",")})
            self._offered[region] = table
        return self._offered[region].get(machine, frozenset())

    def stock(self, region: str, zone: str, machine: str) -> int | None:
        """Free machines beside reservations; None when they never run out."""
        table = self.account["stock"].get(region, {})
        row = table.get(machine) or table.get(machine.partition(".")[0])
        if row is not None:
            return int(row.get(zone, 0))
        if "accelerator" in self.machines.get(machine, {}):
            return int(self.account["stock"]["default"])
        return None

    def quota(self, machine: str, market: str) -> tuple[str, int]:
        """(name of the quota's bucket, vCPUs) for a machine; market is on-demand or spot."""
        family = machine.partition(".")[0]
        buckets = self.account["quotas"]["vcpu"][market]
        best = ("standard", 0, -1)
        for name, row in buckets.items():
            for prefix in row["families"]:
                if family.startswith(prefix) and len(prefix) > best[2]:
                    best = (name, int(row["vcpu"]), len(prefix))
        return best[0], best[1]

    def seconds(self, what: str) -> float:
        """Simulated seconds of an operation."""
        table = self.account["durations"]
        return float(table.get(what, table["default"]))
