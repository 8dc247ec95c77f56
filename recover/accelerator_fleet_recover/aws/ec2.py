"""Networks, addresses, groups and templates of a fleet in EC2."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from accelerator_fleet_recover.aws.session import GONE, Account, status, tag_map
from accelerator_fleet_recover.model import Item

# list, its key, the id's key, what it hangs on, when it was made
Row = tuple[str, str, str, dict[str, str], str]
TAGGED: dict[str, Row] = {
    "aws:ec2/vpc:Vpc": ("describe_vpcs", "Vpcs", "VpcId", {}, ""),
    "aws:ec2/subnet:Subnet": ("describe_subnets", "Subnets", "SubnetId", {"vpcId": "VpcId"}, ""),
    "aws:ec2/internetGateway:InternetGateway": (
        "describe_internet_gateways", "InternetGateways", "InternetGatewayId", {}, ""),
    "aws:ec2/eip:Eip": ("describe_addresses", "Addresses", "AllocationId", {}, ""),
    "aws:ec2/natGateway:NatGateway": (
        "describe_nat_gateways", "NatGateways", "NatGatewayId", {"subnetId": "SubnetId"}, "CreateTime"),
    "aws:ec2/routeTable:RouteTable": ("describe_route_tables", "RouteTables", "RouteTableId", {"vpcId": "VpcId"}, ""),
    "aws:ec2/securityGroup:SecurityGroup": (
        "describe_security_groups", "SecurityGroups", "GroupId", {"vpcId": "VpcId"}, ""),
    "aws:ec2/launchTemplate:LaunchTemplate": (
        "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId", {}, "CreateTime"),
    "aws:ec2/placementGroup:PlacementGroup": ("describe_placement_groups", "PlacementGroups", "GroupName", {}, ""),
    # A block that was bought and is in no state is adopted: another `up` would ask to buy it again.
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": (
        "describe_capacity_reservations", "CapacityReservations", "CapacityReservationId", {}, "CreateDate"),
}  # fmt: skip
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
OVER = frozenset({"expired", "cancelled", "payment-failed"})  # of a block: nothing is left to adopt
NAMES = {
    "aws:ec2/securityGroup:SecurityGroup": "GroupName",
    "aws:ec2/launchTemplate:LaunchTemplate": "LaunchTemplateName",
    "aws:ec2/placementGroup:PlacementGroup": "GroupName",
}
NAT_USD_AN_HOUR = 0.045  # https://aws.amazon.com/vpc/pricing/, US regions, without traffic


def items(account: Account) -> Iterator[Item]:
    """Everything in EC2 that bears the fleet's tags, and what hangs on it without tags of its own."""
    for kind, (operation, key, identity, keys, made) in TAGGED.items():
        for found in account.tagged(operation, key):
            if found.get("State") in GONE:
                continue
            if kind == BLOCK and (found.get("ReservationType") != "capacity-block" or found.get("State") in OVER):
                continue  # an on-demand reservation is somebody else's
            item = _item(account, kind, found, str(found[identity]), keys, found.get(made) if made else None)
            if kind == "aws:ec2/internetGateway:InternetGateway":
                attachments = found.get("Attachments") or []
                attached = {"vpcId": str(attachments[0]["VpcId"])} if attachments else {}
                item = _item(account, kind, found, item.imports, {}, None, attached)
            yield item
            if kind == "aws:ec2/routeTable:RouteTable":
                yield from _of_table(account, found)
            if kind == "aws:ec2/securityGroup:SecurityGroup":
                yield from _rules(account, item)


def _item(
    account: Account,
    kind: str,
    found: dict[str, Any],
    identity: str,
    keys: dict[str, str],
    made: datetime | None,
    more: dict[str, str] | None = None,
) -> Item:
    tags = tag_map(found.get("Tags"))
    known = {name: str(found[key]) for name, key in keys.items() if found.get(key)} | (more or {})
    cost = NAT_USD_AN_HOUR if kind == "aws:ec2/natGateway:NatGateway" else None
    name = str(found[NAMES[kind]]) if kind in NAMES else tags.get("Name", "")
    return Item(
        kind, identity, name=name, tags=tags, keys=known, status=status(found.get("State")), created=made, cost=cost,
        provider=account.provider,
    )  # fmt: skip


def _of_table(account: Account, table: dict[str, Any]) -> Iterator[Item]:
    """Routes and associations of a table. Their ids for an import are made of what they join."""
    identity = table["RouteTableId"]
    for route in table.get("Routes") or []:
        to = (
            route.get("DestinationCidrBlock")
            or route.get("DestinationIpv6CidrBlock")
            or route.get("DestinationPrefixListId")
        )
        if route.get("Origin") == "CreateRoute" and to:
            yield Item(
                "aws:ec2/route:Route", f"{identity}_{to}", keys={"routeTableId": identity, "destinationCidrBlock": to},
                provider=account.provider,
            )  # fmt: skip
    for one in table.get("Associations") or []:
        if one.get("Main") or not one.get("SubnetId"):
            continue
        if (one.get("AssociationState") or {}).get("State") in {"disassociated", "disassociating"}:
            continue
        yield Item(
            "aws:ec2/routeTableAssociation:RouteTableAssociation", f"{one['SubnetId']}/{identity}",
            id=one["RouteTableAssociationId"], keys={"routeTableId": identity, "subnetId": one["SubnetId"]},
            provider=account.provider,
        )  # fmt: skip


def _rules(account: Account, group: Item) -> Iterator[Item]:
    filters = [{"Name": "group-id", "Values": [group.imports]}]
    for rule in account.pages("ec2", "describe_security_group_rules", "SecurityGroupRules", Filters=filters):
        tags = tag_map(rule.get("Tags"))
        if not account.owns(tags):
            continue  # what came with the group
        way = "Egress" if rule["IsEgress"] else "Ingress"
        peer = rule.get("ReferencedGroupInfo") or {}
        keys = {
            "securityGroupId": group.imports,
            "ipProtocol": str(rule["IpProtocol"]),
            "fromPort": str(rule.get("FromPort", -1)),
            "peer": str(rule.get("CidrIpv4") or rule.get("CidrIpv6") or peer.get("GroupId") or ""),
        }
        yield Item(
            f"aws:vpc/securityGroup{way}Rule:SecurityGroup{way}Rule", rule["SecurityGroupRuleId"],
            name=tags.get("Name", ""), tags=tags, keys=keys, provider=account.provider,
        )  # fmt: skip
