"""IAM: roles, their policies, instance profiles, OpenID Connect providers, policies of the account and of AWS."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from ...aws.errors import AwsError
from ...aws.services.iam import ATTACHMENT, MANAGED, POLICY, ROLE, attached
from ...daemon.store import Resource
from .calls import Call, moment, page, served, tag_list, tags_of

Item = dict[str, Any]
PAGES = ("Marker", "MaxItems")
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
PROVIDER = "aws:iam/openIdConnectProvider:OpenIdConnectProvider"


def missing(message: str) -> AwsError:
    """IAM's answer for what does not exist."""
    return AwsError("NoSuchEntity", message, 404)


def listed(call: Call, name: str, items: list[Any]) -> Item:
    """A page of a list, as IAM pages."""
    size = call.params.get("MaxItems")
    if size is not None and not 1 <= size <= 1000:
        raise AwsError("ValidationError", f"Value '{size}' at 'maxItems' failed to satisfy constraint: 1 to 1000")
    found, after = page(items, size, call.params.get("Marker"), size or 100, lambda t: AwsError(
        "ValidationError", f"Invalid Marker: {t}"))  # fmt: skip
    return {name: found, "IsTruncated": after is not None, **({"Marker": after} if after else {})}


# -- roles -----------------------------------------------------------------------------------------------------------
def role(resource: Resource, whole: bool) -> Item:
    """A role; lists leave out tags and boundary (botocore iam ListRoles)."""
    out = resource.outputs
    made = {
        "RoleName": out["name"], "RoleId": out["uniqueId"], "Arn": out["arn"], "Path": out.get("path") or "/",
        "CreateDate": moment(out["createDate"]), "AssumeRolePolicyDocument": quote(out["assumeRolePolicy"]),
        "Description": out.get("description") or None, "MaxSessionDuration": int(out.get("maxSessionDuration") or 3600),
    }  # fmt: skip
    if not whole:
        return made
    boundary = out.get("permissionsBoundary")
    if boundary:
        made["PermissionsBoundary"] = {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": boundary}
    tags = tag_list(tags_of(resource))
    return made | {"RoleLastUsed": {}} | ({"Tags": tags} if tags else {})


def role_of(call: Call) -> Resource:
    """The role that a call names."""
    name = call.params["RoleName"]
    found = next((r for r in call.scope.all(ROLE) if r.id.lower() == name.lower()), None)
    if found is None:
        raise missing(f"The role with name {name} cannot be found.")
    return found


@served("iam", "GetRole", "RoleName")
def get_role(call: Call) -> Item:
    return {"Role": role(role_of(call), whole=True)}


@served("iam", "ListRoles", "PathPrefix", *PAGES)
def list_roles(call: Call) -> Item:
    prefix = call.params.get("PathPrefix") or "/"
    found = [r for r in call.scope.all(ROLE) if (r.outputs.get("path") or "/").startswith(prefix)]
    return listed(call, "Roles", [role(r, whole=False) for r in sorted(found, key=lambda r: r.id)])


@served("iam", "ListRoleTags", "RoleName", *PAGES)
def list_role_tags(call: Call) -> Item:
    return listed(call, "Tags", tag_list(tags_of(role_of(call))))


@served("iam", "ListAttachedRolePolicies", "RoleName", "PathPrefix", *PAGES)
def list_attached_role_policies(call: Call) -> Item:
    arns = sorted(attached(call.scope, role_of(call)))
    prefix = call.params.get("PathPrefix") or "/"
    rows = [
        {"PolicyName": a.rpartition("/")[2], "PolicyArn": a}
        for a in arns
        if a.partition(":policy")[2].startswith(prefix)
    ]
    return listed(call, "AttachedPolicies", rows)


@served("iam", "ListRolePolicies", "RoleName", *PAGES)
def list_role_policies(call: Call) -> Item:
    inline = [p["name"] for p in role_of(call).outputs.get("inlinePolicies") or [] if p.get("name")]
    return listed(call, "PolicyNames", sorted(inline))


@served("iam", "GetRolePolicy", "RoleName", "PolicyName")
def get_role_policy(call: Call) -> Item:
    found, name = role_of(call), call.params["PolicyName"]
    for policy in found.outputs.get("inlinePolicies") or []:
        if policy.get("name") == name:
            return {"RoleName": found.id, "PolicyName": name, "PolicyDocument": quote(policy["policy"])}
    raise missing(f"The role policy with name {name} cannot be found.")


@served("iam", "DetachRolePolicy", "RoleName", "PolicyArn")
def detach_role_policy(call: Call) -> Item:
    found, arn = role_of(call), call.params["PolicyArn"]
    rows = call.scope.all(ATTACHMENT, role=found.outputs["name"], policyArn=arn)
    if not rows:
        raise missing(f"Policy {arn} was not found.")
    for row in rows:
        call.delete(row)
    return {}


@served("iam", "DeleteRole", "RoleName")
def delete_role(call: Call) -> Item:
    found = role_of(call)
    if attached(call.scope, found):  # the provider's forceDetachPolicies is no parameter of the API
        raise AwsError("DeleteConflict", "Cannot delete entity, must detach all policies first.", 409)
    if any(p.get("name") for p in found.outputs.get("inlinePolicies") or []):
        raise AwsError("DeleteConflict", "Cannot delete entity, must delete policies first.", 409)
    call.delete(found)
    return {}


# -- instance profiles -----------------------------------------------------------------------------------------------
def profile(call: Call, resource: Resource, whole: bool) -> Item:
    """An instance profile with its role."""
    out = resource.outputs
    roles = [r for r in call.scope.all(ROLE) if r.id == out.get("role")]
    tags = tag_list(tags_of(resource))
    return {
        "InstanceProfileName": out["name"], "InstanceProfileId": out["uniqueId"], "Arn": out["arn"],
        "Path": out.get("path") or "/", "CreateDate": moment(out["createDate"]),
        "Roles": [role(r, whole=False) for r in roles], **({"Tags": tags} if whole and tags else {}),
    }  # fmt: skip


@served("iam", "GetInstanceProfile", "InstanceProfileName")
def get_instance_profile(call: Call) -> Item:
    found = call.scope.find(PROFILE, call.params["InstanceProfileName"])
    if found is None:
        raise missing(f"Instance Profile {call.params['InstanceProfileName']} cannot be found.")
    return {"InstanceProfile": profile(call, found, whole=True)}


@served("iam", "ListInstanceProfiles", "PathPrefix", *PAGES)
def list_instance_profiles(call: Call) -> Item:
    prefix = call.params.get("PathPrefix") or "/"
    found = [p for p in call.scope.all(PROFILE) if (p.outputs.get("path") or "/").startswith(prefix)]
    return listed(call, "InstanceProfiles", [profile(call, p, whole=False) for p in found])


@served("iam", "ListInstanceProfilesForRole", "RoleName", *PAGES)
def list_instance_profiles_for_role(call: Call) -> Item:
    found = call.scope.all(PROFILE, role=role_of(call).id)
    return listed(call, "InstanceProfiles", [profile(call, p, whole=False) for p in found])


# -- OpenID Connect and policies -------------------------------------------------------------------------------------
@served("iam", "ListOpenIDConnectProviders")
def list_open_id_connect_providers(call: Call) -> Item:
    return {"OpenIDConnectProviderList": [{"Arn": p.id} for p in call.scope.all(PROVIDER)]}


@served("iam", "GetOpenIDConnectProvider", "OpenIDConnectProviderArn")
def get_open_id_connect_provider(call: Call) -> Item:
    arn = call.params["OpenIDConnectProviderArn"]
    found = call.scope.find(PROVIDER, arn)
    if found is None:
        raise missing(f"OpenIDConnect Provider not found for arn {arn}")
    out = found.outputs
    return {
        "Url": str(out["url"]).removeprefix("https://"), "ClientIDList": list(out.get("clientIdLists") or []),
        "ThumbprintList": list(out.get("thumbprintLists") or []), "CreateDate": moment(found.created),
        "Tags": tag_list(tags_of(found)),
    }  # fmt: skip


@served("iam", "GetPolicy", "PolicyArn")
def get_policy(call: Call) -> Item:
    arn = call.params["PolicyArn"]
    found = call.scope.find(POLICY, arn)
    if found is None and arn.startswith(MANAGED) and arn.removeprefix(MANAGED) in call.scope.catalog.managed_policies:
        raise AwsError("NotServed", f"the text of AWS's own policy {arn} is not known here", 501)
    if found is None:
        raise missing(f"Policy {arn} was not found.")
    return {"Policy": policy(found)}


def policy(resource: Resource) -> Item:
    """A policy of the account."""
    out = resource.outputs
    tags = tag_list(tags_of(resource))
    return {"PolicyName": out["name"], "PolicyId": out["policyId"], "Arn": out["arn"], "Path": out.get("path") or "/",
            "CreateDate": moment(resource.created), **({"Tags": tags} if tags else {})}  # fmt: skip


@served("iam", "ListPolicies", "Scope", "PathPrefix", *PAGES)
def list_policies(call: Call) -> Item:
    if call.params.get("Scope") != "Local":
        raise AwsError("NotServed", "policies are listed with Scope=Local only", 501)
    prefix = call.params.get("PathPrefix") or "/"
    found = [p for p in call.scope.all(POLICY) if (p.outputs.get("path") or "/").startswith(prefix)]
    return listed(call, "Policies", [{k: v for k, v in policy(p).items() if k != "Tags"} for p in found])
