"""EFS: file systems, mount targets, access points. Nothing here deletes a file system."""

from __future__ import annotations

from typing import Any

from ...aws.errors import AwsError
from ...aws.services.storage import FILES, MOUNT
from ...daemon.store import Resource
from .calls import Call, moment, page, served, tag_list, tags_of

Item = dict[str, Any]
POINT = "aws:efs/accessPoint:AccessPoint"


def word(resource: Resource) -> str:
    """EFS's words for a state."""
    return {"creating": "creating", "deleting": "deleting", "failed": "error"}.get(resource.state, "available")


def _listed(call: Call, name: str, items: list[Any], size: str, token: str, after: str) -> Item:
    found, more = page(items, call.params.get(size), call.params.get(token), 100, lambda t: AwsError(
        "BadRequest", f"invalid {token}"))  # fmt: skip
    return {name: found, **({after: more} if more else {})}


def file_system(resource: Resource) -> Item:
    """A file system."""
    out, tags = resource.outputs, tags_of(resource)
    return {
        "FileSystemId": resource.id, "FileSystemArn": out["arn"], "CreationToken": out["creationToken"],
        "OwnerId": out["ownerId"], "CreationTime": moment(resource.created), "LifeCycleState": word(resource),
        "Name": tags.get("Name"), "NumberOfMountTargets": int(out.get("numberOfMountTargets") or 0),
        "SizeInBytes": {"Value": 6144, "ValueInIA": 0, "ValueInStandard": 6144},  # an empty one's metadata (estimate)
        "PerformanceMode": out.get("performanceMode") or "generalPurpose", "Encrypted": bool(out.get("encrypted")),
        "KmsKeyId": out.get("kmsKeyId") or None, "ThroughputMode": out.get("throughputMode") or "bursting",
        "ProvisionedThroughputInMibps": out.get("provisionedThroughputInMibps") or None,
        "AvailabilityZoneName": out.get("availabilityZoneName") or None, "Tags": tag_list(tags),
        "AvailabilityZoneId": out.get("availabilityZoneId") or None,
        "FileSystemProtection": {"ReplicationOverwriteProtection": "ENABLED"},
    }  # fmt: skip


def file_system_of(call: Call, identity: str) -> Resource:
    """A file system that a call names."""
    found = call.scope.find(FILES, identity.rpartition("/")[2])
    if found is None:
        raise AwsError("FileSystemNotFound", f"File system '{identity}' does not exist.", 404)
    return found


@served("efs", "DescribeFileSystems", "FileSystemId", "CreationToken", "MaxItems", "Marker")
def describe_file_systems(call: Call) -> Item:
    wanted, token = call.params.get("FileSystemId"), call.params.get("CreationToken")
    found = [file_system_of(call, wanted)] if wanted else call.scope.all(FILES)
    items = [file_system(f) for f in found if not token or f.outputs["creationToken"] == token]
    return _listed(call, "FileSystems", items, "MaxItems", "Marker", "NextMarker")


@served("efs", "DescribeMountTargets", "FileSystemId", "MountTargetId", "MaxItems", "Marker")
def describe_mount_targets(call: Call) -> Item:
    one, files = call.params.get("MountTargetId"), call.params.get("FileSystemId")
    if not one and not files:
        raise AwsError("BadRequest", "one of FileSystemId, MountTargetId and AccessPointId is needed")
    found = [_mount(call, one)] if one else call.scope.all(MOUNT, fileSystemId=file_system_of(call, str(files)).id)
    items = [
        {"MountTargetId": m.id, "FileSystemId": m.outputs["fileSystemId"], "SubnetId": m.outputs["subnetId"],
         "OwnerId": m.outputs["ownerId"], "LifeCycleState": word(m), "IpAddress": m.outputs["ipAddress"],
         "NetworkInterfaceId": m.outputs["networkInterfaceId"], "VpcId": m.hidden["vpc"],
         "AvailabilityZoneId": m.outputs["availabilityZoneId"],
         "AvailabilityZoneName": m.outputs["availabilityZoneName"]}
        for m in found
    ]  # fmt: skip
    return _listed(call, "MountTargets", items, "MaxItems", "Marker", "NextMarker")


def _mount(call: Call, identity: str) -> Resource:
    found = call.scope.find(MOUNT, identity)
    if found is None:
        raise AwsError("MountTargetNotFound", f"Mount target '{identity}' does not exist.", 404)
    return found


@served("efs", "DescribeMountTargetSecurityGroups", "MountTargetId")
def describe_mount_target_security_groups(call: Call) -> Item:
    return {"SecurityGroups": list(_mount(call, call.params["MountTargetId"]).outputs.get("securityGroups") or [])}


@served("efs", "DeleteMountTarget", "MountTargetId")
def delete_mount_target(call: Call) -> Item:
    call.delete(_mount(call, call.params["MountTargetId"]))
    return {}


def access_point(resource: Resource) -> Item:
    """An access point."""
    out, tags = resource.outputs, tags_of(resource)
    root, user = out.get("rootDirectory") or {}, out.get("posixUser")
    made = root.get("creationInfo")
    return {
        "AccessPointId": resource.id, "AccessPointArn": out["arn"], "FileSystemId": out["fileSystemId"],
        "ClientToken": f"pulumi-{resource.id}", "Name": tags.get("Name"), "Tags": tag_list(tags),
        "OwnerId": out["ownerId"], "LifeCycleState": word(resource),
        "PosixUser": {"Uid": int(user["uid"]), "Gid": int(user["gid"]),
                      "SecondaryGids": [int(g) for g in user.get("secondaryGids") or []]} if user else None,
        "RootDirectory": {"Path": root.get("path") or "/", "CreationInfo": {
            "OwnerUid": int(made["ownerUid"]), "OwnerGid": int(made["ownerGid"]), "Permissions": made["permissions"],
        } if made else None},
    }  # fmt: skip


def _point(call: Call, identity: str) -> Resource:
    found = call.scope.find(POINT, identity.rpartition("/")[2])
    if found is None:
        raise AwsError("AccessPointNotFound", f"Access point '{identity}' does not exist.", 404)
    return found


@served("efs", "DescribeAccessPoints", "AccessPointId", "FileSystemId", "MaxResults", "NextToken")
def describe_access_points(call: Call) -> Item:
    one, files = call.params.get("AccessPointId"), call.params.get("FileSystemId")
    found = [_point(call, one)] if one else call.scope.all(POINT)
    if files:
        found = [p for p in found if p.outputs["fileSystemId"] == file_system_of(call, files).id]
    return _listed(call, "AccessPoints", [access_point(p) for p in found], "MaxResults", "NextToken", "NextToken")


@served("efs", "DeleteAccessPoint", "AccessPointId")
def delete_access_point(call: Call) -> Item:
    call.delete(_point(call, call.params["AccessPointId"]))
    return {}


@served("efs", "ListTagsForResource", "ResourceId", "MaxResults", "NextToken")
def list_tags_for_resource(call: Call) -> Item:
    identity = call.params["ResourceId"]
    found = _point(call, identity) if "fsap-" in identity else file_system_of(call, identity)
    return _listed(call, "Tags", tag_list(tags_of(found)), "MaxResults", "NextToken", "NextToken")
