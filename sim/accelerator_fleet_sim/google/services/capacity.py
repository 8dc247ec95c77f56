"""Resource policies and reservations."""

from __future__ import annotations

from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import GoogleError, invalid
from ..scope import NODE_POOL, POLICY, RESERVATION, Scope


def reservation(scope: Scope, name: str, zone: str) -> dict[str, Any] | None:
    """machine and count of a reservation of this project: a program's, or one that was there before."""
    short = name.rpartition("/")[2]
    found = scope.find(RESERVATION, f"projects/{scope.project}/zones/{zone}/reservations/{short}")
    if found is not None:
        specific = found.outputs.get("specificReservation") or {}
        machine = (specific.get("instanceProperties") or {}).get("machineType")
        return {"name": short, "machine": machine, "count": int(specific.get("count") or 0)}
    for row in scope.catalog.account["reservations"]:
        if row["name"] == short and row["zone"] == zone:
            return dict(row)
    return None


def reserved_nodes(scope: Scope, name: str, zone: str) -> int:
    """Machines of a reservation in use by node pools."""
    nodes = [n for pool in scope.all(NODE_POOL) for n in pool.hidden.get("nodes") or []]
    return sum(1 for n in nodes if n.get("reservation") == name and n["zone"] == zone)


class ResourcePolicy(Behaviour):
    """A resource policy; placement policies are what pools use."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        placement = inputs.get("groupPlacementPolicy") or {}
        distance = placement.get("maxDistance")
        if distance is not None and not 1 <= int(distance) <= 3:
            raise invalid("groupPlacementPolicy.maxDistance", distance, "Must be between 1 and 3.")


class Reservation(Behaviour):
    """A reservation of machines in a zone; it takes from the zone's stock."""

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        specific = inputs.get("specificReservation") or {}
        machine = (specific.get("instanceProperties") or {}).get("machineType")
        count = int(specific.get("count") or 0)
        if not machine:
            raise invalid("specificReservation.instanceProperties.machineType", "", "It is required here: reservations "
                          "from instance templates are not simulated.")  # fmt: skip
        if not scope.catalog.offers(inputs["zone"], machine):
            raise invalid("specificReservation.instanceProperties.machineType", machine,
                          f"Machine type {machine} is not available in zone {inputs['zone']}.")  # fmt: skip
        stock = scope.catalog.stock(inputs["zone"], machine)
        taken = sum(
            int((r.outputs.get("specificReservation") or {}).get("count") or 0)
            for r in scope.all(RESERVATION, zone=inputs["zone"])
            if (old is None or r.id != old.id)
            and ((r.outputs.get("specificReservation") or {}).get("instanceProperties") or {}).get("machineType")
            == machine
        )
        if stock is not None and count + taken > stock:
            path = f"projects/{scope.project}/zones/{inputs['zone']}"
            raise GoogleError(503, "ZONE_RESOURCE_POOL_EXHAUSTED", f"The zone '{path}' does not have enough resources "
                              "available to fulfill the request.  '(resource type:compute)'.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        specific = dict(out.get("specificReservation") or {})
        specific["inUseCount"] = 0
        out |= {"specificReservation": specific, "status": "READY", "kind": "compute#reservation",
                "shareSettings": out.get("shareSettings") or {"shareType": "LOCAL"}, "commitment": ""}  # fmt: skip

    def validate_delete(self, scope: Scope, resource: Resource, state: dict[str, Any]) -> None:
        if reserved_nodes(scope, resource.outputs["name"], resource.outputs["zone"]):
            raise GoogleError(400, "resourceInUseByAnotherResource", f"The reservation '{resource.id}' has VMs that "
                              "consume it specifically")  # fmt: skip


__all__ = ["POLICY", "Reservation", "ResourcePolicy", "reservation", "reserved_nodes"]
