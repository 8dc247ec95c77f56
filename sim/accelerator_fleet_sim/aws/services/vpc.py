"""VPCs, subnets, gateways and addresses."""

from __future__ import annotations

import ipaddress
import secrets
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError, Unhealthy
from ..scope import INTERFACE, Scope

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
GATEWAY = "aws:ec2/internetGateway:InternetGateway"
NAT = "aws:ec2/natGateway:NatGateway"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
TABLE = "aws:ec2/routeTable:RouteTable"
EIP = "aws:ec2/eip:Eip"


# VPC user guide, CIDR blocks: what cannot be one
NEVER = [ipaddress.ip_network(n) for n in ("0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4")]
IPV6 = ("assignGeneratedIpv6CidrBlock", "ipv6CidrBlock", "ipv6IpamPoolId", "ipv6Native", "assignIpv6AddressOnCreation",
        "enableDns64", "enableResourceNameDnsAaaaRecordOnLaunch")  # fmt: skip


def refuse_ipv6(inputs: dict[str, Any]) -> None:
    """IPv6 is not simulated."""
    wanted = [name for name in IPV6 if inputs.get(name)]
    if wanted:
        raise AwsError("UnsupportedOperation", f"IPv6 is not simulated ({', '.join(wanted)})")


def no_interface(identity: str) -> AwsError:
    """An interface that is not there."""
    return AwsError("InvalidNetworkInterfaceID.NotFound", f"The networkInterface ID '{identity}' does not exist")


class Vpc(Behaviour):
    """A VPC brings its main route table and default security group."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        cidr = inputs.get("cidrBlock")
        if not cidr:
            raise AwsError("MissingParameter", "Either 'cidrBlock' or 'ipv4IpamPoolId' should be provided.")
        network = ipaddress.ip_network(cidr, strict=False)
        if str(network) != cidr or not 16 <= network.prefixlen <= 28 or any(network.overlaps(n) for n in NEVER):
            raise AwsError("InvalidVpc.Range", f"The CIDR '{cidr}' is invalid.")
        refuse_ipv6(inputs)
        self._check_dns(inputs)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        refuse_ipv6(inputs)
        self._check_dns({**resource.outputs, **inputs})

    @staticmethod
    def _check_dns(inputs: dict[str, Any]) -> None:
        """Host names need name resolution (botocore ec2 ModifyVpcAttribute)."""
        if inputs.get("enableDnsHostnames") and inputs.get("enableDnsSupport") is False:
            raise AwsError("InvalidParameterValue", "Value (true) for parameter enableDnsHostnames is invalid. DNS "
                           "support must be enabled.")  # fmt: skip

    def complete(self, scope: Scope, resource: Resource) -> None:
        owner = self.own(resource)
        table = scope.new(TABLE, scope.identity("rtb"), owner, {"vpcId": resource.id, "routes": [], "main": True})
        group = scope.new(GROUP, scope.identity("sg"), owner, {
            "vpcId": resource.id, "name": "default", "description": "default VPC security group",
        })  # fmt: skip
        resource.outputs |= {
            "mainRouteTableId": table.id, "defaultRouteTableId": table.id, "defaultSecurityGroupId": group.id,
        }  # fmt: skip

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for made in scope.owned(self.own(resource)):
            scope.store.remove(made)


class Subnet(Behaviour):
    """A subnet lies inside its VPC, overlaps no other, and in a zone that exists."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        cidr = inputs.get("cidrBlock")
        if not cidr:
            raise AwsError("MissingParameter", "The request must contain the parameter cidrBlock")
        vpc = scope.find(VPC, inputs["vpcId"])
        assert vpc is not None
        refuse_ipv6(inputs)
        if inputs.get("outpostArn") or inputs.get("customerOwnedIpv4Pool"):
            raise AwsError("UnsupportedOperation", "Outposts are not simulated")
        network = ipaddress.ip_network(cidr, strict=False)
        if str(network) != cidr or not 16 <= network.prefixlen <= 28:
            raise AwsError("InvalidSubnet.Range", f"The CIDR '{cidr}' is invalid.")
        if not inside(network, ipaddress.ip_network(vpc.outputs["cidrBlock"])):
            raise AwsError("InvalidSubnet.Range", f"The CIDR '{cidr}' is invalid.")
        others = scope.all(SUBNET, vpcId=vpc.id)
        for other in others:
            if network.overlaps(ipaddress.ip_network(other.outputs["cidrBlock"])):
                raise AwsError("InvalidSubnet.Conflict", f"The CIDR '{cidr}' conflicts with another subnet")
        if len(others) >= scope.catalog.account["quotas"]["subnets_per_vpc"]["value"]:
            raise AwsError("SubnetLimitExceeded", "The maximum number of subnets has been reached.")
        self._zone(scope, inputs)

    @staticmethod
    def _zone(scope: Scope, inputs: dict[str, Any]) -> str:
        zones = scope.catalog.zones(scope.region)
        wanted, wanted_id = inputs.get("availabilityZone"), inputs.get("availabilityZoneId")
        if wanted_id:
            wanted = next((z for z, i in zones.items() if i == wanted_id), wanted_id)
        if wanted and wanted not in zones:
            name = "availabilityZoneId" if wanted_id else "availabilityZone"
            raise AwsError(
                "InvalidParameterValue",
                f"Value ({wanted}) for parameter {name} is invalid. Subnets can currently only be created in the "
                f"following availability zones: {', '.join(zones.values() if wanted_id else zones)}.",
            )
        return wanted or next(iter(zones))

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        refuse_ipv6(inputs)

    def complete(self, scope: Scope, resource: Resource) -> None:
        zone = self._zone(scope, resource.inputs)
        resource.outputs |= {
            "availabilityZone": zone, "availabilityZoneId": scope.catalog.zones(scope.region)[zone],
        }  # fmt: skip

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for association in scope.all("aws:ec2/routeTableAssociation:RouteTableAssociation", subnetId=resource.id):
            scope.store.remove(association)


def inside(network: Any, other: Any) -> bool:
    """Whether an IP network lies in another."""
    return bool(network.version == other.version and network.subnet_of(other))


class InternetGateway(Behaviour):
    """At most one a VPC."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        vpc = inputs.get("vpcId")
        if vpc and scope.all(GATEWAY, vpcId=vpc):
            raise AwsError("Resource.AlreadyAssociated", f"Network {vpc} already has an internet gateway attached")

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        if inputs.get("vpcId") != resource.outputs.get("vpcId"):
            self._refuse_in_use(scope, resource)
            self.validate(scope, inputs)

    def validate_delete(self, scope: Scope, resource: Resource) -> None:
        self._refuse_in_use(scope, resource)

    @staticmethod
    def _refuse_in_use(scope: Scope, resource: Resource) -> None:
        vpc = resource.outputs.get("vpcId")
        for nat in scope.all(NAT):
            if nat.outputs.get("connectivityType") == "public" and nat.hidden.get("vpc") == vpc:
                raise AwsError(
                    "DependencyViolation",
                    f"Network {vpc} has some mapped public address(es). Please unmap those public address(es) before "
                    "detaching the gateway.",
                )


class Eip(Behaviour):
    """An address of Amazon's pool, for a NAT gateway: nothing else can have one here."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        if inputs.get("domain") == "standard":  # [tf] resourceEIPRead
            raise AwsError("InvalidParameterValue", "With the retirement of EC2-Classic standard domain EC2 EIPs are "
                           "no longer supported")  # fmt: skip
        pool, border = inputs.get("publicIpv4Pool", "amazon"), inputs.get("networkBorderGroup", scope.region)
        if pool != "amazon":
            raise AwsError("InvalidPublicIpv4PoolID.NotFound", f"The pool ID '{pool}' does not exist")
        if border != scope.region:
            raise AwsError("InvalidParameterValue", f"Invalid value '{border}' for NetworkBorderGroup")
        if inputs.get("address"):
            raise AwsError("InvalidAddress.NotFound", f"Address '{inputs['address']}' not found")
        if inputs.get("ipamPoolId") or inputs.get("customerOwnedIpv4Pool"):
            raise AwsError("UnsupportedOperation", "IPAM and Outposts are not simulated")
        self._check_target(scope, inputs)

    @staticmethod
    def _check_target(scope: Scope, inputs: dict[str, Any]) -> None:
        instance, interface = inputs.get("instance"), inputs.get("networkInterface")
        if instance and scope.find("aws:ec2/instance:Instance", instance) is None:
            raise AwsError("InvalidInstanceID.NotFound", f"The instance ID '{instance}' does not exist")
        if interface and scope.find(INTERFACE, interface) is None:
            raise no_interface(interface)
        if instance or interface:
            raise AwsError("UnsupportedOperation", "addresses of instances and interfaces are not simulated")

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self._check_target(scope, inputs)

    def complete(self, scope: Scope, resource: Resource) -> None:
        ip = f"3.{128 + secrets.randbelow(16)}.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
        host = f"ec2-{ip.replace('.', '-')}"
        tail = "compute-1.amazonaws.com" if scope.region == "us-east-1" else f"{scope.region}.compute.amazonaws.com"
        resource.outputs |= {"publicIp": ip, "publicDns": f"{host}.{tail}"}


class NatGateway(Behaviour):
    """A zonal NAT gateway: a subnet, an address of its own, and an internet gateway on the VPC."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        if inputs.get("availabilityMode") == "regional" or inputs.get("availabilityZoneAddresses"):
            raise AwsError("UnsupportedOperation", "regional NAT gateways are not simulated")
        if not inputs.get("subnetId"):
            raise AwsError("MissingParameter", "The request must contain the parameter subnetId")
        public = inputs.get("connectivityType", "public") == "public"
        allocation = inputs.get("allocationId")
        if public and not allocation:
            raise AwsError(
                "MissingParameter",
                "The request must include the AllocationId parameter. Add the required parameter and retry the "
                "request.",
            )
        if not public and (allocation or inputs.get("secondaryAllocationIds")):
            raise AwsError("InvalidParameter", "A private NAT gateway has no allocation id")
        self._check_private_ip(scope, inputs)
        for address in [allocation, *inputs.get("secondaryAllocationIds", [])]:
            if address and any(n.outputs.get("allocationId") == address for n in scope.all(NAT)):
                raise AwsError("Resource.AlreadyAssociated", f"resource {address} is already associated")

    @staticmethod
    def _check_private_ip(scope: Scope, inputs: dict[str, Any]) -> None:
        wanted, subnet = inputs.get("privateIp"), scope.find(SUBNET, inputs["subnetId"])
        if not wanted or subnet is None:
            return
        network = ipaddress.ip_network(subnet.outputs["cidrBlock"])
        inner = [*range(4), network.num_addresses - 1]
        if ipaddress.ip_address(wanted) not in network or str(wanted) in {str(network[n]) for n in inner}:
            raise AwsError("InvalidParameterValue", "Address does not fall within the subnet's address range")
        if scope.interfaces(subnetId=subnet.id, privateIp=wanted):
            raise AwsError("InvalidIPAddress.InUse", f"Address {wanted} is in use.")

    def complete(self, scope: Scope, resource: Resource) -> None:
        subnet = scope.find(SUBNET, resource.inputs["subnetId"])
        assert subnet is not None
        interface = scope.add_interface(
            subnet, self.own(resource), f"Interface for NAT Gateway {resource.id}", [],
            resource.inputs.get("privateIp"),
        )  # fmt: skip
        resource.hidden["vpc"] = subnet.outputs["vpcId"]
        resource.outputs |= {
            "networkInterfaceId": interface.id, "privateIp": interface.outputs["privateIp"],
        }  # fmt: skip
        address = scope.find(EIP, resource.inputs.get("allocationId") or "")
        if address is not None:
            association = scope.identity("eipassoc")
            resource.outputs |= {"publicIp": address.outputs["publicIp"], "associationId": association}
            address.outputs |= {
                "associationId": association, "networkInterface": interface.id,
                "privateIp": interface.outputs["privateIp"],
            }  # fmt: skip
            scope.store.put(address)

    def settle(self, scope: Scope, resource: Resource) -> None:
        vpc = resource.hidden["vpc"]
        if resource.outputs.get("connectivityType") == "public" and not scope.all(GATEWAY, vpcId=vpc):
            message = f"Gateway.NotAttached: Network {vpc} has no Internet gateway attached"
            raise Unhealthy(
                "failed", "Gateway.NotAttached",
                f"unexpected state 'failed', wanted target 'available'. last error: {message}",
            )  # fmt: skip

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for made in scope.owned(self.own(resource)):
            scope.store.remove(made)
        address = scope.find(EIP, resource.outputs.get("allocationId") or "")
        if address is not None:
            address.outputs |= {"associationId": "", "networkInterface": "", "privateIp": ""}
            scope.store.put(address)


class VpcEndpoint(Behaviour):
    """Gateway and interface endpoints of AWS's own services."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        name = str(inputs.get("serviceName", ""))
        expected = f"com.amazonaws.{scope.region}."
        if not name.startswith((expected, "com.amazonaws.vpce.")):
            raise AwsError("InvalidServiceName", f"The Vpc Endpoint Service '{name}' does not exist")
        kind = inputs.get("vpcEndpointType", "Gateway")
        gateway = name in (f"{expected}s3", f"{expected}dynamodb")
        if kind == "Gateway" and not gateway:
            raise AwsError("InvalidParameter", f"Endpoint type (Gateway) does not match available service types "
                           f"([Interface]) for service {name}.")  # fmt: skip
        if kind == "Gateway" and inputs.get("subnetIds"):
            raise AwsError("InvalidParameter", "SubnetIds cannot be specified for Gateway type VPC Endpoint")
        if kind == "Interface" and inputs.get("routeTableIds"):
            raise AwsError("InvalidParameter", "RouteTableIds cannot be specified for Interface type VPC Endpoint")

    def complete(self, scope: Scope, resource: Resource) -> None:
        interfaces = []
        for identity in resource.inputs.get("subnetIds", []):
            subnet = scope.find(SUBNET, identity)
            assert subnet is not None
            groups = resource.inputs.get("securityGroupIds", [])
            interfaces.append(
                scope.add_interface(subnet, self.own(resource), f"VPC Endpoint Interface {resource.id}", groups)
            )
        resource.outputs["networkInterfaceIds"] = [i.id for i in interfaces]
        if resource.outputs.get("vpcEndpointType") == "Gateway":
            resource.outputs["prefixListId"] = f"pl-{secrets.token_hex(4)}"

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for made in scope.owned(self.own(resource)):
            scope.store.remove(made)
