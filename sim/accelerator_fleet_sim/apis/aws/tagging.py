"""The Resource Groups Tagging API: what is tagged in a region, without IAM.

"The GetResources operation does not currently support IAM users and roles", and it answers nothing for Auto Scaling
groups: https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/supported-services.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...aws.errors import AwsError
from ...aws.launch import BLOCK, INSTANCE, RESERVATION
from ...aws.scope import Scope
from ...aws.services.eks import ADDON, ASSOCIATION, CLUSTER, ENTRY, KEY
from ...aws.services.nodegroups import NODE_GROUP
from ...aws.services.security import EGRESS, INGRESS
from ...aws.services.storage import FILES
from ...aws.services.templates import PLACEMENT, TEMPLATE
from ...aws.services.vpc import EIP, GATEWAY, GROUP, NAT, SUBNET, TABLE, VPC
from ...daemon.store import Resource
from . import ec2, ec2_capacity
from .calls import Call, page, served, tag_list, tags_of
from .ec2_network import ENDPOINT
from .efs import POINT
from .eks import ARNS
from .small import LOG_GROUP

Item = dict[str, Any]
# type -> (resource type as filters name it, the ARN's last part for EC2)
EC2 = {
    VPC: "vpc", SUBNET: "subnet", GATEWAY: "internet-gateway", EIP: "elastic-ip", NAT: "natgateway",
    TABLE: "route-table", INGRESS: "security-group-rule", EGRESS: "security-group-rule", TEMPLATE: "launch-template",
    PLACEMENT: "placement-group", RESERVATION: "capacity-reservation", BLOCK: "capacity-reservation",
    ENDPOINT: "vpc-endpoint",
}  # fmt: skip
OTHERS: dict[str, tuple[str, Callable[[Resource], str]]] = {
    CLUSTER: ("eks:cluster", ARNS[CLUSTER]), NODE_GROUP: ("eks:nodegroup", ARNS[NODE_GROUP]),
    ADDON: ("eks:addon", ARNS[ADDON]), ENTRY: ("eks:access-entry", ARNS[ENTRY]),
    ASSOCIATION: ("eks:podidentityassociation", ARNS[ASSOCIATION]),
    FILES: ("elasticfilesystem:file-system", lambda r: str(r.outputs["arn"])),
    POINT: ("elasticfilesystem:access-point", lambda r: str(r.outputs["arn"])),
    KEY: ("kms:key", lambda r: str(r.outputs["arn"])),
    LOG_GROUP: ("logs:log-group", lambda r: str(r.outputs["arn"])),
}  # fmt: skip


def tagged(scope: Scope) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(resource type, ARN, tags) of everything in the region."""
    for kind, name in EC2.items():
        for found in scope.all(kind):
            yield f"ec2:{name}", scope.arn("ec2", f"{name}/{found.id}"), tags_of(found)
    own = ec2.own_rules(scope)
    for group in scope.all(GROUP):
        item = ec2.group_item(scope, group, own)
        yield "ec2:security-group", item["SecurityGroupArn"], {t["Key"]: t["Value"] for t in item["Tags"]}
    groups = {f"nodegroup:{scope.region}/{g.id}": g for g in scope.all(NODE_GROUP)}
    for machine in scope.all(INSTANCE):
        tags = ec2_capacity.instance(scope, machine, groups, {})["Tags"]
        yield "ec2:instance", scope.arn("ec2", f"instance/{machine.id}"), {t["Key"]: t["Value"] for t in tags}
    for kind, (name, arn) in OTHERS.items():
        for found in scope.all(kind):
            yield name, arn(found), tags_of(found)


def _wanted(kind: str, tags: dict[str, str], filters: list[Item], kinds: list[str]) -> bool:
    if kinds and not any(kind == k or kind.startswith(f"{k}:") for k in kinds):
        return False
    return all(
        f["Key"] in tags and (not f.get("Values") or tags[f["Key"]] in f["Values"]) for f in filters
    )  # fmt: skip


@served("resourcegroupstaggingapi", "GetResources", "TagFilters", "ResourceTypeFilters", "ResourceARNList",
        "ResourcesPerPage", "PaginationToken")  # fmt: skip
def get_resources(call: Call) -> Item:
    params = call.params
    arns, filters = params.get("ResourceARNList") or [], params.get("TagFilters") or []
    kinds = params.get("ResourceTypeFilters") or []
    if arns and (filters or kinds):
        raise AwsError("InvalidParameterException", "ResourceARNList cannot be used with TagFilters or "
                       "ResourceTypeFilters")  # fmt: skip
    _check_kinds(kinds)
    rows = [
        {"ResourceARN": arn, "Tags": tag_list(tags)}
        for kind, arn, tags in tagged(call.scope)
        if tags and (arn in arns if arns else _wanted(kind, tags, filters, kinds))
    ]
    found, after = page(rows, params.get("ResourcesPerPage"), params.get("PaginationToken"), 100, lambda t: AwsError(
        "PaginationTokenExpiredException", "the token is invalid"))  # fmt: skip
    return {"ResourceTagMappingList": found, "PaginationToken": after or ""}


def _check_kinds(kinds: list[str]) -> None:
    """A type that is not known here is refused: nothing found would be a lie."""
    known = (
        {f"ec2:{n}" for n in EC2.values()} | {n for n, _ in OTHERS.values()} | {"ec2:security-group", "ec2:instance"}
    )
    services = {k.partition(":")[0] for k in known}
    for kind in kinds:
        if kind not in known and kind not in services:
            raise AwsError("NotServed", f"resource type {kind} is not known to the embedded datacentre; it knows "
                           f"{', '.join(sorted(known))}", 501)  # fmt: skip
