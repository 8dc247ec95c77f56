"""Service accounts, a project's policy, and connections to Google's own services."""

from __future__ import annotations

import base64
from typing import Any

from ...core.suppress import link_path
from ...daemon.store import Resource
from ...google.errors import GoogleError
from ...google.scope import ACCOUNT, CONNECTION, MEMBER, Scope
from .routes import Call, number, page, serves
from .shapes import Item


def project_number(scope: Scope) -> str:
    """A project's number."""
    return str(scope.catalog.account["project_number"])


# -- service accounts ------------------------------------------------------------------------------------------------
def service_account(resource: Resource) -> Item:
    """A service account."""
    out = resource.outputs
    return {
        "name": resource.id, "projectId": resource.account, "uniqueId": str(out["uniqueId"]), "email": out["email"],
        "displayName": out.get("displayName") or None, "description": out.get("description") or None,
        "disabled": True if out.get("disabled") else None, "oauth2ClientId": str(out["uniqueId"]),
        "etag": base64.b64encode(number(resource.id).encode()[:8]).decode(),
    }  # fmt: skip


def _account(call: Call) -> Resource:
    project, name = call.scope.project, call.words["name"]
    for found in call.scope.all(ACCOUNT):
        if name in (found.outputs["email"], str(found.outputs["uniqueId"])):
            return found
    raise GoogleError(404, "notFound", f"Unknown service account: projects/{project}/serviceAccounts/{name}")


@serves("iam", "GET", "v1/projects/{project}/serviceAccounts", "ListServiceAccountsResponse", "pageSize", "pageToken")
def list_service_accounts(call: Call) -> Item:
    found, more = page(call, [service_account(a) for a in call.scope.all(ACCOUNT)], "pageSize", 100)
    return {**({"accounts": found} if found else {}), **more}


@serves("iam", "GET", "v1/projects/{project}/serviceAccounts/{name}", "ServiceAccount")
def get_service_account(call: Call) -> Item:
    return service_account(_account(call))


@serves("iam", "DELETE", "v1/projects/{project}/serviceAccounts/{name}", "Empty")
def delete_service_account(call: Call) -> Item:
    call.delete(_account(call))
    return {}


# -- projects and their policy ---------------------------------------------------------------------------------------
@serves("cloudresourcemanager", "GET", "v1/projects/{project}", "Project")
def get_project(call: Call) -> Item:
    return {"projectId": call.scope.project, "projectNumber": project_number(call.scope), "name": call.scope.project,
            "lifecycleState": "ACTIVE"}  # fmt: skip


def _condition(resource: Resource) -> Item | None:
    row = resource.outputs.get("condition") or None
    return {k: row[k] for k in ("title", "expression", "description") if row.get(k)} if row else None


def policy(scope: Scope) -> Item:
    """The project's policy: its owner, and the members that programs added."""
    bindings: list[Item] = [{"role": "roles/owner", "members": [f"user:{scope.catalog.account['user']['email']}"]}]
    for member in scope.all(MEMBER):
        role, condition = member.outputs["role"], _condition(member)
        same = next((b for b in bindings if b["role"] == role and b.get("condition") == condition), None)
        if same is None:
            same = {"role": role, "members": [], **({"condition": condition} if condition else {})}
            bindings.append(same)
        same["members"].append(member.outputs["member"])
    bindings = sorted(bindings, key=lambda b: str(b["role"]))
    version = 3 if any(b.get("condition") for b in bindings) else 1
    etag = base64.b64encode(number(repr(bindings)).encode()[:8]).decode()
    return {"version": version, "etag": etag, "bindings": bindings}


@serves("cloudresourcemanager", "POST", "v1/projects/{project}:getIamPolicy", "Policy")
def get_iam_policy(call: Call) -> Item:
    options = (call.body or {}).get("options") or {}
    asked = int(options.get("requestedPolicyVersion") or 1)
    found = policy(call.scope)
    if found["version"] > asked:
        raise GoogleError(501, "notServed", "the policy has conditions: ask with requestedPolicyVersion 3")
    return found


@serves("cloudresourcemanager", "POST", "v1/projects/{project}:setIamPolicy", "Policy")
def set_iam_policy(call: Call) -> Item:
    """A policy without some members is written by taking these away; nothing is added here."""
    wanted: dict[str, Any] = (call.body or {}).get("policy") or {}
    now = policy(call.scope)
    if wanted.get("etag") not in (None, now["etag"]):
        raise GoogleError(409, "conflict", "There were concurrent policy changes. Please retry the whole "
                          "read-modify-write with exponential backoff.")  # fmt: skip
    after, before = _members(wanted), _members(now)
    owner = {m for m in before if m[0] == "roles/owner"}
    if after - before or owner - after:
        raise GoogleError(501, "notServed", "the embedded datacentre serves setIamPolicy for taking members away only")
    for member in call.scope.all(MEMBER):
        condition = _condition(member)
        if (member.outputs["role"], member.outputs["member"], repr(condition)) in before - after:
            call.delete(member)
    return policy(call.scope)


def _members(found: Item) -> set[tuple[str, str, str]]:
    return {(b["role"], m, repr(b.get("condition") or None)) for b in found.get("bindings") or [] for m in b["members"]}


# -- connections to Google's services --------------------------------------------------------------------------------
SERVICE = "servicenetworking.googleapis.com"


@serves("servicenetworking", "GET", "v1/services/{service}/connections", "ListConnectionsResponse", "network")
def list_connections(call: Call) -> Item:
    parts = call.query.get("network", "").split("/")
    if len(parts) != 5 or parts[0] != "projects" or parts[2:4] != ["global", "networks"]:
        raise GoogleError(400, "badRequest", "Invalid value for field 'network': it is needed, as "
                          "projects/{project}/global/networks/{network}")  # fmt: skip
    if call.words["service"] not in ("-", SERVICE):
        raise GoogleError(403, "forbidden", f"Permission denied on service {call.words['service']}")
    found = [_connection(c) for s in scopes(call, parts[1]) for c in s.all(CONNECTION)
             if c.id == f"projects/{s.project}/global/networks/{parts[4]}:{SERVICE}"]  # fmt: skip
    return {"connections": found} if found else {}


def scopes(call: Call, project: str) -> list[Scope]:
    """The scopes of a project's id, or of all projects for the number that they share here."""
    if project != project_number(call.scope):
        return [Scope(call.world, project)]
    rows = call.scope.store.resources(cloud="gcp", type=CONNECTION)
    return [Scope(call.world, p) for p in sorted({r.account for r in rows})]


def _connection(resource: Resource) -> Item:
    out = resource.outputs
    network = link_path(str(resource.id.rpartition(":")[0]))
    ranges = [str(n).rpartition("/")[2] for n in out.get("reservedPeeringRanges") or []]
    return {"network": network, "peering": out["peering"], "service": f"services/{SERVICE}",
            "reservedPeeringRanges": ranges}  # fmt: skip
