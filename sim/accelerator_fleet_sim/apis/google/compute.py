"""Compute Engine: networks, subnetworks, routers with their NATs, firewalls, addresses, policies, reservations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...daemon.store import Operation, Resource
from ...google.errors import GoogleError
from ...google.scope import (
    ADDRESS,
    COMPUTE,
    CONNECTION,
    FIREWALL,
    NAT,
    NETWORK,
    NODE_POOL,
    POLICY,
    RESERVATION,
    ROUTER,
    SUBNETWORK,
    Scope,
)
from ...google.services.capacity import reserved_nodes
from .routes import Call, filtered, label, number, page, serves, when
from .shapes import Item, Names, picked, shaped

# properties that only the provider has, or that are said elsewhere
ASIDE = {"project", "deletionPolicy", "selfLink", "creationTimestamp", "labels", "pulumiLabels", "effectiveLabels",
         "numericId", "params"}  # fmt: skip
NAMES: Names = {
    ("compute", "Network"): {"gatewayIpv4": "gatewayIPv4"},
    ("compute", "Firewall"): {"allows": "allowed", "denies": "denied"},
    ("compute", "Firewall.allowed"): {"protocol": "IPProtocol"},
    ("compute", "Firewall.denied"): {"protocol": "IPProtocol"},
    ("compute", "RouterNatSubnetworkToNat"): {"sourceIpRangesToNats": "sourceIpRangesToNat"},
}
LISTING = ("filter", "maxResults", "pageToken", "returnPartialSuccess")


def base(resource: Resource, kind: str) -> Item:
    """What every resource of Compute Engine has."""
    out = resource.outputs
    return {
        "kind": f"compute#{kind}", "id": str(out.get("numericId") or number(resource.id)), "name": out["name"],
        "selfLink": out.get("selfLink") or COMPUTE + resource.id,
        "creationTimestamp": out.get("creationTimestamp") or when(resource.created, compute=True),
        "description": out.get("description") or None,
    }  # fmt: skip


def region_link(scope: Scope, name: str) -> str:
    """A region as Compute Engine links it."""
    return f"{COMPUTE}projects/{scope.project}/regions/{name}"


def mapped(resource: Resource, schema: str, *aside: str) -> Item:
    """The properties that differ from the API's by their names at most."""
    made: Item = shaped("compute", f"#{schema}", picked(resource.outputs, {*ASIDE, "description", *aside}), NAMES)
    return made


# -- one of each -----------------------------------------------------------------------------------------------------
def network(scope: Scope, resource: Resource) -> Item:
    """A network, with its subnetworks and the peering to Google's services."""
    out = resource.outputs
    bgp = {"bgpAlwaysCompareMed": "bgpAlwaysCompareMed", "bgpInterRegionCost": "bgpInterRegionCost",
           "bgpBestPathSelectionMode": "bgpBestPathSelectionMode"}  # fmt: skip
    routing = {"routingMode": out.get("routingMode") or "REGIONAL"} | {a: out[o] for o, a in bgp.items() if out.get(o)}
    made = mapped(resource, "Network", "networkId", "routingMode", *bgp, "deleteDefaultRoutesOnCreate",
                  "deleteBgpAlwaysCompareMed")  # fmt: skip
    subnets = [s.outputs["selfLink"] for s in scope.all(SUBNETWORK, network=out["selfLink"])]
    peered = any(c.id.startswith(f"{resource.id}:") for c in scope.all(CONNECTION))
    peering = {"name": "servicenetworking-googleapis-com", "state": "ACTIVE", "autoCreateRoutes": True,
               "exchangeSubnetRoutes": True}  # fmt: skip
    return {
        **made, **base(resource, "network"), "routingConfig": routing, "subnetworks": subnets or None,
        "selfLinkWithId": f"{COMPUTE}projects/{scope.project}/global/networks/{out.get('numericId')}",
        "peerings": [peering] if peered else None,
    }  # fmt: skip


def subnetwork(scope: Scope, resource: Resource) -> Item:
    """A subnetwork."""
    out = resource.outputs
    made = mapped(resource, "Subnetwork", "subnetworkId", "region", "sendSecondaryIpRangeIfEmpty")
    return {**made, **base(resource, "subnetwork"), "region": region_link(scope, out["region"]),
            "id": number(resource.id)}  # fmt: skip


def router(scope: Scope, resource: Resource) -> Item:
    """A router with its NATs, which are no resources of their own in the API."""
    out = resource.outputs
    nats = scope.all(NAT, router=out["name"], region=out["region"])
    made = mapped(resource, "Router", "region")
    return {**made, **base(resource, "router"), "region": region_link(scope, out["region"]),
            "nats": [nat(n) for n in nats] or None}  # fmt: skip


def nat(resource: Resource) -> Item:
    """A NAT inside its router."""
    out = resource.outputs
    inner = picked(out, {*ASIDE, "region", "router", "initialNatIps"})
    if isinstance(out.get("logConfig"), dict):
        inner["logConfig"] = {"enable": out["logConfig"].get("enable"), "filter": out["logConfig"].get("filter")}
    made: Item = shaped("compute", "#RouterNat", inner, NAMES)
    return made


def firewall(scope: Scope, resource: Resource) -> Item:
    """A firewall rule."""
    out = resource.outputs
    made = mapped(resource, "Firewall", "enableLogging", "logConfig")
    log = out.get("logConfig")
    logs = {"enable": True, "metadata": log.get("metadata")} if log else {"enable": False}
    return {**made, **base(resource, "firewall"), "logConfig": logs, "disabled": bool(out.get("disabled"))}


def address(scope: Scope, resource: Resource) -> Item:
    """A global address."""
    out = resource.outputs
    made = mapped(resource, "Address")
    used = any(out["name"] in [str(n).rpartition("/")[2] for n in c.outputs.get("reservedPeeringRanges") or []]
               for c in scope.all(CONNECTION))  # fmt: skip
    return {
        **made, **base(resource, "address"), "labels": label(resource) or None, "networkTier": "PREMIUM",
        "addressType": out.get("addressType") or "EXTERNAL", "status": "IN_USE" if used else "RESERVED",
        "prefixLength": int(out.get("prefixLength") or 0) or None,
    }  # fmt: skip


def policy(scope: Scope, resource: Resource) -> Item:
    """A resource policy."""
    made = mapped(resource, "ResourcePolicy", "region")
    return {**made, **base(resource, "resourcePolicy"), "region": region_link(scope, resource.outputs["region"]),
            "status": "READY"}  # fmt: skip


def reservation(scope: Scope, resource: Resource) -> Item:
    """A reservation of a program."""
    out = resource.outputs
    made = mapped(resource, "Reservation", "zone", "kind", "blockNames", "resourceStatuses")
    made["specificReservation"]["inUseCount"] = str(reserved_nodes(scope, out["name"], out["zone"]))
    return {**made, **base(resource, "reservation"), "zone": _zone_link(scope, out["zone"])}


def _zone_link(scope: Scope, zone: str) -> str:
    return f"{COMPUTE}projects/{scope.project}/zones/{zone}"


def account_reservation(scope: Scope, row: dict[str, Any]) -> Item:
    """A reservation that was there before any program."""
    path = f"projects/{scope.project}/zones/{row['zone']}/reservations/{row['name']}"
    return {
        "kind": "compute#reservation", "id": number(path), "name": row["name"], "selfLink": COMPUTE + path,
        "zone": _zone_link(scope, row["zone"]), "status": "READY", "specificReservationRequired": True,
        "specificReservation": {
            "count": str(row["count"]), "inUseCount": str(reserved_nodes(scope, row["name"], row["zone"])),
            "instanceProperties": {"machineType": row["machine"]},
        },
    }  # fmt: skip


# -- listing ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Kind:
    """One collection: where it lies (global, regions, zones), its type, and how one looks."""

    plural: str
    schema: str
    place: str
    token: str
    item: Callable[[Scope, Resource], Item]
    aggregated: bool = True

    def items(self, scope: Scope, where: str = "") -> list[tuple[str, Item]]:
        """(place, item) of all, or of one region or zone."""
        key = {"regions": "region", "zones": "zone"}.get(self.place)
        found = [(r.outputs[key] if key else "", self.item(scope, r)) for r in scope.all(self.token)]
        if self.token == RESERVATION:
            found += [
                (r["zone"], account_reservation(scope, r))
                for r in scope.catalog.account["reservations"]
                if r.get("project", scope.project) == scope.project
            ]
        return [(p, i) for p, i in found if not where or p == where]


KINDS = (
    Kind("networks", "Network", "global", NETWORK, network, aggregated=False),
    Kind("subnetworks", "Subnetwork", "regions", SUBNETWORK, subnetwork),
    Kind("routers", "Router", "regions", ROUTER, router),
    Kind("firewalls", "Firewall", "global", FIREWALL, firewall, aggregated=False),
    Kind("addresses", "Address", "global", ADDRESS, address),
    Kind("resourcePolicies", "ResourcePolicy", "regions", POLICY, policy),
    Kind("reservations", "Reservation", "zones", RESERVATION, reservation),
)


def check_place(call: Call) -> str:
    """The region or zone of the path; "" for global ones."""
    region, zone = call.words.get("region"), call.words.get("zone")
    if region and not call.scope.catalog.zones(region):
        raise GoogleError(400, "invalid", f"Invalid value for field 'region': '{region}'. Unknown region.")
    if zone and not call.scope.catalog.is_zone(zone):
        raise GoogleError(400, "invalid", f"Invalid value for field 'zone': '{zone}'. Unknown zone.")
    return region or zone or ""


def _path(kind: Kind) -> str:
    middle = {"global": "global", "regions": "regions/{region}", "zones": "zones/{zone}"}[kind.place]
    return f"projects/{{project}}/{middle}/{kind.plural}"


def _id(call: Call, kind: Kind) -> str:
    return f"{_path(kind)}/{{name}}".format(**call.words)


def lists(kind: Kind) -> Callable[[Call], Item]:
    """The handler of a list."""

    def handler(call: Call) -> Item:
        items = filtered(call, [i for _, i in kind.items(call.scope, check_place(call))], kind.schema)
        found, more = page(call, sorted(items, key=lambda i: str(i["name"])), "maxResults", 500)
        path = _path(kind).format(**call.words)
        answer = {"kind": f"compute#{kind.schema[0].lower()}{kind.schema[1:]}List", "id": path,
                  "selfLink": COMPUTE + path, **more}  # fmt: skip
        return answer | ({"items": found} if found else {})

    return handler


def gets(kind: Kind) -> Callable[[Call], Item]:
    """The handler of a get."""

    def handler(call: Call) -> Item:
        where, name = check_place(call), call.words["name"]
        for _, item in kind.items(call.scope, where):
            if name in (item["name"], item["id"]):
                return item
        raise GoogleError(404, "notFound", f"The resource '{_id(call, kind)}' was not found")

    return handler


def aggregates(kind: Kind) -> Callable[[Call], Item]:
    """The handler of an aggregated list: every region or zone is there, the empty ones with a warning."""

    def handler(call: Call) -> Item:
        scope = call.scope
        there = {"regions": scope.catalog.regions(), "zones": scope.catalog.all_zones(), "global": [""]}[kind.place]
        places: dict[str, list[Item]] = {f"{kind.place}/{p}" if p else "global": [] for p in there}
        rows = kind.items(scope)
        wanted = filtered(call, [i for _, i in rows], kind.schema)
        found, more = page(call, [(p, i) for p, i in rows if i in wanted], "maxResults", 500)
        for place, item in found:
            places[f"{kind.place}/{place}" if place else "global"].append(item)
        items = {p: {kind.plural: v} if v else {"warning": _nothing(p)} for p, v in places.items()}
        name = f"compute#{kind.schema[0].lower()}{kind.schema[1:]}AggregatedList"
        path = f"projects/{scope.project}/aggregated/{kind.plural}"
        return {"kind": name, "id": path, "selfLink": COMPUTE + path, "items": items, **more}

    return handler


def _nothing(place: str) -> Item:
    return {"code": "NO_RESULTS_ON_PAGE", "message": f"There are no results for scope '{place}' on this page.",
            "data": [{"key": "scope", "value": place}]}  # fmt: skip


# -- deleting --------------------------------------------------------------------------------------------------------
def operation(call: Call, made: Operation | None, target: str, name: str = "") -> Item:
    """An operation as Compute Engine shows it; one that ended at once is done."""
    where = check_place(call)
    place = f"regions/{where}" if call.words.get("region") else f"zones/{where}" if where else "global"
    name = made.id if made else name or f"operation-{number(target)}"
    failed = made is not None and made.status == "failed"
    errors = [{"code": (made.error or {}).get("code", ""), "message": (made.error or {}).get("message", "")}] if (
        made is not None and failed) else []  # fmt: skip
    path = f"projects/{call.scope.project}/{place}/operations/{name}"
    running = made is not None and made.status == "running"
    return {
        "kind": "compute#operation", "id": number(name), "name": name, "operationType": "delete",
        "targetLink": COMPUTE + target, "selfLink": COMPUTE + path, "progress": 0 if running else 100,
        "status": "RUNNING" if running else "DONE", "user": call.scope.catalog.account["user"]["email"],
        "insertTime": when(made.started if made else call.world.clock.now(), compute=True),
        "error": {"errors": errors} if errors else None,
        "region": region_link(call.scope, where) if call.words.get("region") else None,
        "zone": _zone_link(call.scope, where) if call.words.get("zone") else None,
    }  # fmt: skip


def deletes(kind: Kind) -> Callable[[Call], Item]:
    """The handler of a delete."""

    def handler(call: Call) -> Item:
        check_place(call)
        found = call.scope.find(kind.token, _id(call, kind))
        if found is None:
            raise GoogleError(404, "notFound", f"The resource '{_id(call, kind)}' was not found")
        return operation(call, call.delete(found), found.id)

    return handler


def _operation(call: Call) -> Item:
    made = call.scope.store.operation(call.words["name"])
    if made is None or made.account != call.scope.project:
        raise GoogleError(404, "notFound", f"The resource 'operations/{call.words['name']}' was not found")
    return operation(call, made, made.resource)


def _patch_router(call: Call) -> Item:
    """NATs are taken away by writing the router without them; nothing else is written here."""
    kind = KINDS[2]
    check_place(call)
    found = call.scope.find(ROUTER, _id(call, kind))
    if found is None:
        raise GoogleError(404, "notFound", f"The resource '{_id(call, kind)}' was not found")
    nats = {n.outputs["name"]: n for n in call.scope.all(NAT, router=found.outputs["name"],
                                                         region=found.outputs["region"])}  # fmt: skip
    kept = {str(n.get("name")) for n in call.body.get("nats", [])} if isinstance(call.body, dict) else set()
    if set(call.body) != {"nats"} or not kept <= set(nats):
        raise GoogleError(501, "notServed", "the embedded datacentre serves a router's PATCH for taking NATs away only")
    last: Operation | None = None
    for name in sorted(set(nats) - kept):
        last = call.delete(nats[name])
    return operation(call, last, found.id)


def _group(call: Call) -> Item:
    """The managed instance group of a node pool in one zone: how many machines it has."""
    zone, name = check_place(call), call.words["name"]
    for pool in call.scope.all(NODE_POOL):
        for link in pool.outputs.get("managedInstanceGroupUrls") or []:
            if link.endswith(f"/zones/{zone}/instanceGroupManagers/{name}"):
                size = sum(1 for n in pool.hidden.get("nodes") or [] if n["zone"] == zone)
                return {"kind": "compute#instanceGroupManager", "id": number(link), "name": name, "selfLink": link,
                        "zone": _zone_link(call.scope, zone), "targetSize": size, "baseInstanceName":
                        name.removesuffix("-grp"), "status": {"isStable": pool.state == "active"},
                        "creationTimestamp": when(pool.created, compute=True)}  # fmt: skip
    path = f"projects/{call.scope.project}/zones/{zone}/instanceGroupManagers/{name}"
    raise GoogleError(404, "notFound", f"The resource '{path}' was not found")


def _enter() -> None:
    for kind in KINDS:
        serves("compute", "GET", _path(kind), f"{kind.schema}List", *LISTING)(lists(kind))
        serves("compute", "GET", f"{_path(kind)}/{{name}}", kind.schema)(gets(kind))
        serves("compute", "DELETE", f"{_path(kind)}/{{name}}", "Operation", "requestId")(deletes(kind))
        if kind.aggregated:
            path = f"projects/{{project}}/aggregated/{kind.plural}"
            serves("compute", "GET", path, f"{kind.schema}AggregatedList", *LISTING)(aggregates(kind))
    for place in ("global", "regions/{region}", "zones/{zone}"):
        serves("compute", "GET", f"projects/{{project}}/{place}/operations/{{name}}", "Operation")(_operation)
    serves("compute", "PATCH", f"{_path(KINDS[2])}/{{name}}", "Operation", "requestId")(_patch_router)
    groups = "projects/{project}/zones/{zone}/instanceGroupManagers/{name}"
    serves("compute", "GET", groups, "InstanceGroupManager")(_group)


_enter()
