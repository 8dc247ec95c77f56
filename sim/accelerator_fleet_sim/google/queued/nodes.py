"""Nodes of a queued resource: made and taken away with it, changed by UpdateNode; their addresses and their stock."""

from __future__ import annotations

import ipaddress
from typing import Any

from ...daemon.store import Resource
from ..scope import CLOUD, NODE_POOL, Scope
from ..services.capacity import reserved_nodes
from .checks import NODE, QUEUED, RESERVED
from .slices import TpuError, rules

PORT = 8470


def of(scope: Scope, queued: Resource) -> list[Resource]:
    """The nodes of a queued resource that are there."""
    return scope.all(NODE, queuedResource=queued.id)


def short(scope: Scope, queued: Resource) -> str | None:
    """Why the zone cannot give the machines now; None when it can."""
    zone, machine = queued.outputs["zone"], queued.hidden["machine"]
    wanted = int(queued.hidden["hosts"]) * len(queued.hidden["nodes"])
    others = [r for r in scope.all(QUEUED, zone=zone)
              if r.id != queued.id and r.hidden["machine"] == machine and r.hidden.get("holds")]  # fmt: skip
    name = queued.outputs.get("reservationName")
    held = sum(int(r.hidden["holds"]) for r in others if r.outputs.get("reservationName") == name)
    if name:
        from ..services.capacity import reservation

        match = RESERVED.fullmatch(name)
        assert match is not None
        there = reservation(scope, match[3], zone) or {"count": 0}
        used = held + reserved_nodes(scope, match[3], zone)
        return f"reservation {match[3]} has no room" if used + wanted > there["count"] else None
    stock = scope.catalog.stock(zone, machine)
    pools = [n for pool in scope.all(NODE_POOL) for n in pool.hidden.get("nodes") or []]
    used = held + sum(1 for n in pools if (n["zone"], n["machine"]) == (zone, machine) and not n.get("reservation"))
    return f"no {machine} to give in {zone}" if stock is not None and used + wanted > stock else None


def taken(scope: Scope, zone: str, machine: str) -> int:
    """Machines of a zone that nodes of queued resources have, beside reservations."""
    found = scope.all(QUEUED, zone=zone)
    return sum(int(r.hidden.get("holds") or 0) for r in found
               if r.hidden["machine"] == machine and not r.outputs.get("reservationName"))  # fmt: skip


def _addresses(scope: Scope, node: dict[str, Any], zone: str, number: int) -> list[str]:
    """Free addresses, from the range's end: pools take theirs from its beginning."""
    config = node.get("networkConfig") or {}
    subnet = scope.subnetwork(config.get("subnetwork") or "default", zone.rpartition("-")[0])
    network = ipaddress.IPv4Network(subnet.outputs["ipCidrRange"] if subnet else "10.128.0.0/20")
    used = {e["ipAddress"] for r in scope.all(NODE) for e in r.outputs.get("networkEndpoints") or []}
    free = (str(network[-i]) for i in range(3, network.num_addresses - 2) if str(network[-i]) not in used)
    return [a for a, _ in zip(free, range(number), strict=False)]


def make(scope: Scope, queued: Resource) -> None:
    """All nodes of the request, in creation."""
    zone, spec = queued.outputs["zone"], queued.outputs["tpu"]["nodeSpec"][0]
    each = int(queued.hidden["hosts"])
    generation = rules()["generations"][queued.hidden["generation"]]
    for name in queued.hidden["nodes"]:
        node = dict(spec["node"])
        external = (node.get("networkConfig") or {}).get("enableExternalIps")
        ends: list[dict[str, Any]] = [{"ipAddress": a, "port": PORT} for a in _addresses(scope, node, zone, each)]
        for i, end in enumerate(ends):
            end["accessConfig"] = {"externalIp": f"203.0.113.{i % 250 + 1}"} if external else {}
        node |= {
            "name": f"{spec['parent']}/nodes/{name}", "state": "CREATING", "acceleratorType": queued.hidden["type"],
            "acceleratorConfig": {"type": generation["config"], "topology": queued.hidden["topology"]},
            "networkEndpoints": ends, "createTime": scope.zulu(), "id": scope.number(), "apiVersion": "V2",
            "queuedResource": queued.id, "multisliceNode": len(queued.hidden["nodes"]) > 1, "zone": zone,
        }  # fmt: skip
        if "spot" in queued.outputs:
            node["schedulingConfig"] = {"spot": True}
        made = Resource(CLOUD, scope.project, "", NODE, node["name"], owner=f"queuedresource:{queued.id}",
                        state="creating", outputs=node, created=scope.world.clock.now())  # fmt: skip
        scope.store.put(made)
    queued.hidden["holds"] = each * len(queued.hidden["nodes"])


def ready(scope: Scope, queued: Resource) -> None:
    """The nodes run."""
    for node in of(scope, queued):
        node.state = "active"
        node.outputs |= {"state": "READY", "health": "HEALTHY"}
        scope.store.put(node)


def marked(scope: Scope, queued: Resource, state: str) -> None:
    """Show a state on every node."""
    for node in of(scope, queued):
        node.outputs["state"] = state
        node.outputs.pop("health", None)
        scope.store.put(node)


def remove(scope: Scope, queued: Resource) -> None:
    """Take all nodes away; their machines are free again."""
    for node in of(scope, queued):
        scope.store.remove(node)
    queued.hidden["holds"] = 0


def change(scope: Scope, node: Resource, paths: list[str], news: dict[str, Any]) -> None:
    """Carry out UpdateNode: fields of the mask become what the request has, or empty."""
    for path in paths:
        target, value = node.outputs, news
        head, _, rest = path.partition(".")
        if rest:
            target = node.outputs.setdefault("networkConfig", {})
            value, head = news.get("networkConfig") or {}, "enableExternalIps"
        if head in value:
            target[head] = value[head]
        else:
            target.pop(head, None)
        if rest:
            for i, end in enumerate(node.outputs.get("networkEndpoints") or []):
                end["accessConfig"] = {"externalIp": f"203.0.113.{i % 250 + 1}"} if target.get(head) else {}
    scope.store.put(node)


def editable(node: Resource | None, name: str) -> Resource:
    """A node that runs; TpuError for all others."""
    if node is None:
        raise TpuError("NOT_FOUND", f"Resource '{name}' was not found")
    if node.outputs["state"] != "READY":
        raise TpuError("FAILED_PRECONDITION", f"Node '{name}' is in state {node.outputs['state']}, not READY")
    return node
