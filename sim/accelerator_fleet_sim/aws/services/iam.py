"""IAM: roles, policies, attachments, instance profiles, OpenID Connect providers."""

from __future__ import annotations

import json
import re
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope

ROLE = "aws:iam/role:Role"
POLICY = "aws:iam/policy:Policy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
MANAGED = "arn:aws:iam::aws:policy/"


VERSIONS = ("2012-10-17", "2008-10-17")
# IAM user guide, grammar of the JSON policy language
TOP = {"Version", "Id", "Statement"}
PARTS = {"Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource", "NotResource", "Condition"}
KINDS = {"AWS", "Service", "Federated", "CanonicalUser"}
SERVICE = re.compile(r"([0-9a-z-]+\.){1,4}(amazonaws|amazon)\.com(\.cn)?")  # [tf] verify: servicePrincipalRegexp
PATH = re.compile(r"/|/[\x21-\x7e]+/")
SIZES = {True: ("ACLSizePerRole", 2048), False: ("PolicySize", 6144)}  # kubeflow/dashboard#29


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _malformed(message: str) -> AwsError:
    return AwsError("MalformedPolicyDocument", message)


def _check_principal(scope: Scope, principal: Any) -> None:
    """Principals that exist (text: terraform-provider-aws#8905, aws-actions/configure-aws-credentials#332)."""
    if principal == "*":
        return
    if not isinstance(principal, dict) or not principal or not principal.keys() <= KINDS:
        raise _malformed("Invalid principal in policy")
    for kind, names in principal.items():
        for name in _list(names):
            roles = f"arn:aws:iam::{scope.account}:role/"
            missing = kind == "AWS" and str(name).startswith(roles) and role_of(scope, name) is None
            if missing or (kind == "Service" and not SERVICE.fullmatch(str(name))):
                raise _malformed(f'Invalid principal in policy: "{kind.upper()}":"{name}"')


def check_policy(scope: Scope, text: Any, trust: bool) -> None:
    """A policy document that IAM takes."""
    try:
        document = json.loads(text)
    except (TypeError, ValueError):
        raise AwsError("MalformedPolicyDocument", "This policy contains invalid Json") from None
    if not isinstance(document, dict) or not document.get("Statement") or not document.keys() <= TOP:
        raise _malformed("Syntax errors in policy.")
    if document.get("Version", VERSIONS[0]) not in VERSIONS:
        raise _malformed("The policy must contain a valid version string")
    quota, limit = SIZES[trust]
    if len("".join(json.dumps(document, separators=(",", ":")).split())) > limit:
        raise AwsError("LimitExceeded", f"Cannot exceed quota for {quota}: {limit}", 409)
    for statement in _list(document["Statement"]):
        if not isinstance(statement, dict) or not statement.keys() <= PARTS:
            raise _malformed("Syntax errors in policy.")
        if statement.get("Effect") not in ("Allow", "Deny"):
            raise AwsError("MalformedPolicyDocument", f"Invalid effect: {statement.get('Effect')}")
        if "Action" not in statement and "NotAction" not in statement:
            raise AwsError("MalformedPolicyDocument", "Policy statement must contain actions.")
        if trust and "Principal" not in statement and "NotPrincipal" not in statement:
            raise _malformed("Missing required field Principal")
        if not trust and ("Principal" in statement or "NotPrincipal" in statement):  # hashicorp/terraform#13449
            raise _malformed("Policy document should not specify a principal.")
        actions = [str(a) for a in _list(statement.get("Action", []))]
        if trust and not all(a == "*" or a.lower().startswith("sts:") for a in actions):
            raise _malformed("AssumeRole policy may only specify STS AssumeRole actions.")
        if trust and "Principal" in statement:
            _check_principal(scope, statement["Principal"])
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
    """A role. Names differ by more than case (botocore iam CreateRole)."""

    def check_unique(self, scope: Scope, inputs: dict[str, Any]) -> None:
        name = str(inputs["name"])
        if any(r.id.lower() == name.lower() for r in scope.all(ROLE)):
            raise AwsError("EntityAlreadyExists", f"Role with name {name} already exists.", 409)

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        check_policy(scope, inputs["assumeRolePolicy"], trust=True)
        path = str(inputs.get("path") or "/")
        if not PATH.fullmatch(path):
            raise AwsError("ValidationError", "The specified value for path is invalid. It must begin and end with / "
                           "and contain only alphanumeric characters and/or / characters.")  # fmt: skip
        if inputs.get("permissionsBoundary"):
            require_policy(scope, inputs["permissionsBoundary"])
        for policy in inputs.get("inlinePolicies") or []:
            if policy.get("policy"):
                check_policy(scope, policy["policy"], trust=False)
        limit = scope.catalog.account["quotas"]["policies_per_role"]["value"]
        if len(inputs.get("managedPolicyArns") or []) > limit:
            raise AwsError("LimitExceeded", f"Cannot exceed quota for PoliciesPerRole: {limit}", 409)
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
        check_policy(scope, inputs["policy"], trust=False)

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
