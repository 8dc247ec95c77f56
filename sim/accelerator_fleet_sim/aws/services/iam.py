"""IAM: roles, policies, attachments, instance profiles, OpenID Connect providers."""

from __future__ import annotations

import json
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope

ROLE = "aws:iam/role:Role"
POLICY = "aws:iam/policy:Policy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
MANAGED = "arn:aws:iam::aws:policy/"


def check_policy(text: Any, trust: bool) -> None:
    """A policy document that IAM takes."""
    try:
        document = json.loads(text)
    except (TypeError, ValueError):
        raise AwsError("MalformedPolicyDocument", "This policy contains invalid Json") from None
    if not isinstance(document, dict) or "Statement" not in document:
        raise AwsError("MalformedPolicyDocument", "Syntax errors in policy.")
    statements = document["Statement"]
    for statement in statements if isinstance(statements, list) else [statements]:
        if statement.get("Effect") not in ("Allow", "Deny"):
            raise AwsError("MalformedPolicyDocument", f"Invalid effect: {statement.get('Effect')}")
        if "Action" not in statement and "NotAction" not in statement:
            raise AwsError("MalformedPolicyDocument", "Policy statement must contain actions.")
        if trust and "Principal" not in statement:
            raise AwsError("MalformedPolicyDocument", "AssumeRole policy may only specify STS AssumeRole actions.")
        if trust and "Resource" in statement:
            raise AwsError("MalformedPolicyDocument", "Has prohibited field Resource")
        if not trust and "Resource" not in statement and "NotResource" not in statement:
            raise AwsError("MalformedPolicyDocument", "Policy statement must contain resources.")


def trusted_services(role: Resource) -> set[str]:
    """Services that may take the role."""
    statements = json.loads(role.outputs["assumeRolePolicy"])["Statement"]
    found: set[str] = set()
    for statement in statements if isinstance(statements, list) else [statements]:
        principal = statement.get("Principal")
        services = principal.get("Service", []) if isinstance(principal, dict) else []
        if statement.get("Effect") == "Allow":
            found |= {services} if isinstance(services, str) else set(services)
    return found


def role_of(scope: Scope, arn: str) -> Resource | None:
    """The role with that ARN."""
    return next((r for r in scope.all(ROLE) if r.outputs["arn"] == arn), None)


def attached(scope: Scope, role: Resource) -> set[str]:
    """ARNs of the policies on a role."""
    return {a.outputs["policyArn"] for a in scope.all(ATTACHMENT, role=role.outputs["name"])} | set(
        role.outputs.get("managedPolicyArns") or []
    )


def require_policy(scope: Scope, arn: str) -> None:
    """A policy must exist, AWS's own or the account's."""
    known = arn.removeprefix(MANAGED) in scope.catalog.managed_policies if arn.startswith(MANAGED) else (
        scope.find(POLICY, arn) is not None
    )  # fmt: skip
    if not known:
        raise AwsError("NoSuchEntity", f"Policy {arn} does not exist or is not attachable.", 404)


class Role(Behaviour):
    """A role."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        check_policy(inputs["assumeRolePolicy"], trust=True)
        for arn in inputs.get("managedPolicyArns") or []:
            require_policy(scope, arn)

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs |= {"name": resource.id, "uniqueId": scope.unique("AROA"), "createDate": scope.iso()}
        path = resource.outputs.get("path", "/")
        resource.outputs["arn"] = f"arn:aws:iam::{scope.account}:role{path}{resource.id}"

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self.validate(scope, inputs)

    def validate_delete(self, scope: Scope, resource: Resource) -> None:
        if resource.outputs.get("forceDetachPolicies"):
            return
        if scope.all(ATTACHMENT, role=resource.outputs["name"]):
            raise AwsError("DeleteConflict", "Cannot delete entity, must detach all policies first.", 409)

    def read(self, scope: Scope, resource: Resource) -> dict[str, Any]:
        return {**resource.outputs, "managedPolicyArns": sorted(attached(scope, resource))}


class Policy(Behaviour):
    """A customer managed policy."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        check_policy(inputs["policy"], trust=False)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self.validate(scope, inputs)

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs |= {"arn": resource.id, "policyId": scope.unique("ANPA")}

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        return f"arn:aws:iam::{scope.account}:policy{inputs.get('path', '/')}{inputs['name']}"


class RolePolicyAttachment(Behaviour):
    """Attaching is idempotent in IAM."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        require_policy(scope, inputs["policyArn"])
        others = scope.all(ATTACHMENT, role=inputs["role"])
        limit = scope.catalog.account["quotas"]["policies_per_role"]["value"]
        if len(others) >= limit and all(o.outputs["policyArn"] != inputs["policyArn"] for o in others):
            raise AwsError("LimitExceeded", f"Cannot exceed quota for PoliciesPerRole: {limit}", 409)


class InstanceProfile(Behaviour):
    """An instance profile."""

    def complete(self, scope: Scope, resource: Resource) -> None:
        path = resource.outputs.get("path", "/")
        resource.outputs |= {
            "name": resource.id, "uniqueId": scope.unique("AIPA"), "createDate": scope.iso(),
            "arn": f"arn:aws:iam::{scope.account}:instance-profile{path}{resource.id}",
        }  # fmt: skip


class OpenIdConnectProvider(Behaviour):
    """An OIDC provider; its ARN is made of the issuer's host and path."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        if not str(inputs["url"]).startswith("https://"):
            raise AwsError("InvalidInput", "The Url must begin with https://")

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        return f"arn:aws:iam::{scope.account}:oidc-provider/{str(inputs['url']).removeprefix('https://')}"

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs["arn"] = resource.id
