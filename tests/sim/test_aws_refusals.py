"""What AWS refuses of networks, capacity and IAM although a provider's own checks let it pass; each with its source.

Where no source with the text was found, only code and meaning are AWS's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sim.account import ACCOUNT, Account, trust
from tests.sim.groups import Net, refused

ROLE = f"arn:aws:iam::{ACCOUNT}:role/"
RESERVED = {"instanceType": "p5.48xlarge", "availabilityZone": "us-east-2a", "instanceCount": 1,
            "instancePlatform": "Linux/UNIX"}  # fmt: skip


# -- networks ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "code", "text"),
    [
        # the provider's comment on errCodeInvalidGatewayIDNotFound in internal/service/ec2/vpc_route.go
        ({"gatewayId": "local"}, "InvalidGatewayID.NotFound", "The gateway ID 'local' does not exist"),
        ({"transitGatewayId": "tgw-0"}, "InvalidTransitGatewayID.NotFound", "tgw-0"),
        ({"vpcPeeringConnectionId": "pcx-0"}, "InvalidVpcPeeringConnectionID.NotFound", "pcx-0"),
        ({"networkInterfaceId": "eni-0"}, "InvalidNetworkInterfaceID.NotFound", "eni-0"),
    ],
)
def test_route_targets_that_are_not_there(
    account: Account, net: Net, inputs: dict[str, Any], code: str, text: str
) -> None:
    table = account.create("RouteTable", vpcId=net["vpc"])["id"]
    with refused(code, text):
        account.create("Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", **inputs)


def test_routes_and_networks(account: Account, net: Net) -> None:
    table = account.create("RouteTable", vpcId=net["vpc"])["id"]
    gateway = account.create("InternetGateway", vpcId=net["vpc"])["id"]
    other = account.create("Vpc", cidrBlock="10.99.0.0/16")["id"]
    there = account.create("Subnet", vpcId=other, cidrBlock="10.99.0.0/24")["id"]
    nat = account.create("NatGateway", subnetId=there, connectivityType="private")["id"]
    with refused("InvalidParameterValue", "belong to different networks"):
        account.create("Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", natGatewayId=nat)
    with refused("RouteAlreadyExists", "10.16.0.0/16"):  # the local route
        account.create("Route", routeTableId=table, destinationCidrBlock="10.16.0.0/16", gatewayId=gateway)
    with refused("InvalidParameterValue", "Route target is not supported"):  # hashicorp/terraform#26018
        account.create("Route", routeTableId=table, destinationCidrBlock="10.16.1.0/24", gatewayId=gateway)


def test_routes_inside_a_table(account: Account, net: Net) -> None:
    gateway = account.create("InternetGateway", vpcId=net["vpc"])["id"]
    everything = {"cidrBlock": "0.0.0.0/0"}
    for route, text in (
        (everything, "one of .gatewayId.* must be specified"),
        ({"gatewayId": gateway}, "one of .cidrBlock.* must be specified"),
        ({**everything, "gatewayId": gateway, "natGatewayId": "nat-0"}, "."),
        ({**everything, "gatewayId": "local"}, "The gateway ID 'local' does not exist"),
    ):
        with refused("InvalidParameterCombination|InvalidGatewayID.NotFound|NatGatewayNotFound", text):
            account.create("RouteTable", vpcId=net["vpc"], routes=[route])
    local = {"cidrBlock": "10.16.0.0/16", "gatewayId": "local"}
    account.create("RouteTable", vpcId=net["vpc"], routes=[local, {**everything, "gatewayId": gateway}])


def test_security_group_rules(account: Account, net: Net) -> None:
    group = account.create("SecurityGroup", vpcId=net["vpc"], name="g")["id"]
    other = account.create("Vpc", cidrBlock="10.99.0.0/16")["id"]
    foreign = account.create("SecurityGroup", vpcId=other, name="g")["id"]
    base = {"securityGroupId": group, "ipProtocol": "tcp", "fromPort": 1, "toPort": 2}
    for changes, code, text in (
        # terraform-provider-aws#1793
        ({"ipProtocol": "zz", "cidrIpv4": "10.0.0.0/8"}, "InvalidParameterValue", "'zz' for IP protocol. Unknown"),
        ({}, "MissingParameter", "needs one of cidrIpv4"),
        ({"prefixListId": "pl-0"}, "InvalidPrefixListID.NotFound", "pl-0"),
        # ansible/ansible#45782
        ({"referencedSecurityGroupId": foreign}, "InvalidGroup.NotFound", "belong to different networks"),
    ):
        with refused(code, text):
            account.create("SecurityGroupIngressRule", **{**base, **changes})
    account.create("SecurityGroupIngressRule", **base, cidrIpv4="10.0.0.0/8")
    second = account.create("SecurityGroupIngressRule", **base, cidrIpv4="11.0.0.0/8")["id"]
    with refused("InvalidPermission.Duplicate"):
        account.update("SecurityGroupIngressRule", second, **base, cidrIpv4="10.0.0.0/8")
    with refused("InvalidParameterValue", "Invalid TCP/UDP port range .9:2."):
        account.update("SecurityGroupIngressRule", second, **{**base, "fromPort": 9}, cidrIpv4="11.0.0.0/8")
    source = {"cidrBlocks": ["10.0.0.0/8"]}
    for rule, text in (
        # hashicorp/terraform#2131
        ({"protocol": "-1", "fromPort": 0, "toPort": 65535, **source}, "must both be 0 to use the 'ALL'"),
        ({"protocol": "tcp", "fromPort": 9, "toPort": 2, **source}, "Invalid TCP/UDP port range"),
        ({"protocol": "tcp", "fromPort": 1, "toPort": 2}, "needs one of cidrBlocks"),
    ):
        with refused("InvalidParameterValue|MissingParameter", text):
            account.create("SecurityGroup", vpcId=net["vpc"], name="h", ingress=[rule])
    with refused("InvalidParameterValue", "parameter GroupName is invalid"):  # botocore ec2 CreateSecurityGroup
        account.create("SecurityGroup", vpcId=net["vpc"], name="h%")


def test_addresses(account: Account, net: Net) -> None:
    for inputs, code in (
        ({"domain": "standard"}, "InvalidParameterValue"),
        ({"instance": "i-0"}, "InvalidInstanceID.NotFound"),
        ({"networkInterface": "eni-0"}, "InvalidNetworkInterfaceID.NotFound"),
        ({"publicIpv4Pool": "ipv4pool-ec2-0"}, "InvalidPublicIpv4PoolID.NotFound"),
        ({"networkBorderGroup": "eu-west-1"}, "InvalidParameterValue"),
    ):
        with refused(code):
            account.create("Eip", **inputs)
    private = {"subnetId": net["a"], "connectivityType": "private"}
    with refused("InvalidParameterValue", "does not fall within the subnet's address range"):
        account.create("NatGateway", **private, privateIp="10.99.0.9")
    account.create("NatGateway", **private, privateIp="10.16.0.9")
    with refused("InvalidIPAddress.InUse"):
        account.create("NatGateway", **private, privateIp="10.16.0.9")


@pytest.mark.parametrize("cidr", ["127.0.0.0/16", "169.254.0.0/16", "224.0.0.0/16", "0.0.0.0/16"])
def test_ranges_that_no_vpc_has(account: Account, cidr: str) -> None:
    with refused("InvalidVpc.Range"):
        account.create("Vpc", cidrBlock=cidr)


def test_what_is_not_simulated_is_said(account: Account, net: Net) -> None:
    with refused("UnsupportedOperation", "IPv6 is not simulated"):
        account.create("Vpc", cidrBlock="10.1.0.0/16", assignGeneratedIpv6CidrBlock=True)
    with refused("UnsupportedOperation", "IPv6 clusters are not simulated"):
        account.cluster(net, kubernetesNetworkConfig={"ipFamily": "ipv6"})
    with refused("InvalidParameterValue", "DNS support must be enabled"):  # botocore ec2 ModifyVpcAttribute
        account.create("Vpc", cidrBlock="10.1.0.0/16", enableDnsSupport=False, enableDnsHostnames=True)


def test_what_something_else_needs_stays(account: Account, net: Net) -> None:
    vpc = account.read("Vpc", net["vpc"])
    assert vpc is not None
    with refused("CannotDelete", 'name: "default" cannot be deleted by a user'):  # EC2 API error codes
        account.delete("SecurityGroup", vpc["defaultSecurityGroupId"])
    with refused("DependencyViolation"):  # botocore ec2 DeleteRouteTable
        account.delete("RouteTable", vpc["mainRouteTableId"])
    group = account.create("SecurityGroup", vpcId=net["vpc"], name="a")["id"]
    rule = {"protocol": "-1", "fromPort": 0, "toPort": 0, "securityGroups": [group]}
    account.create("SecurityGroup", vpcId=net["vpc"], name="b", ingress=[rule])
    with refused("DependencyViolation"):
        account.delete("SecurityGroup", group)
    arn = account.create("PlacementGroup", name="pg", strategy="cluster")["arn"]
    account.create("CapacityReservation", **RESERVED, placementGroupArn=arn)
    with refused("InvalidPlacementGroup.InUse"):
        account.delete("PlacementGroup", "pg")


def test_an_association_stays_in_its_vpc(account: Account, net: Net) -> None:
    own = account.create("RouteTable", vpcId=net["vpc"])["id"]
    other = account.create("RouteTable", vpcId=account.create("Vpc", cidrBlock="10.99.0.0/16")["id"])["id"]
    association = account.create("RouteTableAssociation", routeTableId=own, subnetId=net["a"])["id"]
    with refused("InvalidParameterValue", "belong to different networks"):
        account.update("RouteTableAssociation", association, routeTableId=other, subnetId=net["a"])


# -- capacity ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        # botocore ec2 CreateCapacityReservation: EndDate
        ({"endDate": "2099-01-01T00:00:00Z", "endDateType": "unlimited"}, "InvalidParameterValue"),
        ({"endDateType": "limited"}, "InvalidParameterValue"),
        ({"endDate": "2020-01-01T00:00:00Z", "endDateType": "limited"}, "InvalidParameterValue"),
        (
            {"placementGroupArn": "arn:aws:ec2:us-east-2:000000000000:placement-group/no"},
            "InvalidPlacementGroup.Unknown",
        ),
    ],
)
def test_reservations(account: Account, inputs: dict[str, Any], code: str) -> None:
    with refused(code):
        account.create("CapacityReservation", **RESERVED, **inputs)


# -- launch templates, IAM --------------------------------------------------------------------------------------------


def test_user_data(account: Account) -> None:
    with refused("InvalidUserData.Malformed"):
        account.create("LaunchTemplate", name="ttt", userData="plain words")
    with refused("InvalidParameterValue", "limited to 16384 bytes"):
        account.create("LaunchTemplate", name="ttt", userData="QUFB" * 5462)
    account.create("LaunchTemplate", name="ttt", userData="QUFB" * 5461)


def policy(**changes: Any) -> str:
    """A trust policy, one part of its statement changed; `version` is the document's."""
    version = changes.pop("version", "2012-10-17")
    statement = {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}
    kept = {k: v for k, v in {**statement, **changes}.items() if v is not None}
    return json.dumps({"Version": version, "Statement": [kept]})


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (policy(Action="s3:GetObject"), "AssumeRole policy may only specify STS AssumeRole actions"),
        (policy(Principal=None), "Missing required field Principal"),
        # terraform-provider-aws#8905
        (policy(Principal={"AWS": f"{ROLE}none"}), f'Invalid principal in policy: "AWS":"{ROLE}none"'),
        (policy(Principal={"Service": "ec2.example.com"}), "Invalid principal in policy"),
        (policy(Principal={"Servise": "ec2.amazonaws.com"}), "Invalid principal in policy"),
        (policy(version="2020-01-01"), "valid version string"),
        (policy(Foo=1), "Syntax errors in policy"),
        ('{"Version": "2012-10-17", "Statement": []}', "Syntax errors in policy"),
    ],
)
def test_trust_policies(account: Account, document: str, text: str) -> None:
    with refused("MalformedPolicyDocument", text):
        account.create("Role", name="r", assumeRolePolicy=document)


def test_roles(account: Account) -> None:
    fine = trust("ec2.amazonaws.com")
    with refused("LimitExceeded", "Cannot exceed quota for ACLSizePerRole: 2048"):  # kubeflow/dashboard#29
        account.create("Role", name="r", assumeRolePolicy=policy(Principal={"Service": ["ec2.amazonaws.com"] * 120}))
    with refused("ValidationError", "must begin and end with /"):
        account.create("Role", name="r", assumeRolePolicy=fine, path="x")
    with refused("NoSuchEntity"):
        account.create("Role", name="r", assumeRolePolicy=fine, permissionsBoundary="arn:aws:iam::aws:policy/none")
    with refused("MalformedPolicyDocument", "should not specify a principal"):  # hashicorp/terraform#13449
        account.create("Role", name="r", assumeRolePolicy=fine, inlinePolicies=[{"name": "p", "policy": fine}])
    account.create("Role", name="r", assumeRolePolicy=fine)
    with refused("EntityAlreadyExists", "Role with name R already exists"):  # names differ by more than case
        account.create("Role", name="R", assumeRolePolicy=fine)
    account.create("Role", name="s", assumeRolePolicy=policy(Principal={"AWS": f"{ROLE}r"}))
