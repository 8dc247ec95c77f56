"""Service accounts and members of a project's policy."""

from __future__ import annotations

import re
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import GoogleError
from ..scope import ACCOUNT, Scope


def account_of(scope: Scope, email: str) -> Resource | None:
    """The service account with an address of this project."""
    return scope.find(ACCOUNT, f"projects/{scope.project}/serviceAccounts/{email}")


class Account(Behaviour):
    """A service account."""

    def _email(self, scope: Scope, inputs: dict[str, Any]) -> str:
        return f"{inputs['accountId']}@{inputs.get('project') or scope.project}.iam.gserviceaccount.com"

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        return f"projects/{inputs.get('project') or scope.project}/serviceAccounts/{self._email(scope, inputs)}"

    def exists(self, identity: str) -> GoogleError:
        name = identity.rpartition("/")[2].partition("@")[0]
        project = identity.split("/")[1]
        return GoogleError(409, "alreadyExists", f"Service account {name} already exists within project "
                           f"projects/{project}.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        email = self._email(scope, resource.outputs)
        number = scope.number()
        resource.outputs |= {
            "email": email, "name": resource.id, "uniqueId": f"1{number}0", "member": f"serviceAccount:{email}",
            "disabled": bool(resource.outputs.get("disabled")),
        }  # fmt: skip


class ProjectMember(Behaviour):
    """One member of one role in the project's policy. Adding it twice is no error: it is there."""

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        condition = inputs.get("condition") or {}
        more = f"/{condition['title']}" if condition.get("title") else ""
        return f"{inputs['project']}/{inputs['role']}/{inputs['member']}{more}"

    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        role, member = str(inputs["role"]), str(inputs["member"])
        if not re.fullmatch(r"(roles|projects/[^/]+/roles|organizations/[^/]+/roles)/[A-Za-z0-9_.]+", role):
            raise GoogleError(400, "badRequest", f"Role {role} is not supported for this resource.")
        kind, _, name = member.partition(":")
        own = name.endswith(f"@{scope.project}.iam.gserviceaccount.com")
        if kind == "serviceAccount" and own and account_of(scope, name) is None:
            raise GoogleError(400, "badRequest", f"Service account {name} does not exist.")

    def create(self, scope: Scope, inputs: dict[str, Any]) -> Resource:
        located = self.located(scope, inputs)
        found = scope.find(self.token, self.identity(scope, located))
        if found is not None:
            return found
        return super().create(scope, inputs)

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs["etag"] = scope.fingerprint()
