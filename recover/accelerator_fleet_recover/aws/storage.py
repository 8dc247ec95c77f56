"""File systems of a fleet in EFS and FSx."""

from __future__ import annotations

from collections.abc import Iterator

from accelerator_fleet_recover.aws.session import GONE, Account, status, tag_map
from accelerator_fleet_recover.model import Item

EFS = "aws:efs/fileSystem:FileSystem"
TARGET = "aws:efs/mountTarget:MountTarget"
POINT = "aws:efs/accessPoint:AccessPoint"
LUSTRE = "aws:fsx/lustreFileSystem:LustreFileSystem"


def items(account: Account, types: frozenset[str]) -> Iterator[Item]:
    """File systems that bear the fleet's tags, with their mount targets and access points."""
    if types & {EFS, TARGET, POINT}:
        yield from _efs(account)
    if LUSTRE in types:
        for found in account.pages("fsx", "describe_file_systems", "FileSystems"):
            tags = tag_map(found.get("Tags"))
            if account.owns(tags) and found.get("FileSystemType") == "LUSTRE":
                yield Item(
                    LUSTRE, found["FileSystemId"], name=tags.get("Name", ""), tags=tags,
                    status=status(found.get("Lifecycle")), created=found.get("CreationTime"), note="holds data",
                    provider=account.provider,
                )  # fmt: skip


def _efs(account: Account) -> Iterator[Item]:
    for found in account.pages("efs", "describe_file_systems", "FileSystems"):
        tags = tag_map(found.get("Tags"))
        if not account.owns(tags) or found.get("LifeCycleState") in GONE:
            continue
        identity = str(found["FileSystemId"])
        yield Item(
            EFS, identity, name=tags.get("Name", ""), tags=tags, status=status(found.get("LifeCycleState")),
            created=found.get("CreationTime"), note="holds data", provider=account.provider,
            drawn={"creationToken": str(found.get("CreationToken"))},
        )  # fmt: skip
        for target in account.pages("efs", "describe_mount_targets", "MountTargets", FileSystemId=identity):
            keys = {"fileSystemId": identity, "subnetId": str(target["SubnetId"])}
            yield Item(
                TARGET, target["MountTargetId"], keys=keys, status=status(target.get("LifeCycleState")),
                provider=account.provider,
            )  # fmt: skip
        for point in account.pages("efs", "describe_access_points", "AccessPoints", FileSystemId=identity):
            keys, own = {"fileSystemId": identity}, tag_map(point.get("Tags"))
            yield Item(
                POINT, point["AccessPointId"], name=own.get("Name", ""), tags=own, keys=keys,
                status=status(point.get("LifeCycleState")), provider=account.provider,
            )  # fmt: skip
