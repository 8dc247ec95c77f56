"""Route tables, routes and associations."""

from __future__ import annotations

import zlib
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..scope import Scope
from .vpc import GATEWAY, SUBNET, TABLE

ROUTE = "aws:ec2/route:Route"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
DESTINATIONS = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")


def check_gateway(scope: Scope, table: str, vpc: str, gateway: str) -> None:
    """A gateway of a route must exist and be attached to the table's VPC."""
    if not gateway or not gateway.startswith("igw-"):
        if gateway and gateway != "local":
            raise AwsError("InvalidGatewayID.NotFound", f"The gateway ID '{gateway}' does not exist")
        return
    found = scope.find(GATEWAY, gateway)
    if found is None:
        raise AwsError("InvalidInternetGatewayID.NotFound", f"The internetGateway ID '{gateway}' does not exist")
    if found.outputs.get("vpcId") != vpc:
        raise AwsError(
            "InvalidParameterValue", f"route table {table} and network gateway {gateway} belong to different networks"
        )


class RouteTable(Behaviour):
    """A route table with inline routes."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        seen = set()
        for route in inputs.get("routes", []):
            destination = route.get("cidrBlock") or route.get("ipv6CidrBlock") or route.get("destinationPrefixListId")
            if destination in seen:
                raise AwsError("RouteAlreadyExists", f"The route identified by {destination} already exists.")
            seen.add(destination)
            check_gateway(scope, "(new)", inputs["vpcId"], route.get("gatewayId", ""))

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self.validate(scope, inputs)

    def deleted(self, scope: Scope, resource: Resource) -> None:
        for route in scope.all(ROUTE, routeTableId=resource.id):
            scope.store.remove(route)


class Route(Behaviour):
    """One route. Its id is made of table and destination, as the provider makes it."""

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        destination = next(str(inputs[d]) for d in DESTINATIONS if inputs.get(d))
        return f"r-{inputs['routeTableId']}{zlib.crc32(destination.encode())}"

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        table = scope.find(TABLE, inputs["routeTableId"])
        assert table is not None
        for name in DESTINATIONS:
            value = inputs.get(name)
            inline = [r.get("cidrBlock") for r in table.outputs.get("routes", [])]
            if value and (scope.all(ROUTE, routeTableId=table.id, **{name: value}) or value in inline):
                raise AwsError("RouteAlreadyExists", f"The route identified by {value} already exists.")
        check_gateway(scope, table.id, table.outputs["vpcId"], inputs.get("gatewayId", ""))

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        table = scope.find(TABLE, inputs["routeTableId"])
        if table is not None:
            check_gateway(scope, table.id, table.outputs["vpcId"], inputs.get("gatewayId", ""))


class RouteTableAssociation(Behaviour):
    """A subnet has at most one."""

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
        found = scope.find(SUBNET, subnet)
        if found is not None and found.outputs["vpcId"] != table.outputs["vpcId"]:
            raise AwsError(
                "InvalidParameterValue", f"Route table {table.id} and subnet {subnet} belong to different networks"
            )
