"""Filestore and managed Lustre: sizes that are sold, where they stand, and the addresses they get."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

from ...core.suppress import last, link_path
from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import GoogleError, Unhealthy
from ..scope import FILESTORE, LUSTRE, Scope
from .network import peered

# tier -> (least, most, step in GiB, zonal). Source: https://cloud.google.com/filestore/docs/service-tiers, from memory.
TIERS: dict[str, list[tuple[int, int, int]]] = {
    "STANDARD": [(1024, 65434, 1)],
    "BASIC_HDD": [(1024, 65434, 1)],
    "PREMIUM": [(2560, 65434, 1)],
    "BASIC_SSD": [(2560, 65434, 1)],
    "HIGH_SCALE_SSD": [(10240, 102400, 2560)],
    "ZONAL": [(1024, 9984, 256), (10240, 102400, 2560)],
    "REGIONAL": [(1024, 9984, 256), (10240, 102400, 2560)],
    "ENTERPRISE": [(1024, 10240, 256)],
}
REGIONAL = ("REGIONAL", "ENTERPRISE")
# MB/s per TiB -> (least, most, step in GiB). Source: https://cloud.google.com/managed-lustre/docs/create-instance, from
# memory.
LUSTRE_SIZES = {1000: (9000, 954000, 9000), 500: (18000, 1908000, 18000), 250: (36000, 3816000, 36000),
                125: (72000, 7632000, 72000)}  # fmt: skip


def refuse(message: str) -> GoogleError:
    """The refusal of Filestore and Lustre."""
    return GoogleError(400, "badRequest", message)


class Filestore(Behaviour):
    """A Filestore instance."""

    def located(self, scope: Scope, inputs: dict[str, Any]) -> dict[str, Any]:
        made = super().located(scope, inputs)
        made["location"] = made.get("location") or made.get("zone") or scope.settings.get("zone")
        if not made["location"]:
            raise GoogleError(400, "", "Cannot determine location: set location in this resource, or set "
                              "provider-level zone.")  # fmt: skip
        return made

    def exists(self, identity: str) -> GoogleError:
        return GoogleError(409, "alreadyExists", f"Resource '{identity}' already exists")

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        tier, location = inputs["tier"], inputs["location"]
        if tier not in TIERS:
            raise refuse(f"Invalid value for field tier: {tier}. It is one of {', '.join(TIERS)}.")
        regional = tier in REGIONAL
        if regional and not scope.catalog.zones(location):
            raise refuse(f"Tier {tier} needs a region as its location, not '{location}'.")
        if not regional and not scope.catalog.is_zone(location):
            raise refuse(f"Tier {tier} needs a zone as its location, not '{location}'.")
        share = inputs["fileShares"]
        size = int(share["capacityGb"])
        if not any(low <= size <= high and (size - low) % step == 0 for low, high, step in TIERS[tier]):
            words = " or ".join(f"{low} to {high} GiB in steps of {step}" for low, high, step in TIERS[tier])
            raise refuse(f"Invalid capacity {size} GiB for tier {tier}: it must be {words}.")
        if not re.fullmatch(r"[a-z]([a-z0-9_]{0,14}[a-z0-9])?", str(share["name"])):
            raise refuse(
                f"Invalid file share name '{share['name']}': 1 to 16 lowercase letters, digits or underscores."
            )
        if inputs.get("protocol") == "NFS_V4_1" and tier in ("STANDARD", "BASIC_HDD", "PREMIUM", "BASIC_SSD"):
            raise refuse(f"Protocol NFS_V4_1 is not supported by tier {tier}.")
        self._check_network(scope, inputs)
        if old is not None and size < int(old.outputs["fileShares"]["capacityGb"]) and tier in (
            "STANDARD", "BASIC_HDD", "PREMIUM", "BASIC_SSD"
        ):  # fmt: skip
            raise refuse(f"Capacity of a {tier} instance cannot be reduced.")

    @staticmethod
    def _check_network(scope: Scope, inputs: dict[str, Any]) -> None:
        for row in inputs["networks"]:
            network = scope.network(row["network"])
            if network is None:
                raise refuse(f"network '{last(str(row['network']))}' does not exist.")
            if row.get("connectMode") == "PRIVATE_SERVICE_ACCESS" and peered(scope, network) is None:
                raise refuse(f"network '{network.outputs['name']}' has no private services access connection.")

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        number = len(scope.all(FILESTORE))
        out["location"] = self.located(scope, resource.inputs)["location"]
        rows = []
        for row in out["networks"]:
            network = scope.network(row["network"])
            assert network is not None
            given = row.get("reservedIpRange")
            inside = peered(scope, network) if row.get("connectMode") == "PRIVATE_SERVICE_ACCESS" else None
            block = given if given and "/" in str(given) else _block(inside, number)
            rows.append({**row, "network": last(str(row["network"])) if "/" not in str(row["network"])
                         else row["network"], "reservedIpRange": given or block,
                         "ipAddresses": [str(ipaddress.ip_network(block)[2])]})  # fmt: skip
        out |= {"networks": rows, "createTime": scope.zulu(), "etag": scope.fingerprint(),
                "zone": out["location"] if scope.catalog.is_zone(out["location"]) else ""}  # fmt: skip

    def validate_delete(self, scope: Scope, resource: Resource, state: dict[str, Any]) -> None:
        if resource.outputs.get("deletionProtectionEnabled"):
            raise refuse(f"Instance '{resource.id}' has deletion protection enabled.")


def _block(inside: ipaddress.IPv4Network | None, number: int) -> str:
    """A /29 for an instance, out of the peering range or of Google's own choice."""
    base = inside or ipaddress.IPv4Network("10.111.0.0/16")
    return str(ipaddress.IPv4Network((int(base[0]) + number * 8, 29)))


class Lustre(Behaviour):
    """A managed Lustre instance."""

    def exists(self, identity: str) -> GoogleError:
        return GoogleError(409, "alreadyExists", f"Resource '{identity}' already exists")

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        if not scope.catalog.is_zone(inputs["location"]):
            raise refuse(f"Location '{inputs['location']}' must be a zone.")
        if not re.fullmatch(r"[a-z][a-z0-9]{0,7}", str(inputs["filesystem"])):
            raise refuse(f"Invalid filesystem name '{inputs['filesystem']}': 1 to 8 lowercase letters or digits.")
        if inputs.get("dynamicTierOptions"):
            raise GoogleError(501, "notImplemented", "dynamic tiers are not simulated")
        rate = int(inputs.get("perUnitStorageThroughput") or 0)
        if rate not in LUSTRE_SIZES:
            raise refuse(f"Invalid per_unit_storage_throughput {rate}: one of {', '.join(map(str, LUSTRE_SIZES))}.")
        low, high, step = LUSTRE_SIZES[rate]
        size = int(inputs["capacityGib"])
        if not low <= size <= high or size % step:
            raise refuse(f"Invalid capacity_gib {size} with per_unit_storage_throughput {rate}: {low} to {high} in "
                         f"steps of {step}.")  # fmt: skip
        network = scope.network(inputs["network"])
        if network is None:
            raise refuse(f"network '{inputs['network']}' does not exist.")
        if old is None and peered(scope, network) is None:
            raise refuse(f"network '{network.outputs['name']}' has no private services access connection.")
        if old is not None and size < int(old.outputs["capacityGib"]):
            raise refuse("Capacity of a Lustre instance cannot be reduced.")

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        out |= {"name": resource.id, "createTime": scope.zulu(), "updateTime": scope.zulu(), "state": "CREATING"}

    def settle(self, scope: Scope, resource: Resource) -> None:
        network = scope.network(resource.outputs["network"])
        base = peered(scope, network) if network is not None else None
        if base is None:
            raise Unhealthy("FAILED_PRECONDITION", "the network's private services access connection is gone")
        others = [r for r in scope.all(LUSTRE) if r.id != resource.id]
        address = base[-(2 + 16 * (1 + len(others)))]
        resource.outputs |= {"mountPoint": f"{address}@tcp:/{resource.outputs['filesystem']}", "state": "ACTIVE",
                             "uid": scope.number()}  # fmt: skip


__all__ = ["Filestore", "Lustre", "link_path"]
