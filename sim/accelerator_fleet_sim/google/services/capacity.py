"""Resource policies and reservations."""

from __future__ import annotations

import re
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import GoogleError, invalid
from ..scope import CLOUD, NODE_POOL, POLICY, RESERVATION, Scope

NAMED = re.compile(
    r"(?:projects/(?P<project>[^/]+)/reservations/)?(?P<name>[^/]+)(?:/reservationBlocks/(?P<block>[^/]+))?"
)


def parts(scope: Scope, said: str) -> tuple[str, str, str | None]:
    """Owner, name and block that a value of a reservation affinity means."""
    found = NAMED.fullmatch(said)
    if found is None:
        return scope.project, said, None
    return found["project"] or scope.project, found["name"], found["block"]


def reservation(scope: Scope, name: str, zone: str) -> dict[str, Any] | None:
    """machine and count of a reservation, or of one of its blocks, that this project may use now; None: there is none.

    A program's, one that was there before, or another project's that is shared with this one. Of a calendar
    reservation there is nothing before its start and after its end. A block is found by its full name only.
    """
    project, short, block = parts(scope, name)
    if block is not None and not name.startswith("projects/"):
        return None
    row = _made(scope, project, short, zone) or _given(scope, project, short, zone)
    now = scope.world.clock.now()
    if row is None or not row.get("starts", now) <= now < row.get("ends", now + 1):
        return None
    if block is None:
        return row
    count = (row.get("blocks") or {}).get(block)
    return None if count is None else {**row, "count": int(count)}


def _made(scope: Scope, project: str, name: str, zone: str) -> dict[str, Any] | None:
    found = scope.store.get(CLOUD, project, "", RESERVATION, f"projects/{project}/zones/{zone}/reservations/{name}")
    if found is None or (project != scope.project and scope.project not in _shared_with(found)):
        return None
    specific = found.outputs.get("specificReservation") or {}
    machine = (specific.get("instanceProperties") or {}).get("machineType")
    times = {k: found.hidden[k] for k in ("starts", "ends", "blocks") if k in found.hidden}
    return {"name": name, "machine": machine, "count": int(specific.get("count") or 0), **times}


def _shared_with(found: Resource) -> set[str]:
    settings = found.outputs.get("shareSettings") or {}
    rows = settings.get("projectMaps") or []
    return (
        {str(r.get("id")) for r in rows} | {str(r.get("projectId")) for r in rows} | {*(settings.get("projects") or ())}
    )


def _given(scope: Scope, project: str, name: str, zone: str) -> dict[str, Any] | None:
    for row in scope.catalog.account["reservations"]:
        # A row without a project is one of every project's own; with one, it is shared with all of them, or with none.
        mine = project == scope.project if "project" not in row else project == row["project"] and row.get("shared")
        if row["name"] == name and row["zone"] == zone and mine:
            return dict(row)
    return None


def reserved_nodes(scope: Scope, name: str, zone: str) -> int:
    """Machines of a reservation, or of one of its blocks, in use by node pools of any project."""
    project, short, block = parts(scope, name)
    pools = scope.store.resources(cloud=CLOUD, region="", type=NODE_POOL)
    nodes = [(n, p.account) for p in pools for n in p.hidden.get("nodes") or [] if n.get("reservation") == short]
    return sum(
        1
        for n, account in nodes
        if n["zone"] == zone and n.get("owner", account) == project and block in (None, n.get("block"))
    )


def seed_calendar(scope: Scope, zone: str, row: dict[str, Any]) -> str:
    """A reservation that Google delivers: `starts` and `ends` (simulated seconds), `machine`, `count`, `blocks`."""
    name = str(row["name"])
    identity = f"projects/{scope.project}/zones/{zone}/reservations/{name}"
    made = Resource(CLOUD, scope.project, "", RESERVATION, identity, created=scope.world.clock.now(), owner="account")
    made.outputs = {
        "name": name, "zone": zone, "project": scope.project, "specificReservationRequired": True, "status": "READY",
        "specificReservation": {"count": row["count"], "instanceProperties": {"machineType": row["machine"]}},
        "shareSettings": {"shareType": "LOCAL", "projects": list(row.get("shared") or ())},
    }  # fmt: skip
    made.hidden = {k: row[k] for k in ("starts", "ends", "blocks") if k in row}
    made.state = "active"
    scope.store.put(made)
    return identity


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


__all__ = ["POLICY", "Reservation", "ResourcePolicy", "parts", "reservation", "reserved_nodes", "seed_calendar"]
