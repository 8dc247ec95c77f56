"""Route tables, routes and associations."""

from __future__ import annotations

import ipaddress
import zlib
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import INTERFACE, Scope
from .vpc import GATEWAY, NAT, SUBNET, TABLE, VPC, inside, no_interface

ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
# targets of which this datacentre has none
ABSENT = {
    "transitGatewayId": ("InvalidTransitGatewayID.NotFound", "transitGateway ID"),
    "vpcPeeringConnectionId": ("InvalidVpcPeeringConnectionID.NotFound", "vpcPeeringConnection ID"),
    "egressOnlyGatewayId": ("InvalidGatewayID.NotFound", "eigw ID"),
    "carrierGatewayId": ("InvalidCarrierGatewayID.NotFound", "carrierGateway ID"),
    "localGatewayId": ("InvalidLocalGatewayID.NotFound", "localGateway ID"),
    "coreNetworkArn": ("InvalidCoreNetworkArn.NotFound", "core network"),
    "odbNetworkArn": ("InvalidOdbNetworkArn.NotFound", "ODB network"),
}
INLINE_DESTINATIONS = ("cidrBlock", "ipv6CidrBlock", "destinationPrefixListId")
INLINE_TARGETS = ("gatewayId", "natGatewayId", "networkInterfaceId", "vpcEndpointId", *ABSENT)
DESTINATIONS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")


def check_gateway(scope: Scope, table: str, vpc: str, gateway: str) -> None:
    """A gateway of a route must exist and be attached to the table's VPC."""
    if not gateway or not gateway.startswith("igw-"):
        if gateway:
            raise AwsError("InvalidGatewayID.NotFound", f"The gateway ID '{gateway}' does not exist")
        return
    found = scope.find(GATEWAY, gateway)
    if found is None:
        raise AwsError("InvalidInternetGatewayID.NotFound", f"The internetGateway ID '{gateway}' does not exist")
    if found.outputs.get("vpcId") != vpc:
        raise AwsError(
            "InvalidParameterValue", f"route table {table} and network gateway {gateway} belong to different networks"
        )


def check_destination(scope: Scope, table: str, vpc: str, route: dict[str, Any], destination: str) -> None:
    """What the VPC already routes is no destination (text: hashicorp/terraform#26018)."""
    try:
        wanted = ipaddress.ip_network(destination)
    except ValueError:
        return  # a prefix list
    found = scope.find(VPC, vpc)
    local = ipaddress.ip_network(found.outputs["cidrBlock"]) if found is not None else None
    if local is None or not inside(wanted, local):
        return
    if wanted == local:
        raise AwsError("RouteAlreadyExists", f"The route identified by {destination} already exists.")
    if not (route.get("natGatewayId") or route.get("vpcEndpointId") or route.get("networkInterfaceId")):
        raise AwsError("InvalidParameterValue", "Route target is not supported. This route only supports interface and "
                       "instance targets.")  # fmt: skip


def check_targets(scope: Scope, table: str, vpc: str, route: dict[str, Any]) -> None:
    """The target must exist, in the table's VPC. What cannot be made here does not exist."""
    check_gateway(scope, table, vpc, route.get("gatewayId") or "")
    nat = scope.find(NAT, route.get("natGatewayId") or "")
    if nat is not None and nat.hidden["vpc"] != vpc:
        raise AwsError(
            "InvalidParameterValue", f"route table {table} and network gateway {nat.id} belong to different networks"
        )
    interface = route.get("networkInterfaceId")
    if interface and scope.find(INTERFACE, interface) is None:
        raise no_interface(interface)
    for name, (code, noun) in ABSENT.items():
        if route.get(name):
            raise AwsError(code, f"The {noun} '{route[name]}' does not exist")


class RouteTable(Behaviour):
    """A route table with inline routes."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        seen = set()
        for route in inputs.get("routes", []):
            destination = self._one(route, INLINE_DESTINATIONS)
            target = self._one(route, INLINE_TARGETS)
            if destination in seen:
                raise AwsError("RouteAlreadyExists", f"The route identified by {destination} already exists.")
            seen.add(destination)
            if target == "local":
                self._check_local(scope, inputs["vpcId"], destination)
                continue
            check_targets(scope, "(new)", inputs["vpcId"], route)
            check_destination(scope, "(new)", inputs["vpcId"], route, destination)

    @staticmethod
    def _one(route: dict[str, Any], names: tuple[str, ...]) -> str:
        """The provider's check of a route in a table, made when it is sent (validNestedExactlyOneOf [tf])."""
        given = [n for n in names if route.get(n)]
        if len(given) != 1:
            all_of = ",".join(names)
            several = f"only one of `{all_of}` can be specified, but `{','.join(given)}` were specified"
            raise AwsError("InvalidParameterCombination", several if given else f"one of `{all_of}` must be specified")
        return str(route[given[0]])

    @staticmethod
    def _check_local(scope: Scope, vpc: str, destination: str) -> None:
        found = scope.find(VPC, vpc)
        if found is None or found.outputs["cidrBlock"] != destination:
            raise AwsError("InvalidGatewayID.NotFound", "The gateway ID 'local' does not exist")

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self.validate(scope, inputs)

    def validate_delete(self, scope: Scope, resource: Resource) -> None:
        if resource.owner.startswith("vpc:"):  # the main one: botocore ec2 DeleteRouteTable
            raise AwsError("DependencyViolation", f"The routeTable '{resource.id}' has dependencies and cannot be "
                           "deleted.")  # fmt: skip

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for route in scope.all(ROUTE, routeTableId=resource.id):
            scope.store.remove(route)


class Route(Behaviour):
    """One route. Its id is made of table and destination, as the provider makes it."""

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        destination = next(str(inputs[d]) for d in DESTINATIONS if inputs.get(d))
        return f"r-{inputs['routeTableId']}{zlib.crc32(destination.encode())}"

    def imported(self, scope: Scope, identity: str) -> str:
        table, _, destination = identity.partition("_")  # routeImportID [tf]
        if not table or not destination:
            raise AwsError("", f"unexpected format of ID ({identity}), expected ROUTETABLEID_DESTINATION")
        return f"r-{table}{zlib.crc32(destination.encode())}"

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        table = scope.find(TABLE, inputs["routeTableId"])
        assert table is not None
        for name in DESTINATIONS:
            value = inputs.get(name)
            inline = [r.get("cidrBlock") for r in table.outputs.get("routes", [])]
            if value and (scope.all(ROUTE, routeTableId=table.id, **{name: value}) or value in inline):
                raise AwsError("RouteAlreadyExists", f"The route identified by {value} already exists.")
        destination = next(str(inputs[d]) for d in DESTINATIONS if inputs.get(d))
        check_targets(scope, table.id, table.outputs["vpcId"], inputs)
        check_destination(scope, table.id, table.outputs["vpcId"], inputs, destination)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        table = scope.find(TABLE, inputs["routeTableId"])
        if table is not None:
            check_targets(scope, table.id, table.outputs["vpcId"], inputs)


class RouteTableAssociation(Behaviour):
    """A subnet has at most one."""

    def imported(self, scope: Scope, identity: str) -> str:
        target, slash, table = identity.partition("/")
        if not slash:
            raise AwsError("", f"unexpected format for import: {identity}. Use 'subnet ID/route table ID' or 'gateway "
                           "ID/route table ID")  # fmt: skip
        found = [*scope.all(ASSOCIATION, subnetId=target), *scope.all(ASSOCIATION, gatewayId=target)]
        return next((a.id for a in found if a.outputs["routeTableId"] == table), "")

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        table = scope.find(TABLE, inputs["routeTableId"])
        assert table is not None
        subnet = inputs.get("subnetId")
        if not subnet:
            check_gateway(scope, table.id, table.outputs["vpcId"], inputs.get("gatewayId", ""))
            return
        if scope.all(ASSOCIATION, subnetId=subnet):
            raise AwsError(
                "Resource.AlreadyAssociated",
                f"the specified association for route table {table.id} conflicts with an existing association",
            )
        self._check_vpc(scope, table, subnet)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        table = scope.find(TABLE, inputs["routeTableId"])
        assert table is not None
        self._check_vpc(scope, table, inputs.get("subnetId") or "")

    @staticmethod
    def _check_vpc(scope: Scope, table: Resource, subnet: str) -> None:
        found = scope.find(SUBNET, subnet)
        if found is not None and found.outputs["vpcId"] != table.outputs["vpcId"]:
            raise AwsError(
                "InvalidParameterValue", f"Route table {table.id} and subnet {subnet} belong to different networks"
            )
