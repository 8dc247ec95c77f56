"""GKE: clusters and node pools of `container` v1, made of what the provider knows of them."""

from __future__ import annotations

from typing import Any

from ...core.suppress import last, link_path
from ...daemon.store import Operation, Resource
from ...google.errors import GoogleError
from ...google.scope import CLUSTER, NODE_POOL, Scope
from ...google.services.clusters import pools_of
from .routes import Call, label, number, serves, when
from .shapes import Item, Names, picked, shaped

ROOT = "https://container.googleapis.com/v1/"
# properties that only the provider has, or that are said elsewhere
CLUSTER_ASIDE = {
    "project", "deletionPolicy", "deletionProtection", "removeDefaultNodePool", "ignoreNodeCountChanges", "operation",
    "skipNodePoolRefresh", "allowNetAdmin", "pulumiLabels", "effectiveLabels", "resourceLabels", "nodePools",
    "selfLink", "minMasterVersion", "emulatedVersion", "networkingMode", "network", "subnetwork", "nodeLocations",
    "location",
    "maintenancePolicy", "defaultMaxPodsPerNode", "enableShieldedNodes", "enableLegacyAbac", "nodeVersion",
    "masterVersion", "loggingConfig", "monitoringConfig", "masterAuthorizedNetworksConfig", "ipAllocationPolicy",
}  # fmt: skip
NETWORKING = {
    "enableIntranodeVisibility": "enableIntraNodeVisibility", "datapathProvider": "datapathProvider",
    "enableL4IlbSubsetting": "enableL4ilbSubsetting", "enableMultiNetworking": "enableMultiNetworking",
    "enableFqdnNetworkPolicy": "enableFqdnNetworkPolicy", "defaultSnatStatus": "defaultSnatStatus",
    "enableCiliumClusterwideNetworkPolicy": "enableCiliumClusterwideNetworkPolicy", "dnsConfig": "dnsConfig",
    "disableL4LbFirewallReconciliation": "disableL4LbFirewallReconciliation", "gatewayApiConfig": "gatewayApiConfig",
    "privateIpv6GoogleAccess": "privateIpv6GoogleAccess", "serviceExternalIpsConfig": "serviceExternalIpsConfig",
    "inTransitEncryptionConfig": "inTransitEncryptionConfig",
}  # fmt: skip
POOL_ASIDE = {
    "project", "deletionPolicy", "ignoreNodeCountChanges", "operation", "cluster", "location", "namePrefix",
    "nodeCount", "nodeLocations", "nodeConfig", "maxPodsPerNode", "managedInstanceGroupUrls", "instanceGroupUrls",
    "autoscaling",
}  # fmt: skip
NAMES: Names = {
    ("container", "AddonsConfig"): {"cloudrunConfig": "cloudRunConfig", "rayOperatorConfigs": "rayOperatorConfig"},
    ("container", "PodCIDROverprovisionConfig"): {"disabled": "disable"},
    ("container", "NodeConfig"): {"guestAccelerators": "accelerators"},
    ("container", "AcceleratorConfig"): {"count": "acceleratorCount", "type": "acceleratorType"},
    ("container", "ReservationAffinity"): {"consumeReservationType": "consumeReservationType"},
    ("container", "NodePool"): {"nodeDrainConfigs": "nodeDrainConfig", "maintenancePolicies": "maintenancePolicy"},
}


def status(scope: Scope, resource: Resource) -> Item:
    """The status word, with GKE's message where something is wrong."""
    if resource.state == "creating":
        return {"status": "PROVISIONING"}
    if resource.state == "deleting":
        return {"status": "STOPPING"}
    if resource.state == "failed":
        return {"status": str(resource.hidden.get("status") or "ERROR"),
                "statusMessage": str(resource.hidden.get("status_message") or "") or None}  # fmt: skip
    busy = any(o.cloud == "gcp" and o.kind == "update" and (o.type, o.resource) == (resource.type, resource.id)
               for o in scope.store.running())  # fmt: skip
    return {"status": "RECONCILING" if busy else "RUNNING"}


# -- node pools ------------------------------------------------------------------------------------------------------
def node_config(config: Item) -> Item:
    """A pool's `config`."""
    inner = picked(config, {"loggingVariant", "effectiveTaints"})
    made: Item = shaped("container", "#NodeConfig", inner, NAMES)
    if config.get("loggingVariant"):
        made["loggingConfig"] = {"variantConfig": {"variant": config["loggingVariant"]}}
    return made


def node_pool(scope: Scope, resource: Resource) -> Item:
    """A node pool. Its size is that of its instance groups: the API has no count but the initial one."""
    out = resource.outputs
    inner = picked(out, POOL_ASIDE)
    if isinstance(inner.get("networkConfig"), dict):  # createPodRange is for creating only
        inner["networkConfig"] = picked(inner["networkConfig"], {"createPodRange"})
    made: Item = shaped("container", "#NodePool", inner, NAMES)
    if out.get("autoscaling"):
        made["autoscaling"] = {
            "enabled": True,
            **shaped("container", "#NodePoolAutoscaling", out["autoscaling"], NAMES),
        }
    most = int(out.get("maxPodsPerNode") or 110)
    return {
        **made, "name": out["name"], "locations": list(out.get("nodeLocations") or []),
        "config": node_config(out.get("nodeConfig") or {}), "selfLink": ROOT + resource.id,
        "instanceGroupUrls": list(out.get("managedInstanceGroupUrls") or []),
        "maxPodsConstraint": {"maxPodsPerNode": str(most)}, "podIpv4CidrSize": 32 - (2 * most - 1).bit_length(),
        **status(scope, resource),
    }  # fmt: skip


# -- clusters --------------------------------------------------------------------------------------------------------
def _window(policy: Item) -> Item:
    """Maintenance windows; exclusions are a map by name in the API."""
    window: Item = {}
    daily, recurring = policy.get("dailyMaintenanceWindow"), policy.get("recurringWindow")
    if daily:
        window["dailyMaintenanceWindow"] = {k: v for k, v in daily.items() if k in ("startTime", "duration")}
    if recurring:
        window["recurringWindow"] = {"recurrence": recurring["recurrence"], "window": {
            "startTime": recurring["startTime"], "endTime": recurring["endTime"]}}  # fmt: skip
    rows = policy.get("maintenanceExclusions") or []
    if rows:
        window["maintenanceExclusions"] = {r["exclusionName"]: _exclusion(r) for r in rows}
    return {"window": window}


def _exclusion(row: Item) -> Item:
    options = row.get("exclusionOptions") or {}
    found = {"startTime": row["startTime"], "endTime": row.get("endTime") or None}
    chosen = {"scope": options.get("scope") or None, "endTimeBehavior": options.get("endTimeBehavior") or None}
    return {**found, "maintenanceExclusionOptions": chosen if options else None}


def _networks(out: Item) -> Item:
    """`networkConfig` and what is said of networks beside it."""
    inner = {api: out[own] for own, api in NETWORKING.items() if out.get(own) not in (None, "", [], {})}
    made: Item = shaped("container", "#NetworkConfig", inner, NAMES)
    network, subnetwork = link_path(str(out.get("network") or "")), link_path(str(out.get("subnetwork") or ""))
    policy = out.get("ipAllocationPolicy") or {}
    addresses: Item = shaped("container", "#IPAllocationPolicy", policy, NAMES)
    for long, short in (("clusterIpv4CidrBlock", "clusterIpv4Cidr"), ("servicesIpv4CidrBlock", "servicesIpv4Cidr")):
        if long in addresses:
            addresses[short] = addresses[long]
    return {
        "network": last(network), "subnetwork": last(subnetwork) or None,
        "networkConfig": {**made, "network": network, "subnetwork": subnetwork or None},
        "ipAllocationPolicy": {"useIpAliases": out.get("networkingMode") != "ROUTES", **addresses},
    }  # fmt: skip


def _observed(out: Item) -> Item:
    """Logging, monitoring and who may reach the control plane: one level deeper in the API."""
    made: Item = {}
    for name in ("loggingConfig", "monitoringConfig"):
        config = out.get(name)
        if not config:
            continue
        known = {"enableComponents", "managedPrometheus"}
        if set(config) - known:
            raise GoogleError(501, "notServed", f"{name} with {', '.join(sorted(set(config) - known))} is not served")
        made[name] = {"componentConfig": {"enableComponents": list(config.get("enableComponents") or [])}}
        if config.get("managedPrometheus"):
            made[name]["managedPrometheusConfig"] = shaped(
                "container", "#ManagedPrometheusConfig", config["managedPrometheus"], NAMES
            )
    if out.get("masterAuthorizedNetworksConfig"):
        rows = shaped("container", "#MasterAuthorizedNetworksConfig", out["masterAuthorizedNetworksConfig"], NAMES)
        made["masterAuthorizedNetworksConfig"] = {"enabled": True, **rows}
    return made


def cluster(scope: Scope, resource: Resource) -> Item:
    """A cluster with its node pools."""
    out, location = resource.outputs, str(resource.outputs["location"])
    made: Item = shaped("container", "#Cluster", picked(out, CLUSTER_ASIDE | set(NETWORKING)), NAMES)
    pools = [node_pool(scope, p) for p in pools_of(scope, resource)]
    zones = list(out.get("nodeLocations") or [])
    if scope.catalog.is_zone(location) and location not in zones:
        zones.insert(0, location)  # the provider leaves a zonal cluster's own zone out
    nodes = sum(len(p.hidden.get("nodes") or []) for p in pools_of(scope, resource))
    return {
        **made, **_networks(out), **_observed(out), "name": out["name"], "location": location, "zone": location,
        "locations": sorted(zones), "id": number(resource.id), "selfLink": ROOT + resource.id, "nodePools": pools,
        "createTime": when(resource.created), "currentNodeCount": nodes, "resourceLabels": label(resource) or None,
        "currentMasterVersion": out.get("masterVersion"), "initialClusterVersion": out.get("masterVersion"),
        "currentNodeVersion": out.get("nodeVersion"),
        "shieldedNodes": {"enabled": bool(out.get("enableShieldedNodes"))},
        "legacyAbac": {"enabled": True} if out.get("enableLegacyAbac") else {},
        "defaultMaxPodsConstraint": {"maxPodsPerNode": str(out.get("defaultMaxPodsPerNode") or 110)},
        "maintenancePolicy": _window(out["maintenancePolicy"]) if out.get("maintenancePolicy") else None,
        **status(scope, resource),
    }  # fmt: skip


# -- calls -----------------------------------------------------------------------------------------------------------
PARENT = "v1/projects/{project}/locations/{location}"


def _location(call: Call) -> str:
    """The location of the path; "" for `-`, all of them."""
    location = call.words["location"]
    if location == "-":
        return ""
    if not call.scope.catalog.is_zone(location) and not call.scope.catalog.zones(location):
        raise GoogleError(400, "badRequest", f'Location "{location}" does not exist.')
    return location


def _cluster(call: Call) -> Resource:
    path = f"projects/{call.scope.project}/locations/{_location(call)}/clusters/{call.words['cluster']}"
    found = call.scope.find(CLUSTER, path)
    if found is None:
        raise GoogleError(404, "notFound", f"Not found: {path}.")
    return found


def _pool(call: Call) -> Resource:
    path = f"{_cluster(call).id}/nodePools/{call.words['pool']}"
    found = call.scope.find(NODE_POOL, path)
    if found is None:
        raise GoogleError(404, "notFound", f"Not found: {path}.")
    return found


@serves("container", "GET", f"{PARENT}/clusters", "ListClustersResponse")
def list_clusters(call: Call) -> Item:
    where = _location(call)
    found = [c for c in call.scope.all(CLUSTER) if not where or c.outputs["location"] == where]
    return {"clusters": [cluster(call.scope, c) for c in found]} if found else {}


@serves("container", "GET", f"{PARENT}/clusters/{{cluster}}", "Cluster")
def get_cluster(call: Call) -> Item:
    return cluster(call.scope, _cluster(call))


@serves("container", "GET", f"{PARENT}/clusters/{{cluster}}/nodePools", "ListNodePoolsResponse")
def list_node_pools(call: Call) -> Item:
    pools = pools_of(call.scope, _cluster(call))
    return {"nodePools": [node_pool(call.scope, p) for p in pools]} if pools else {}


@serves("container", "GET", f"{PARENT}/clusters/{{cluster}}/nodePools/{{pool}}", "NodePool")
def get_node_pool(call: Call) -> Item:
    return node_pool(call.scope, _pool(call))


@serves("container", "DELETE", f"{PARENT}/clusters/{{cluster}}", "Operation")
def delete_cluster(call: Call) -> Item:
    found = _cluster(call)
    return operation(call, _deleted(call, found), "DELETE_CLUSTER", found.id)


@serves("container", "DELETE", f"{PARENT}/clusters/{{cluster}}/nodePools/{{pool}}", "Operation")
def delete_node_pool(call: Call) -> Item:
    found = _pool(call)
    return operation(call, _deleted(call, found), "DELETE_NODE_POOL", found.id)


def _deleted(call: Call, resource: Resource) -> Operation | None:
    if resource.state == "creating":
        running = next((o.id for o in call.scope.store.running() if o.resource == resource.id), "an operation")
        raise GoogleError(400, "FAILED_PRECONDITION", f"Cluster is running incompatible operation {running}.")
    return call.delete(resource)


def operation(call: Call, made: Operation | None, kind: str, target: str) -> Item:
    """An operation as GKE shows it."""
    location = call.words["location"]
    name = made.id if made else f"operation-{number(target)}"
    running = made is not None and made.status == "running"
    failed: dict[str, Any] = (made.error or {}) if made is not None and made.status == "failed" else {}
    return {
        "name": name, "zone": location, "location": location, "operationType": kind, "targetLink": ROOT + target,
        "status": "RUNNING" if running else "DONE", "startTime": when(made.started if made else call.world.clock.now()),
        "selfLink": f"{ROOT}projects/{call.scope.project}/locations/{location}/operations/{name}",
        "error": {"code": 13, "message": str(failed.get("message", ""))} if failed else None,
    }  # fmt: skip


KINDS = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE"}


@serves("container", "GET", f"{PARENT}/operations/{{name}}", "Operation")
def get_operation(call: Call) -> Item:
    _location(call)
    made = call.scope.store.operation(call.words["name"])
    if made is None or made.account != call.scope.project or made.type not in (CLUSTER, NODE_POOL):
        raise GoogleError(404, "notFound", f"Not found: projects/{call.scope.project}/locations/"
                          f"{call.words['location']}/operations/{call.words['name']}.")  # fmt: skip
    noun = "CLUSTER" if made.type == CLUSTER else "NODE_POOL"
    return operation(call, made, f"{KINDS[made.kind]}_{noun}", made.resource)
