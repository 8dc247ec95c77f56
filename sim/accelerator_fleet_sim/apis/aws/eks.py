"""EKS: clusters, node groups, add-ons, access entries, pod identities."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from ...aws.errors import AwsError
from ...aws.scope import Scope
from ...aws.services.eks import ADDON, ASSOCIATION, CLUSTER, ENTRY
from ...aws.services.nodegroups import NODE_GROUP
from ...daemon.store import Resource
from .calls import Call, moment, page, served, tags_of
from .shaped import shaped
from .wire import model

Item = dict[str, Any]
PAGES = ("maxResults", "nextToken")
ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
# properties that are said elsewhere in the answer, or to the provider only
ASIDE = {"tags", "tagsAll", "region", "arn", "status", "createdAt", "modifiedAt", "resources", "health"}


def gone(message: str) -> AwsError:
    """EKS's answer for what does not exist."""
    return AwsError("ResourceNotFoundException", message, 404)


def cluster_of(call: Call, parameter: str = "clusterName") -> Resource:
    """The cluster that a call names."""
    found = call.scope.find(CLUSTER, call.params[parameter])
    if found is None:
        raise gone(f"No cluster found for name: {call.params[parameter]}.")
    return found


def status(scope: Scope, resource: Resource) -> str:
    """The status word: what the resource says, but for what is on its way."""
    if resource.state in ("creating", "deleting"):
        return resource.state.upper()
    own = resource.outputs.get("status") or ("ACTIVE" if resource.state == "active" else resource.state)
    if resource.state != "active" and own == "CREATING":  # it did not become what it was to be
        own = resource.state
    if own == "ACTIVE" and any(
        o.kind == "update"
        and (o.type, o.resource, o.request.get("region")) == (resource.type, resource.id, scope.region)
        for o in scope.store.running()
    ):
        return "UPDATING"
    return {"failed": "CREATE_FAILED"}.get(str(own), str(own))


def listed(call: Call, name: str, items: list[Any]) -> Item:
    """A page of a list."""
    size = call.params.get("maxResults")
    if size is not None and not 1 <= size <= 100:
        raise AwsError("InvalidParameterException", "maxResults must be between 1 and 100")
    found, after = page(items, size, call.params.get("nextToken"), 100, lambda t: AwsError(
        "InvalidParameterException", "Invalid token"))  # fmt: skip
    return {name: found, **({"nextToken": after} if after else {})}


def properties(resource: Resource, aside: set[str]) -> Item:
    """A resource's properties without those said elsewhere."""
    return {k: v for k, v in resource.outputs.items() if k not in aside}


# -- clusters --------------------------------------------------------------------------------------------------------
CLUSTER_NAMES = {"vpcConfig": "resourcesVpcConfig"}
CLUSTER_ASIDE = ASIDE | {"clusterId", "identities", "enabledClusterLogTypes", "bootstrapSelfManagedAddons",
                         "defaultAddonsToRemoves", "forceUpdateVersion"}  # fmt: skip
LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")


def cluster(scope: Scope, resource: Resource) -> Item:
    """A cluster as DescribeCluster shows it."""
    out, shape = resource.outputs, model("eks").shape_for("Cluster")
    on = out.get("enabledClusterLogTypes") or []
    issuers = [o["issuer"] for i in out.get("identities") or [] for o in i.get("oidcs") or []]
    logs = [{"types": t, "enabled": e} for e, t in ((True, on), (False, [k for k in LOGS if k not in on])) if t]
    made: Item = shaped(shape, properties(resource, CLUSTER_ASIDE), CLUSTER_NAMES)
    made |= {
        "arn": out["arn"], "status": status(scope, resource), "createdAt": moment(out["createdAt"]),
        "tags": tags_of(resource), "logging": {"clusterLogging": logs}, "health": {"issues": []},
        "certificateAuthority": out.get("certificateAuthority") or {},
    }  # fmt: skip
    made["resourcesVpcConfig"].setdefault("securityGroupIds", [])
    return made | ({"identity": {"oidc": {"issuer": issuers[0]}}} if issuers else {})


@served("eks", "ListClusters", "include", *PAGES)
def list_clusters(call: Call) -> Item:
    return listed(call, "clusters", [c.id for c in call.scope.all(CLUSTER)])


@served("eks", "DescribeCluster", "name")
def describe_cluster(call: Call) -> Item:
    return {"cluster": cluster(call.scope, cluster_of(call, "name"))}


@served("eks", "DeleteCluster", "name")
def delete_cluster(call: Call) -> Item:
    found = cluster_of(call, "name")
    if found.state == "creating":
        raise AwsError("ResourceInUseException", f"Cluster {found.id} is being created and cannot be deleted", 409)
    call.delete(found)
    return {"cluster": cluster(call.scope, call.scope.find(CLUSTER, found.id) or found)}


# -- node groups -----------------------------------------------------------------------------------------------------
GROUP_NAMES = {"nodeGroupName": "nodegroupName", "nodeRoleArn": "nodeRole", "subnetIds": "subnets",
               "sourceSecurityGroupIds": "sourceSecurityGroups"}  # fmt: skip
GROUP_ASIDE = ASIDE | {"nodeGroupNamePrefix", "forceUpdateVersion", "diskSize"}


def node_group(scope: Scope, resource: Resource) -> Item:
    """A node group as DescribeNodegroup shows it."""
    out = resource.outputs
    made: Item = shaped(model("eks").shape_for("Nodegroup"), properties(resource, GROUP_ASIDE), GROUP_NAMES)
    issues = [{**i, "resourceIds": [resource.hidden["asg"]]} for i in resource.hidden.get("issues") or []]
    machines = [{"name": g["name"]} for r in out.get("resources") or [] for g in r.get("autoscalingGroups") or []]
    return made | {
        "nodegroupArn": out["arn"], "status": status(scope, resource), "tags": tags_of(resource),
        "createdAt": moment(resource.created), "modifiedAt": moment(resource.created), "health": {"issues": issues},
        "resources": {"autoScalingGroups": machines} if machines else None,
        "diskSize": int(out.get("diskSize") or 0) or None,
    }  # fmt: skip


def _group(call: Call) -> Resource:
    owner, name = cluster_of(call), call.params["nodegroupName"]
    found = call.scope.find(NODE_GROUP, f"{owner.id}:{name}")
    if found is None:
        raise gone(f"No node group found for name: {name}.")
    return found


@served("eks", "ListNodegroups", "clusterName", *PAGES)
def list_node_groups(call: Call) -> Item:
    found = call.scope.all(NODE_GROUP, clusterName=cluster_of(call).id)
    return listed(call, "nodegroups", [g.outputs["nodeGroupName"] for g in found])


@served("eks", "DescribeNodegroup", "clusterName", "nodegroupName")
def describe_node_group(call: Call) -> Item:
    return {"nodegroup": node_group(call.scope, _group(call))}


@served("eks", "DeleteNodegroup", "clusterName", "nodegroupName")
def delete_node_group(call: Call) -> Item:
    found = _group(call)
    call.delete(found)
    return {"nodegroup": node_group(call.scope, call.scope.find(NODE_GROUP, found.id) or found)}


# -- add-ons ---------------------------------------------------------------------------------------------------------
ADDON_ASIDE = ASIDE | {"resolveConflictsOnCreate", "resolveConflictsOnUpdate", "preserve", "podIdentityAssociations"}


def addon(scope: Scope, resource: Resource) -> Item:
    """An add-on as DescribeAddon shows it."""
    out = resource.outputs
    made: Item = shaped(model("eks").shape_for("Addon"), properties(resource, ADDON_ASIDE), {})
    return made | {
        "addonArn": out["arn"], "status": status(scope, resource), "tags": tags_of(resource),
        "createdAt": moment(out["createdAt"]), "modifiedAt": moment(out["modifiedAt"]), "health": {"issues": []},
        "owner": "aws", "publisher": "eks",
    }  # fmt: skip


def _addon(call: Call) -> Resource:
    owner, name = cluster_of(call), call.params["addonName"]
    found = call.scope.find(ADDON, f"{owner.id}:{name}")
    if found is None:
        raise gone(f"No addon: {name} found in cluster: {owner.id}")
    return found


@served("eks", "ListAddons", "clusterName", *PAGES)
def list_addons(call: Call) -> Item:
    found = call.scope.all(ADDON, clusterName=cluster_of(call).id)
    return listed(call, "addons", [a.outputs["addonName"] for a in found])


@served("eks", "DescribeAddon", "clusterName", "addonName")
def describe_addon(call: Call) -> Item:
    return {"addon": addon(call.scope, _addon(call))}


@served("eks", "DeleteAddon", "clusterName", "addonName")
def delete_addon(call: Call) -> Item:
    found = _addon(call)
    call.delete(found)
    return {"addon": addon(call.scope, call.scope.find(ADDON, found.id) or found)}


# -- access entries --------------------------------------------------------------------------------------------------
def entries(scope: Scope, owner: Resource) -> dict[str, Item]:
    """Access entries by principal: the program's, and those that EKS makes for the creator and for nodes' roles."""
    if owner.outputs["accessConfig"]["authenticationMode"] == "CONFIG_MAP":
        return {}
    found: dict[str, Item] = {}
    if owner.outputs["accessConfig"].get("bootstrapClusterCreatorAdminPermissions"):
        user = scope.catalog.account["user"]["arn"]
        found[user] = _made(scope, owner, user, "STANDARD", user)
    for group in scope.all(NODE_GROUP, clusterName=owner.id):
        role = group.outputs["nodeRoleArn"]
        found[role] = _made(scope, owner, role, "EC2_LINUX", "system:node:{{EC2PrivateDNSName}}")
    for entry in scope.all(ENTRY, clusterName=owner.id):
        out = entry.outputs
        found[out["principalArn"]] = {
            "clusterName": owner.id, "principalArn": out["principalArn"], "accessEntryArn": out["accessEntryArn"],
            "kubernetesGroups": list(out.get("kubernetesGroups") or []), "tags": tags_of(entry),
            "username": out["userName"], "type": out.get("type") or "STANDARD", "createdAt": moment(out["createdAt"]),
            "modifiedAt": moment(out["modifiedAt"]),
        }  # fmt: skip
    return found


def _made(scope: Scope, owner: Resource, principal: str, kind: str, username: str) -> Item:
    what, _, name = principal.rpartition(":")[2].partition("/")
    tail = uuid.uuid5(uuid.NAMESPACE_URL, f"{owner.outputs['arn']}/{principal}")
    created = moment(owner.outputs["createdAt"])
    return {
        "clusterName": owner.id, "principalArn": principal, "username": username, "type": kind, "tags": {},
        "kubernetesGroups": ["system:nodes"] if kind == "EC2_LINUX" else [], "createdAt": created,
        "modifiedAt": created,
        "accessEntryArn": scope.arn("eks", f"access-entry/{owner.id}/{what}/{scope.account}/{name}/{tail}"),
    }  # fmt: skip


def _entry(call: Call) -> Item:
    found = entries(call.scope, cluster_of(call)).get(call.params["principalArn"])
    if found is None:
        raise gone("The specified principalArn could not be found. You can view your available access entries with "
                   "'list-access-entries'.")  # fmt: skip
    return found


@served("eks", "ListAccessEntries", "clusterName", *PAGES)
def list_access_entries(call: Call) -> Item:
    return listed(call, "accessEntries", sorted(entries(call.scope, cluster_of(call))))


@served("eks", "DescribeAccessEntry", "clusterName", "principalArn")
def describe_access_entry(call: Call) -> Item:
    return {"accessEntry": _entry(call)}


@served("eks", "ListAssociatedAccessPolicies", "clusterName", "principalArn", *PAGES)
def list_associated_access_policies(call: Call) -> Item:
    entry, owner = _entry(call), cluster_of(call)
    creator = entry["principalArn"] == call.scope.catalog.account["user"]["arn"] and not entry["tags"]
    policy = {"policyArn": ADMIN, "accessScope": {"type": "cluster", "namespaces": []},
              "associatedAt": entry["createdAt"], "modifiedAt": entry["modifiedAt"]}  # fmt: skip
    answer = listed(call, "associatedAccessPolicies", [policy] if creator else [])
    return answer | {"clusterName": owner.id, "principalArn": entry["principalArn"]}


@served("eks", "DeleteAccessEntry", "clusterName", "principalArn")
def delete_access_entry(call: Call) -> Item:
    entry = _entry(call)
    found = call.scope.find(ENTRY, f"{entry['clusterName']}:{entry['principalArn']}")
    if found is None:
        raise AwsError("NotServed", "access entries that EKS made are not deleted by the embedded datacentre", 501)
    call.delete(found)
    return {}


# -- pod identities --------------------------------------------------------------------------------------------------
def association(resource: Resource) -> Item:
    """A pod identity association as DescribePodIdentityAssociation shows it."""
    out = resource.outputs
    kept = properties(resource, ASIDE | {"associationArn", "associationId"})
    made: Item = shaped(model("eks").shape_for("PodIdentityAssociation"), kept, {})
    times = {"createdAt": moment(resource.created), "modifiedAt": moment(resource.created)}
    names = {"associationArn": out["associationArn"], "associationId": resource.id, "tags": tags_of(resource)}
    return {**made, **names, **times}


@served("eks", "ListPodIdentityAssociations", "clusterName", "namespace", "serviceAccount", *PAGES)
def list_pod_identity_associations(call: Call) -> Item:
    wanted = {k: v for k in ("namespace", "serviceAccount") if (v := call.params.get(k))}
    found = call.scope.all(ASSOCIATION, clusterName=cluster_of(call).id, **wanted)
    kept = ("clusterName", "namespace", "serviceAccount", "associationArn", "associationId")
    return listed(call, "associations", [{k: v for k, v in association(a).items() if k in kept} for a in found])


def _association(call: Call) -> Resource:
    owner = cluster_of(call)
    found = call.scope.find(ASSOCIATION, call.params["associationId"])
    if found is None or found.outputs["clusterName"] != owner.id:
        raise gone(f"Association not found: {call.params['associationId']}")
    return found


@served("eks", "DescribePodIdentityAssociation", "clusterName", "associationId")
def describe_pod_identity_association(call: Call) -> Item:
    return {"association": association(_association(call))}


@served("eks", "DeletePodIdentityAssociation", "clusterName", "associationId")
def delete_pod_identity_association(call: Call) -> Item:
    found = _association(call)
    call.delete(found)
    return {"association": association(found)}


# -- tags ------------------------------------------------------------------------------------------------------------
ARNS: dict[str, Callable[[Resource], str]] = {
    CLUSTER: lambda r: str(r.outputs["arn"]), NODE_GROUP: lambda r: str(r.outputs["arn"]),
    ADDON: lambda r: str(r.outputs["arn"]), ENTRY: lambda r: str(r.outputs["accessEntryArn"]),
    ASSOCIATION: lambda r: str(r.outputs["associationArn"]),
}  # fmt: skip


@served("eks", "ListTagsForResource", "resourceArn")
def list_tags_for_resource(call: Call) -> Item:
    for kind, arn in ARNS.items():
        for found in call.scope.all(kind):
            if arn(found) == call.params["resourceArn"]:
                return {"tags": tags_of(found)}
    raise AwsError("NotFoundException", f"The specified resource could not be found: {call.params['resourceArn']}", 404)
