"""EC2's deletes and detachments: the same operations and refusals as the provider's deletes."""

from __future__ import annotations

from typing import Any

from ...aws.errors import AwsError
from ...aws.services.routing import ASSOCIATION, ROUTE
from ...aws.services.security import EGRESS, INGRESS
from ...aws.services.templates import PLACEMENT, TEMPLATE
from ...aws.services.vpc import EIP, GATEWAY, GROUP, NAT, SUBNET, TABLE, VPC
from ...daemon.store import Resource
from .calls import Call, Handler, served
from .ec2_network import ENDPOINT

Item = dict[str, Any]
# operation -> (parameter with the id, type, code and message when there is none)
PLAIN = {
    "DeleteVpc": ("VpcId", VPC, "InvalidVpcID.NotFound", "The vpc ID '{id}' does not exist"),
    "DeleteSubnet": ("SubnetId", SUBNET, "InvalidSubnetID.NotFound", "The subnet ID '{id}' does not exist"),
    "ReleaseAddress": ("AllocationId", EIP, "InvalidAllocationID.NotFound", "The allocation ID '{id}' does not exist"),
    "DeletePlacementGroup": ("GroupName", PLACEMENT, "InvalidPlacementGroup.Unknown",
                             "The Placement Group '{id}' is unknown."),
    "DisassociateRouteTable": ("AssociationId", ASSOCIATION, "InvalidAssociationID.NotFound",
                               "The association ID '{id}' does not exist"),
}  # fmt: skip


def existing(call: Call, kind: str, identity: str, code: str, message: str) -> Resource:
    """A resource that a change names."""
    found = call.scope.find(kind, identity)
    if found is None:
        raise AwsError(code, message.replace("{id}", identity))
    return found


def _plain(operation: str) -> Handler:
    parameter, kind, code, message = PLAIN[operation]

    def handler(call: Call) -> Item:
        call.delete(existing(call, kind, call.params[parameter], code, message))
        return {}

    return handler


for _name, (_parameter, *_rest) in PLAIN.items():
    served("ec2", _name, _parameter)(_plain(_name))


@served("ec2", "DeleteNatGateway", "NatGatewayId")
def delete_nat_gateway(call: Call) -> Item:
    identity = call.params["NatGatewayId"]
    call.delete(existing(call, NAT, identity, "NatGatewayNotFound", "The Nat Gateway {id} was not found"))
    return {"NatGatewayId": identity}


@served("ec2", "DeleteVpcEndpoints", "VpcEndpointIds")
def delete_vpc_endpoints(call: Call) -> Item:
    failed = []
    for identity in call.params["VpcEndpointIds"]:
        try:
            call.delete(existing(call, ENDPOINT, identity, "InvalidVpcEndpoint.NotFound",
                                 "The Vpc Endpoint Id '{id}' does not exist"))  # fmt: skip
        except AwsError as error:
            failed.append({"ResourceId": identity, "Error": {"Code": error.code, "Message": error.message}})
    return {"Unsuccessful": failed}


@served("ec2", "DeleteRouteTable", "RouteTableId")
def delete_route_table(call: Call) -> Item:
    found = existing(call, TABLE, call.params["RouteTableId"], "InvalidRouteTableID.NotFound",
                     "The routeTable ID '{id}' does not exist")  # fmt: skip
    if found.outputs.get("main"):
        raise AwsError("DependencyViolation", f"The routeTable '{found.id}' has dependencies and cannot be deleted.")
    routes = call.scope.all(ROUTE, routeTableId=found.id)
    call.delete(found)
    for route in routes:  # they go with their table
        call.scope.store.remove(route)
    return {}


@served("ec2", "DeleteRoute", "RouteTableId", "DestinationCidrBlock", "DestinationIpv6CidrBlock",
        "DestinationPrefixListId")  # fmt: skip
def delete_route(call: Call) -> Item:
    table = call.params["RouteTableId"]
    names = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
    wanted = next((v for n in names if (v := call.params.get(n[0].upper() + n[1:]))), "")
    for route in call.scope.all(ROUTE, routeTableId=table):
        if wanted in [route.outputs.get(n) for n in names]:
            call.delete(route)
            return {}
    raise AwsError("InvalidRoute.NotFound", f"no route with destination-cidr-block {wanted} in route table {table}")


@served("ec2", "DetachInternetGateway", "InternetGatewayId", "VpcId")
def detach_internet_gateway(call: Call) -> Item:
    found = _gateway(call)
    vpc = call.params["VpcId"]
    if found.outputs.get("vpcId") != vpc:
        raise AwsError("Gateway.NotAttached", f"resource {found.id} is not attached to network {vpc}")
    call.carry_out("update", {"type": GATEWAY, "id": found.id, "inputs":
                              {k: v for k, v in found.inputs.items() if k != "vpcId"}})  # fmt: skip
    again = call.scope.find(GATEWAY, found.id)
    if again is not None and again.outputs.get("vpcId"):
        again.outputs.pop("vpcId")
        call.scope.store.put(again)
    return {}


def _gateway(call: Call) -> Resource:
    return existing(call, GATEWAY, call.params["InternetGatewayId"], "InvalidInternetGatewayID.NotFound",
                    "The internetGateway ID '{id}' does not exist")  # fmt: skip


@served("ec2", "DeleteInternetGateway", "InternetGatewayId")
def delete_internet_gateway(call: Call) -> Item:
    found = _gateway(call)
    if found.outputs.get("vpcId"):
        raise AwsError(
            "DependencyViolation", f"The internetGateway '{found.id}' has dependencies and cannot be deleted."
        )
    call.delete(found)
    return {}


@served("ec2", "DeleteSecurityGroup", "GroupId")
def delete_security_group(call: Call) -> Item:
    found = existing(call, GROUP, call.params["GroupId"], "InvalidGroup.NotFound",
                     "The security group '{id}' does not exist")  # fmt: skip
    call.delete(found)
    return {"Return": True, "GroupId": found.id}


def _revoke(call: Call, kind: str) -> Item:
    for identity in call.params["SecurityGroupRuleIds"]:
        found = existing(call, kind, identity, "InvalidSecurityGroupRuleId.NotFound",
                         "The security group rule ID '{id}' does not exist")  # fmt: skip
        if found.outputs["securityGroupId"] != call.params["GroupId"]:
            raise AwsError("InvalidSecurityGroupRuleId.NotFound", f"The security group rule ID '{identity}' does not "
                           "exist")  # fmt: skip
        call.delete(found)
    return {"Return": True}


@served("ec2", "RevokeSecurityGroupIngress", "GroupId", "SecurityGroupRuleIds")
def revoke_ingress(call: Call) -> Item:
    return _revoke(call, INGRESS)


@served("ec2", "RevokeSecurityGroupEgress", "GroupId", "SecurityGroupRuleIds")
def revoke_egress(call: Call) -> Item:
    return _revoke(call, EGRESS)


@served("ec2", "DeleteLaunchTemplate", "LaunchTemplateId", "LaunchTemplateName")
def delete_launch_template(call: Call) -> Item:
    identity, name = call.params.get("LaunchTemplateId"), call.params.get("LaunchTemplateName")
    found = next(
        (t for t in call.scope.all(TEMPLATE) if t.id == identity or (name and t.outputs["name"] == name)), None
    )
    if found is None:
        key, value = ("ID", identity) if identity else ("name", name)
        code = "InvalidLaunchTemplateId.NotFound" if identity else "InvalidLaunchTemplateName.NotFoundException"
        raise AwsError(code, f"The specified launch template, with template {key} {value}, does not exist.")
    call.delete(found)
    return {"LaunchTemplate": {
        "LaunchTemplateId": found.id, "LaunchTemplateName": found.outputs["name"],
        "DefaultVersionNumber": int(found.outputs["defaultVersion"]),
        "LatestVersionNumber": int(found.outputs["latestVersion"]),
    }}  # fmt: skip
