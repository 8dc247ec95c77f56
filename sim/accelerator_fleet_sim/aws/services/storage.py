"""EFS mount targets; KMS keys, log groups, buckets and repositories need no more than data says."""

from __future__ import annotations

from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope
from .vpc import SUBNET

MOUNT = "aws:efs/mountTarget:MountTarget"
FILES = "aws:efs/fileSystem:FileSystem"


class MountTarget(Behaviour):
    """One a zone and file system, all in one VPC."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        subnet = scope.find(SUBNET, inputs["subnetId"])
        assert subnet is not None
        for other in scope.all(MOUNT, fileSystemId=inputs["fileSystemId"]):
            if other.outputs["availabilityZoneName"] == subnet.outputs["availabilityZone"]:
                raise AwsError("MountTargetConflict", "mount target already exists in this AZ", 409)
            if other.hidden["vpc"] != subnet.outputs["vpcId"]:
                raise AwsError(
                    "MountTargetConflict", "requested subnet for new mount target is not in the same VPC as existing "
                    "mount targets", 409
                )  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        subnet = scope.find(SUBNET, resource.inputs["subnetId"])
        assert subnet is not None
        groups = resource.inputs.get("securityGroups") or []
        interface = scope.add_interface(
            subnet, self.own(resource), f"EFS mount target for {resource.inputs['fileSystemId']} ({resource.id})",
            groups, resource.inputs.get("ipAddress"),
        )  # fmt: skip
        zone = subnet.outputs["availabilityZone"]
        resource.hidden["vpc"] = subnet.outputs["vpcId"]
        resource.outputs |= {
            "networkInterfaceId": interface.id, "ipAddress": interface.outputs["privateIp"],
            "availabilityZoneName": zone, "availabilityZoneId": subnet.outputs["availabilityZoneId"],
            "mountTargetDnsName": f"{zone}.{resource.outputs['dnsName']}",
        }  # fmt: skip
        self._count(scope, resource.inputs["fileSystemId"], 1)

    @staticmethod
    def _count(scope: Scope, identity: str, change: int) -> None:
        found = scope.find(FILES, identity)
        if found is not None:
            found.outputs["numberOfMountTargets"] = int(found.outputs.get("numberOfMountTargets") or 0) + change
            scope.store.put(found)

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for made in scope.owned(self.own(resource)):
            scope.store.remove(made)
        self._count(scope, resource.outputs["fileSystemId"], -1)
