"""EC2's networks as its describe calls show them: VPCs, subnets, gateways, addresses, route tables, interfaces."""

from __future__ import annotations

import ipaddress
from collections import Counter
from typing import Any

from ...aws.errors import AwsError
from ...aws.scope import INTERFACE, Scope
from ...aws.services.routing import ASSOCIATION, ROUTE
from ...aws.services.vpc import EIP, GATEWAY, NAT, SUBNET, TABLE, VPC
from ...daemon.store import Resource
from .calls import Call, moment, served, tag_list, tags_of
from .filters import NAMED, Kind, describe

ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
Item = dict[str, Any]


def state(resource: Resource, ready: str = "available") -> str:
    """The state words of EC2's networks."""
    return {"creating": "pending", "deleting": "deleting", "failed": "failed"}.get(resource.state, ready)


# -- VPCs ------------------------------------------------------------------------------------------------------------
VPCS = Kind(
    "VpcId", "VpcIds",
    {"vpc-id": "VpcId", "cidr": "CidrBlock", "state": "State", "owner-id": "OwnerId", "is-default": "IsDefault",
     "isDefault": "IsDefault", "cidr-block-association.cidr-block": "CidrBlockAssociationSet.CidrBlock",
     "dhcp-options-id": "DhcpOptionsId"},
    ("InvalidVpcID.NotFound", "The vpc ID '{ids}' does not exist"), "InvalidVpcID.Malformed", "vpc",
)  # fmt: skip


def vpc(resource: Resource) -> Item:
    """A VPC."""
    out = resource.outputs
    block = {"AssociationId": f"vpc-cidr-assoc-{resource.id[4:]}", "CidrBlock": out["cidrBlock"],
             "CidrBlockState": {"State": "associated"}}  # fmt: skip
    return {
        "VpcId": resource.id, "CidrBlock": out["cidrBlock"], "State": "pending" if resource.state == "creating" else
        "available", "OwnerId": out["ownerId"], "DhcpOptionsId": out.get("dhcpOptionsId"), "IsDefault": False,
        "InstanceTenancy": out.get("instanceTenancy") or "default", "CidrBlockAssociationSet": [block],
        "Tags": tag_list(tags_of(resource)),
    }  # fmt: skip


@served("ec2", "DescribeVpcs", "VpcIds", *NAMED)
def describe_vpcs(call: Call) -> Item:
    found, more = describe(call, VPCS, [vpc(v) for v in call.scope.all(VPC)])
    return {"Vpcs": found, **more}


@served("ec2", "DescribeVpcAttribute", "VpcId", "Attribute")
def describe_vpc_attribute(call: Call) -> Item:
    found = call.scope.find(VPC, call.params["VpcId"])
    if found is None:
        raise AwsError("InvalidVpcID.NotFound", f"The vpc ID '{call.params['VpcId']}' does not exist")
    name = str(call.params["Attribute"])
    return {"VpcId": found.id, name[0].upper() + name[1:]: {"Value": bool(found.outputs.get(name))}}


# -- subnets ---------------------------------------------------------------------------------------------------------
SUBNETS = Kind(
    "SubnetId", "SubnetIds",
    {"subnet-id": "SubnetId", "vpc-id": "VpcId", "availability-zone": "AvailabilityZone", "state": "State",
     "availabilityZone": "AvailabilityZone", "availability-zone-id": "AvailabilityZoneId", "cidr-block": "CidrBlock",
     "cidr": "CidrBlock", "cidrBlock": "CidrBlock", "owner-id": "OwnerId", "subnet-arn": "SubnetArn",
     "map-public-ip-on-launch": "MapPublicIpOnLaunch", "default-for-az": "DefaultForAz"},
    ("InvalidSubnetID.NotFound", "The subnet ID '{ids}' does not exist"), "InvalidSubnetID.Malformed", "subnet",
)  # fmt: skip


def subnet(resource: Resource, taken: int) -> Item:
    """A subnet; `taken` are its interfaces."""
    out = resource.outputs
    size = ipaddress.ip_network(out["cidrBlock"]).num_addresses
    return {
        "SubnetId": resource.id, "SubnetArn": out["arn"], "VpcId": out["vpcId"], "CidrBlock": out["cidrBlock"],
        "State": "pending" if resource.state == "creating" else "available", "OwnerId": out["ownerId"],
        "AvailabilityZone": out["availabilityZone"], "AvailabilityZoneId": out["availabilityZoneId"],
        "AvailableIpAddressCount": size - 5 - taken, "DefaultForAz": False, "Ipv6Native": False, "EnableDns64": False,
        "MapPublicIpOnLaunch": bool(out.get("mapPublicIpOnLaunch")), "MapCustomerOwnedIpOnLaunch": False,
        "AssignIpv6AddressOnCreation": False, "Ipv6CidrBlockAssociationSet": [],
        "PrivateDnsNameOptionsOnLaunch": {
            "HostnameType": out.get("privateDnsHostnameTypeOnLaunch") or "ip-name",
            "EnableResourceNameDnsARecord": bool(out.get("enableResourceNameDnsARecordOnLaunch")),
            "EnableResourceNameDnsAAAARecord": False,
        },
        "Tags": tag_list(tags_of(resource)),
    }  # fmt: skip


@served("ec2", "DescribeSubnets", "SubnetIds", *NAMED)
def describe_subnets(call: Call) -> Item:
    taken = Counter(i.outputs["subnetId"] for i in call.scope.interfaces())
    found, more = describe(call, SUBNETS, [subnet(s, taken[s.id]) for s in call.scope.all(SUBNET)])
    return {"Subnets": found, **more}


# -- gateways and addresses ------------------------------------------------------------------------------------------
GATEWAYS = Kind(
    "InternetGatewayId", "InternetGatewayIds",
    {"internet-gateway-id": "InternetGatewayId", "attachment.vpc-id": "Attachments.VpcId", "owner-id": "OwnerId",
     "attachment.state": "Attachments.State"},
    ("InvalidInternetGatewayID.NotFound", "The internetGateway ID '{ids}' does not exist"),
    "InvalidInternetGatewayId.Malformed", "igw",
)  # fmt: skip


@served("ec2", "DescribeInternetGateways", "InternetGatewayIds", *NAMED)
def describe_internet_gateways(call: Call) -> Item:
    items = [
        {"InternetGatewayId": g.id, "OwnerId": g.outputs["ownerId"], "Tags": tag_list(tags_of(g)),
         "Attachments": [{"State": "available", "VpcId": v}] if (v := g.outputs.get("vpcId")) else []}
        for g in call.scope.all(GATEWAY)
    ]  # fmt: skip
    found, more = describe(call, GATEWAYS, items)
    return {"InternetGateways": found, **more}


NATS = Kind(
    "NatGatewayId", "NatGatewayIds",
    {"nat-gateway-id": "NatGatewayId", "state": "State", "subnet-id": "SubnetId", "vpc-id": "VpcId"},
    ("NatGatewayNotFound", "The Nat Gateway {ids} was not found"), "NatGatewayMalformed", "nat",
)  # fmt: skip


def nat(resource: Resource) -> Item:
    """A NAT gateway."""
    out = resource.outputs
    address = {
        "AllocationId": out.get("allocationId") or None, "NetworkInterfaceId": out.get("networkInterfaceId"),
        "PrivateIp": out.get("privateIp"), "PublicIp": out.get("publicIp") or None, "IsPrimary": True,
        "AssociationId": out.get("associationId") or None, "Status": "succeeded",
    }  # fmt: skip
    failed = {"FailureCode": "Gateway.NotAttached", "FailureMessage":
              f"Network {resource.hidden['vpc']} has no Internet gateway attached"}  # fmt: skip
    return {
        "NatGatewayId": resource.id, "State": state(resource), "SubnetId": out["subnetId"],
        "VpcId": resource.hidden["vpc"], "ConnectivityType": out.get("connectivityType") or "public",
        "CreateTime": moment(resource.created), "NatGatewayAddresses": [address], "Tags": tag_list(tags_of(resource)),
        **(failed if resource.state == "failed" else {}),
    }  # fmt: skip


@served("ec2", "DescribeNatGateways", "NatGatewayIds", "Filter", "NextToken", "MaxResults")
def describe_nat_gateways(call: Call) -> Item:
    renamed = Call(call.scope, {**call.params, "Filters": call.params.get("Filter")}, call.control)
    found, more = describe(renamed, NATS, [nat(n) for n in call.scope.all(NAT)])
    return {"NatGateways": found, **more}


ADDRESSES = Kind(
    "AllocationId", "AllocationIds",
    {"allocation-id": "AllocationId", "association-id": "AssociationId", "public-ip": "PublicIp", "domain": "Domain",
     "network-interface-id": "NetworkInterfaceId", "private-ip-address": "PrivateIpAddress",
     "network-border-group": "NetworkBorderGroup"},
    ("InvalidAllocationID.NotFound", "The allocation ID '{ids}' does not exist"),
)  # fmt: skip


def address(resource: Resource) -> Item:
    """An elastic address."""
    out = resource.outputs
    names = {
        "AssociationId": "associationId",
        "NetworkInterfaceId": "networkInterface",
        "PrivateIpAddress": "privateIp",
    }
    where = {k: out[v] for k, v in names.items() if out.get(v)}
    return {
        "AllocationId": resource.id, "PublicIp": out["publicIp"], "Domain": "vpc", "Tags": tag_list(tags_of(resource)),
        "PublicIpv4Pool": out["publicIpv4Pool"], "NetworkBorderGroup": out["networkBorderGroup"], **where,
        **({"NetworkInterfaceOwnerId": resource.account} if where else {}),
    }  # fmt: skip


@served("ec2", "DescribeAddresses", "AllocationIds", "PublicIps", "Filters")
def describe_addresses(call: Call) -> Item:
    items = [address(a) for a in call.scope.all(EIP)]
    by_ip = call.params.get("PublicIps") or []
    gone = [i for i in by_ip if all(a["PublicIp"] != i for a in items)]
    if gone:
        raise AwsError("InvalidAddress.NotFound", f"Address '{gone[0]}' not found.")
    items = [a for a in items if not by_ip or a["PublicIp"] in by_ip]
    return {"Addresses": describe(call, ADDRESSES, items)[0]}


# -- route tables ----------------------------------------------------------------------------------------------------
TABLES = Kind(
    "RouteTableId", "RouteTableIds",
    {"route-table-id": "RouteTableId", "vpc-id": "VpcId", "owner-id": "OwnerId", "association.main":
     "Associations.Main", "association.route-table-association-id": "Associations.RouteTableAssociationId",
     "association.route-table-id": "Associations.RouteTableId", "association.subnet-id": "Associations.SubnetId",
     "route.destination-cidr-block": "Routes.DestinationCidrBlock", "route.gateway-id": "Routes.GatewayId",
     "route.nat-gateway-id": "Routes.NatGatewayId"},
    ("InvalidRouteTableID.NotFound", "The routeTable ID '{ids}' does not exist"), "InvalidRouteTableId.Malformed",
    "rtb", most=100,
)  # fmt: skip
ROUTE_NAMES = {
    "destinationCidrBlock": "DestinationCidrBlock", "cidrBlock": "DestinationCidrBlock", "natGatewayId": "NatGatewayId",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock", "ipv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId", "gatewayId": "GatewayId", "vpcEndpointId": "GatewayId",
    "networkInterfaceId": "NetworkInterfaceId", "instanceId": "InstanceId",
}  # fmt: skip


def _route(values: Item) -> Item:
    found = {api: values[own] for own, api in ROUTE_NAMES.items() if values.get(own)}
    return {**found, "Origin": "CreateRoute", "State": "active"}


def table(scope: Scope, resource: Resource, routes: list[Resource], associations: list[Resource]) -> Item:
    """A route table with the VPC's own route, those inside it and those that are resources of their own."""
    out, network = resource.outputs, scope.find(VPC, resource.outputs["vpcId"])
    local = {"GatewayId": "local", "Origin": "CreateRouteTable", "State": "active",
             "DestinationCidrBlock": network.outputs["cidrBlock"] if network else None}  # fmt: skip
    inline = [_route(r) for r in out.get("routes") or [] if r.get("gatewayId") != "local"]
    own = [_route(r.outputs) for r in routes if r.outputs["routeTableId"] == resource.id]
    gateways = [
        {"DestinationPrefixListId": e.outputs["prefixListId"], "GatewayId": e.id, "Origin": "CreateRoute",
         "State": "active"}
        for e in scope.all(ENDPOINT) if resource.id in (e.outputs.get("routeTableIds") or [])
        if e.outputs.get("prefixListId")
    ]  # fmt: skip
    attached: list[Item] = [
        {"Main": False, "RouteTableAssociationId": a.id, "RouteTableId": resource.id,
         "SubnetId": a.outputs.get("subnetId") or None, "GatewayId": a.outputs.get("gatewayId") or None,
         "AssociationState": {"State": "associated"}}
        for a in associations if a.outputs["routeTableId"] == resource.id
    ]  # fmt: skip
    if out.get("main"):
        attached.append({"Main": True, "RouteTableAssociationId": f"rtbassoc-{resource.id[4:]}", "RouteTableId":
                         resource.id, "AssociationState": {"State": "associated"}})  # fmt: skip
    return {
        "RouteTableId": resource.id, "VpcId": out["vpcId"], "OwnerId": resource.account, "PropagatingVgws": [],
        "Routes": [local, *inline, *own, *gateways], "Tags": tag_list(tags_of(resource)),
        "Associations": [{k: v for k, v in a.items() if v is not None} for a in attached],
    }  # fmt: skip


@served("ec2", "DescribeRouteTables", "RouteTableIds", *NAMED)
def describe_route_tables(call: Call) -> Item:
    scope = call.scope
    routes, associations = scope.all(ROUTE), scope.all(ASSOCIATION)
    items = [table(scope, t, routes, associations) for t in scope.all(TABLE)]
    found, more = describe(call, TABLES, items)
    return {"RouteTables": found, **more}


# -- interfaces and endpoints ----------------------------------------------------------------------------------------
INTERFACES = Kind(
    "NetworkInterfaceId", "NetworkInterfaceIds",
    {"network-interface-id": "NetworkInterfaceId", "vpc-id": "VpcId", "subnet-id": "SubnetId", "status": "Status",
     "group-id": "Groups.GroupId", "description": "Description", "private-ip-address": "PrivateIpAddress",
     "availability-zone": "AvailabilityZone", "interface-type": "InterfaceType", "owner-id": "OwnerId",
     "requester-managed": "RequesterManaged", "attachment.instance-id": "Attachment.InstanceId"},
    ("InvalidNetworkInterfaceID.NotFound", "The networkInterface ID '{ids}' does not exist"),
    "InvalidNetworkInterfaceId.Malformed", "eni",
)  # fmt: skip


def interface(resource: Resource, groups: dict[str, str], instances: dict[str, str]) -> Item:
    """A network interface; `groups`: id -> name, `instances`: primary interface -> instance."""
    out = resource.outputs
    maker, instance = resource.owner.partition(":")[0], instances.get(resource.id)
    return {
        "NetworkInterfaceId": resource.id, "VpcId": out["vpcId"], "SubnetId": out["subnetId"], "Status": "in-use",
        "AvailabilityZone": out["availabilityZone"], "Description": out["description"], "OwnerId": resource.account,
        "InterfaceType": "nat_gateway" if maker == "natgateway" else "interface", "SourceDestCheck": True,
        "RequesterManaged": maker != "nodegroup", "PrivateIpAddress": out["privateIp"], "TagSet": [],
        "PrivateIpAddresses": [{"Primary": True, "PrivateIpAddress": out["privateIp"]}],
        "Groups": [{"GroupId": g, "GroupName": groups.get(g, "")} for g in out.get("securityGroups") or []],
        "Attachment": {"InstanceId": instance, "DeviceIndex": 0, "Status": "attached", "DeleteOnTermination": True,
                       "InstanceOwnerId": resource.account} if instance else None,
    }  # fmt: skip


@served("ec2", "DescribeNetworkInterfaces", "NetworkInterfaceIds", *NAMED)
def describe_network_interfaces(call: Call) -> Item:
    scope = call.scope
    groups = {g.id: g.outputs["name"] for g in scope.all("aws:ec2/securityGroup:SecurityGroup")}
    instances = {i.outputs["primaryNetworkInterfaceId"]: i.id for i in scope.all("aws:ec2/instance:Instance")}
    found, more = describe(call, INTERFACES, [interface(i, groups, instances) for i in scope.all(INTERFACE)])
    return {"NetworkInterfaces": found, **more}


ENDPOINTS = Kind(
    "VpcEndpointId", "VpcEndpointIds",
    {"vpc-endpoint-id": "VpcEndpointId", "vpc-id": "VpcId", "service-name": "ServiceName", "vpc-endpoint-type":
     "VpcEndpointType", "vpc-endpoint-state": "State"},
    ("InvalidVpcEndpointId.NotFound", "The Vpc Endpoint Id '{ids}' does not exist"), "InvalidVpcEndpointId.Malformed",
    "vpce",
)  # fmt: skip


@served("ec2", "DescribeVpcEndpoints", "VpcEndpointIds", *NAMED)
def describe_vpc_endpoints(call: Call) -> Item:
    items = [
        {"VpcEndpointId": e.id, "VpcId": e.outputs["vpcId"], "ServiceName": e.outputs["serviceName"],
         "VpcEndpointType": e.outputs.get("vpcEndpointType") or "Gateway", "State": state(e), "OwnerId": e.account,
         "RouteTableIds": e.outputs.get("routeTableIds") or [], "SubnetIds": e.outputs.get("subnetIds") or [],
         "NetworkInterfaceIds": e.outputs.get("networkInterfaceIds") or [], "RequesterManaged": False,
         "CreationTimestamp": moment(e.created), "Tags": tag_list(tags_of(e))}
        for e in call.scope.all(ENDPOINT)
    ]  # fmt: skip
    found, more = describe(call, ENDPOINTS, items)
    return {"VpcEndpoints": found, **more}
