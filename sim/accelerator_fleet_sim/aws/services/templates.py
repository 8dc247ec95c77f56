"""Launch templates with their versions, and placement groups."""

from __future__ import annotations

import base64
from typing import Any

from ...core.plan import same
from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
# a change of these makes no new version
UNVERSIONED = {
    "name",
    "namePrefix",
    "defaultVersion",
    "updateDefaultVersion",
    "tags",
    "tagsAll",
    "region",
}


class LaunchTemplate(Behaviour):
    """Every change makes a version; old ones stay."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        self._check(scope, inputs)
        default = inputs.get("defaultVersion")
        if default not in (None, 1):
            raise AwsError("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version "
                           f"{default} for the launch template")  # fmt: skip

    def _check(self, scope: Scope, inputs: dict[str, Any]) -> None:
        machine = inputs.get("instanceType")
        if machine and machine not in scope.catalog.machines:
            raise AwsError("InvalidInstanceType", f"The following supplied instance types do not exist: [{machine}]")
        if machine and inputs.get("instanceRequirements"):
            raise AwsError(
                "InvalidParameterCombination", "InstanceType and InstanceRequirements cannot both be specified"
            )
        self._check_user_data(str(inputs.get("userData") or ""))
        seen = set()
        for block in inputs.get("networkInterfaces") or []:
            place = (block.get("networkCardIndex") or 0, block.get("deviceIndex") or 0)
            if place in seen:
                raise AwsError(
                    "InvalidParameterValue",
                    f"Each network interface must have its own network card and device index ({place[0]}, {place[1]})",
                )
            seen.add(place)

    @staticmethod
    def _check_user_data(text: str) -> None:
        """Base64 of at most 16 KiB (EC2 user guide, instance user data)."""
        try:
            size = len(base64.b64decode(text, validate=True))
        except ValueError:
            raise AwsError("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data.") from None
        if size > 16384:
            raise AwsError("InvalidParameterValue", "User data is limited to 16384 bytes")

    def complete(self, scope: Scope, resource: Resource) -> None:
        resource.outputs |= {"latestVersion": 1, "defaultVersion": 1}
        resource.hidden["versions"] = {"1": resource.inputs}

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self._check(scope, inputs)
        default = inputs.get("defaultVersion")
        if default is not None and str(default) not in self._versions_after(resource, inputs):
            raise AwsError(
                "InvalidLaunchTemplateId.VersionNotFound",
                f"Could not find the specified version {default} for the launch template with ID {resource.id}.",
            )

    def _new_version(self, resource: Resource, inputs: dict[str, Any]) -> bool:
        names = (resource.inputs.keys() | inputs.keys()) - UNVERSIONED
        return any(not same(self.rules, n, resource.inputs.get(n), inputs.get(n)) for n in names)

    def _versions_after(self, resource: Resource, inputs: dict[str, Any]) -> set[str]:
        known = set(resource.hidden["versions"])
        return known | ({str(len(known) + 1)} if self._new_version(resource, inputs) else set())

    def change(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> dict[str, Any]:
        new = self._new_version(resource, inputs)
        before = super().change(scope, resource, inputs)
        if new:
            version = before["latestVersion"] + 1
            resource.hidden["versions"][str(version)] = inputs
            resource.outputs["latestVersion"] = version
        if inputs.get("updateDefaultVersion"):  # ModifyLaunchTemplate in every update [tf]
            resource.outputs["defaultVersion"] = resource.outputs["latestVersion"]
        if inputs.get("defaultVersion") is not None:
            resource.outputs["defaultVersion"] = inputs["defaultVersion"]
        return before


def resolve(scope: Scope, wanted: dict[str, Any]) -> tuple[Resource, str, dict[str, Any]]:
    """Template, version number and content that `{id | name, version}` names; AwsError when there is none."""
    found = scope.find(TEMPLATE, wanted["id"]) if wanted.get("id") else next(
        (t for t in scope.all(TEMPLATE) if t.outputs["name"] == wanted.get("name")), None
    )  # fmt: skip
    if found is None:
        key, value = ("id", wanted["id"]) if wanted.get("id") else ("name", wanted.get("name"))
        code = "InvalidLaunchTemplateId.NotFound" if key == "id" else "InvalidLaunchTemplateName.NotFoundException"
        raise AwsError(code, f"The specified launch template, with template {key} {value}, does not exist.")
    version = str(wanted.get("version") or "$Default")
    version = {"$Latest": str(found.outputs["latestVersion"]), "$Default": str(found.outputs["defaultVersion"])}.get(
        version, version
    )
    content = found.hidden["versions"].get(version)
    if content is None:
        raise AwsError(
            "InvalidLaunchTemplateId.VersionNotFound",
            f"Could not find the specified version {version} for the launch template with ID {found.id}.",
        )
    return found, version, content


class PlacementGroup(Behaviour):
    """A placement group."""

    def complete(self, scope: Scope, resource: Resource) -> None:
        strategy = resource.inputs["strategy"]
        if strategy == "partition" and not resource.outputs.get("partitionCount"):
            resource.outputs["partitionCount"] = 2
        if strategy == "spread" and not resource.outputs.get("spreadLevel"):
            resource.outputs["spreadLevel"] = "rack"
