"""EC2's security groups, regions and zones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...aws.errors import AwsError
from ...aws.scope import Scope
from ...aws.services.security import EGRESS, INGRESS
from ...aws.services.vpc import GROUP
from ...daemon.store import Resource
from .calls import Call, served, tag_list, tags_of
from .filters import NAMED, Kind, describe

Item = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """One rule: a resource of its own, one inside its group, or one that AWS made."""

    group: str
    egress: bool
    protocol: str
    ports: tuple[int, int] | None  # None: all
    kind: str  # cidr4, cidr6, prefix or group
    peer: str
    description: str | None = None
    id: str = ""
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The rule's own id, or one drawn from what it says."""
        text = f"{self.group}/{self.egress}/{self.protocol}/{self.ports}/{self.kind}/{self.peer}"
        return self.id or f"sgr-0{hashlib.sha256(text.encode()).hexdigest()[:16]}"


PEERS = {"cidrIpv4": "cidr4", "cidrIpv6": "cidr6", "prefixListId": "prefix", "referencedSecurityGroupId": "group"}
INLINE = {"cidrBlocks": "cidr4", "ipv6CidrBlocks": "cidr6", "prefixListIds": "prefix", "securityGroups": "group"}


def _protocol(value: Any) -> str:
    return "-1" if str(value).lower() == "all" else str(value).lower()


def _ports(protocol: str, low: Any, high: Any) -> tuple[int, int] | None:
    return None if protocol == "-1" or low is None else (int(low), int(high))


def _own_rule(resource: Resource) -> Rule:
    out = resource.outputs
    kind, peer = next((k, str(out[name])) for name, k in PEERS.items() if out.get(name))
    protocol = _protocol(out["ipProtocol"])
    return Rule(out["securityGroupId"], resource.type == EGRESS, protocol,
                _ports(protocol, out.get("fromPort"), out.get("toPort")), kind, peer, out.get("description") or None,
                resource.id, tags_of(resource))  # fmt: skip


def _inline(group: Resource) -> Iterator[Rule]:
    for name, egress in (("ingress", False), ("egress", True)):
        for row in group.outputs.get(name) or []:
            protocol = _protocol(row["protocol"])
            ports = _ports(protocol, row.get("fromPort"), row.get("toPort"))
            peers = [(k, str(p)) for n, k in INLINE.items() for p in row.get(n) or []]
            peers += [("group", group.id)] if row.get("self") else []
            for kind, peer in peers:
                yield Rule(group.id, egress, protocol, ports, kind, peer, row.get("description") or None)


def rules(scope: Scope, group: Resource, own: list[Resource]) -> list[Rule]:
    """All rules of a group. VPCs' default groups and clusters' groups have AWS's: all from itself, all outwards."""
    found = [_own_rule(r) for r in own if r.outputs["securityGroupId"] == group.id]
    found += list(_inline(group))
    if group.owner.startswith(("vpc:", "cluster:")):
        found.append(Rule(group.id, False, "-1", None, "group", group.id))
        found.append(Rule(group.id, True, "-1", None, "cidr4", "0.0.0.0/0"))
    return found


PLACES = {"cidr4": ("IpRanges", "CidrIp"), "cidr6": ("Ipv6Ranges", "CidrIpv6"),
          "group": ("UserIdGroupPairs", "GroupId"), "prefix": ("PrefixListIds", "PrefixListId")}  # fmt: skip


def _permissions(account: str, wanted: list[Rule]) -> list[Item]:
    """Rules as groups show them: one entry a protocol and port range."""
    table: dict[tuple[str, Any], Item] = {}
    for rule in wanted:
        item = table.setdefault((rule.protocol, rule.ports), {
            "IpProtocol": rule.protocol, "IpRanges": [], "Ipv6Ranges": [], "PrefixListIds": [], "UserIdGroupPairs": [],
            **({"FromPort": rule.ports[0], "ToPort": rule.ports[1]} if rule.ports else {}),
        })  # fmt: skip
        place, key = PLACES[rule.kind]
        entry = {key: rule.peer, **({"Description": rule.description} if rule.description else {})}
        item[place].append({**entry, "UserId": account} if rule.kind == "group" else entry)
    return list(table.values())


def _group_tags(group: Resource) -> dict[str, str]:
    """A cluster's own group is tagged by EKS (EKS user guide, security group requirements; from memory)."""
    if group.owner.startswith("cluster:"):
        cluster = group.owner.rpartition("/")[2]
        return {"Name": f"eks-cluster-sg-{cluster}-{group.outputs['name'].rpartition('-')[2]}",
                "aws:eks:cluster-name": cluster, f"kubernetes.io/cluster/{cluster}": "owned"}  # fmt: skip
    return tags_of(group)


GROUPS = Kind(
    "GroupId", "GroupIds",
    {"group-id": "GroupId", "group-name": "GroupName", "vpc-id": "VpcId", "description": "Description",
     "owner-id": "OwnerId", "ip-permission.group-id": "IpPermissions.UserIdGroupPairs.GroupId",
     "ip-permission.cidr": "IpPermissions.IpRanges.CidrIp", "ip-permission.protocol": "IpPermissions.IpProtocol",
     "egress.ip-permission.group-id": "IpPermissionsEgress.UserIdGroupPairs.GroupId",
     "egress.ip-permission.cidr": "IpPermissionsEgress.IpRanges.CidrIp"},
    ("InvalidGroup.NotFound", "The security group '{ids}' does not exist"), "InvalidGroupId.Malformed", "sg",
)  # fmt: skip


def group_item(scope: Scope, group: Resource, own: list[Resource]) -> Item:
    """A security group with its rules."""
    found = rules(scope, group, own)
    return {
        "GroupId": group.id, "GroupName": group.outputs["name"], "Description": group.outputs.get("description") or "",
        "VpcId": group.outputs["vpcId"], "OwnerId": group.account, "Tags": tag_list(_group_tags(group)),
        "SecurityGroupArn": scope.arn("ec2", f"security-group/{group.id}"),
        "IpPermissions": _permissions(group.account, [r for r in found if not r.egress]),
        "IpPermissionsEgress": _permissions(group.account, [r for r in found if r.egress]),
    }  # fmt: skip


def own_rules(scope: Scope) -> list[Resource]:
    """Rules that are resources."""
    return [*scope.all(INGRESS), *scope.all(EGRESS)]


@served("ec2", "DescribeSecurityGroups", "GroupIds", "GroupNames", *NAMED)
def describe_security_groups(call: Call) -> Item:
    if call.params.get("GroupNames"):
        raise AwsError("InvalidParameterValue", "names find groups in a default VPC only, and there is none; filter by "
                       "group-name")  # fmt: skip
    own = own_rules(call.scope)
    found, more = describe(call, GROUPS, [group_item(call.scope, g, own) for g in call.scope.all(GROUP)])
    return {"SecurityGroups": found, **more}


RULES = Kind(
    "SecurityGroupRuleId", "SecurityGroupRuleIds",
    {"group-id": "GroupId", "security-group-rule-id": "SecurityGroupRuleId"},
    ("InvalidSecurityGroupRuleId.NotFound", "The security group rule ID '{ids}' does not exist"),
    "InvalidSecurityGroupRuleId.Malformed", "sgr",
)  # fmt: skip


def rule_item(scope: Scope, rule: Rule) -> Item:
    """One rule as DescribeSecurityGroupRules shows it."""
    peers: dict[str, Item] = {
             "cidr4": {"CidrIpv4": rule.peer}, "cidr6": {"CidrIpv6": rule.peer}, "prefix": {"PrefixListId": rule.peer},
             "group": {"ReferencedGroupInfo": {"GroupId": rule.peer, "UserId": scope.account}}}  # fmt: skip
    low, high = rule.ports or (-1, -1)
    return {
        "SecurityGroupRuleId": rule.identity, "GroupId": rule.group, "GroupOwnerId": scope.account,
        "IsEgress": rule.egress, "IpProtocol": rule.protocol, "FromPort": low, "ToPort": high,
        "Description": rule.description, "Tags": tag_list(rule.tags),
        "SecurityGroupRuleArn": scope.arn("ec2", f"security-group-rule/{rule.identity}"), **peers[rule.kind],
    }  # fmt: skip


@served("ec2", "DescribeSecurityGroupRules", "SecurityGroupRuleIds", *NAMED)
def describe_security_group_rules(call: Call) -> Item:
    scope, own = call.scope, own_rules(call.scope)
    items = [rule_item(scope, r) for g in scope.all(GROUP) for r in rules(scope, g, own)]
    found, more = describe(call, RULES, items)
    return {"SecurityGroupRules": found, **more}


ZONES = Kind("ZoneName", "ZoneNames", {"zone-name": "ZoneName", "zone-id": "ZoneId", "region-name": "RegionName",
             "state": "State", "zone-type": "ZoneType", "opt-in-status": "OptInStatus", "group-name": "GroupName"},
             ("InvalidParameterValue", "Invalid availability zone: [{ids}]"))  # fmt: skip


@served("ec2", "DescribeAvailabilityZones", "ZoneNames", "ZoneIds", "Filters", "AllAvailabilityZones")
def describe_availability_zones(call: Call) -> Item:
    region = call.scope.region
    items = [
        {"State": "available", "OptInStatus": "opt-in-not-required", "RegionName": region, "ZoneName": name,
         "ZoneId": identity, "GroupName": f"{region}-zg-1", "NetworkBorderGroup": region,
         "ZoneType": "availability-zone", "Messages": []}
        for name, identity in call.scope.catalog.zones(region).items()
    ]  # fmt: skip
    wanted = call.params.get("ZoneIds") or []
    gone = [z for z in wanted if all(i["ZoneId"] != z for i in items)]
    if gone:
        raise AwsError("InvalidParameterValue", f"Invalid availability zone-id: [{', '.join(gone)}]")
    found, _ = describe(call, ZONES, [i for i in items if not wanted or i["ZoneId"] in wanted])
    return {"AvailabilityZones": found}
