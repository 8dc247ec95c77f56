"""References, ranges and uses in networks: the cloud says no where AWS does, with its codes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.account import Account, Refusal

Net = dict[str, Any]


def refused(code: str, text: str = "") -> Any:
    return pytest.raises(Refusal, match=f"{code}.*{text}")


def test_ids_and_arns_have_the_real_shape(account: Account, net: Net) -> None:
    vpc = account.read("Vpc", net["vpc"])
    assert vpc is not None
    assert vpc["arn"] == f"arn:aws:ec2:us-east-2:000000000000:vpc/{net['vpc']}"
    for name, prefix in (
        ("defaultSecurityGroupId", "sg-0"),
        ("mainRouteTableId", "rtb-0"),
        ("dhcpOptionsId", "dopt-0"),
    ):
        assert vpc[name].startswith(prefix)
        assert len(vpc[name]) == len(prefix) + 16
    subnet = account.read("Subnet", net["b"])
    assert subnet is not None
    assert (subnet["availabilityZone"], subnet["availabilityZoneId"]) == ("us-east-2b", "use2-az2")


def test_the_text_is_the_providers(account: Account) -> None:
    with pytest.raises(Refusal) as found:
        account.create("Subnet", vpcId="vpc-0123456789abcdef0", cidrBlock="10.0.0.0/24")
    text = str(found.value)
    assert text.startswith(
        "creating EC2 Subnet: operation error EC2: CreateSubnet, https response error StatusCode: 400"
    )
    assert text.endswith("api error InvalidVpcID.NotFound: The vpc ID 'vpc-0123456789abcdef0' does not exist")


@pytest.mark.parametrize(
    ("cidr", "code"),
    [
        ("10.17.0.0/24", "InvalidSubnet.Range"),  # outside the VPC
        ("10.16.0.0/15", "InvalidSubnet.Range"),  # larger than a VPC may be
        ("10.16.200.0/29", "InvalidSubnet.Range"),  # smaller than a subnet may be
        ("10.16.16.128/25", "InvalidSubnet.Conflict"),  # inside another subnet
        ("10.16.0.0/18", "InvalidSubnet.Conflict"),  # around others
    ],
)
def test_subnet_ranges(account: Account, net: Net, cidr: str, code: str) -> None:
    with refused(code):
        account.create("Subnet", vpcId=net["vpc"], cidrBlock=cidr)
    assert (
        len(
            account.invoke("aws:ec2/getSubnets:getSubnets", filters=[{"name": "vpc-id", "values": [net["vpc"]]}])["ids"]
        )
        == 3
    )


def test_the_same_range_in_another_vpc_is_no_conflict(account: Account, net: Net) -> None:
    other = account.create("Vpc", cidrBlock="10.16.0.0/16")["id"]
    assert account.create("Subnet", vpcId=other, cidrBlock="10.16.0.0/20")["vpcId"] == other


@pytest.mark.parametrize("cidr", ["10.0.0.0/15", "10.0.0.0/29", "10.0.0.1/16"])
def test_vpc_ranges(account: Account, cidr: str) -> None:
    with refused("InvalidVpc.Range"):
        account.create("Vpc", cidrBlock=cidr)


def test_a_zone_that_does_not_exist(account: Account, net: Net) -> None:
    with refused("InvalidParameterValue", "us-east-2a, us-east-2b, us-east-2c"):
        account.create("Subnet", vpcId=net["vpc"], cidrBlock="10.16.128.0/24", availabilityZone="us-east-2d")


def test_what_is_in_use_stays(account: Account, net: Net) -> None:
    with refused("DependencyViolation", "has dependencies and cannot be deleted"):
        account.delete("Vpc", net["vpc"])
    gateway = account.create("InternetGateway", vpcId=net["vpc"])["id"]
    address = account.create("Eip", domain="vpc")["id"]
    nat = account.create("NatGateway", subnetId=net["a"], allocationId=address, connectivityType="public")
    assert nat["privateIp"] == "10.16.0.4"
    with refused("DependencyViolation"):
        account.delete("Subnet", net["a"])
    with refused("DependencyViolation", "mapped public address"):
        account.delete("InternetGateway", gateway)
    with refused("InvalidIPAddress.InUse"):
        account.delete("Eip", address)
    with refused("Resource.AlreadyAssociated"):
        account.create("NatGateway", subnetId=net["b"], allocationId=address, connectivityType="public")
    for name, identity in (("NatGateway", nat["id"]), ("Eip", address), ("InternetGateway", gateway)):
        account.delete(name, identity)
    for zone in "abc":
        account.delete("Subnet", net[zone])
    account.delete("Vpc", net["vpc"])
    assert account.read("Vpc", net["vpc"]) is None


def test_a_nat_gateway_needs_an_internet_gateway(account: Account, net: Net) -> None:
    address = account.create("Eip", domain="vpc")["id"]
    with pytest.raises(
        Refusal, match=r"Gateway.NotAttached: Network vpc-\w+ has no Internet gateway attached"
    ) as found:
        account.create("NatGateway", subnetId=net["a"], allocationId=address, connectivityType="public")
    assert found.value.body["id"].startswith("nat-0")  # it exists, failed: the engine must remember it


def test_routes(account: Account, net: Net) -> None:
    table = account.create("RouteTable", vpcId=net["vpc"])["id"]
    other = account.create("Vpc", cidrBlock="10.99.0.0/16")["id"]
    foreign = account.create("InternetGateway", vpcId=other)["id"]
    with refused("InvalidRouteTableID.NotFound"):
        account.create(
            "Route", routeTableId="rtb-0123456789abcdef0", destinationCidrBlock="0.0.0.0/0", gatewayId=foreign
        )
    with refused("InvalidParameterValue", "belong to different networks"):
        account.create("Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", gatewayId=foreign)
    with refused("NatGatewayNotFound"):
        account.create(
            "Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", natGatewayId="nat-0123456789abcdef0"
        )
    own = account.create("InternetGateway", vpcId=net["vpc"])["id"]
    account.create("Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", gatewayId=own)
    with refused("RouteAlreadyExists"):
        account.create("Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", gatewayId=own)
    association = account.create("RouteTableAssociation", routeTableId=table, subnetId=net["a"])
    with refused("Resource.AlreadyAssociated"):
        account.create("RouteTableAssociation", routeTableId=table, subnetId=net["a"])
    with refused("DependencyViolation"):
        account.delete("RouteTable", table)
    account.delete("RouteTableAssociation", association["id"])
    account.delete("RouteTable", table)


def test_security_groups(account: Account, net: Net) -> None:
    one = account.create("SecurityGroup", vpcId=net["vpc"], name="one", description="d")["id"]
    two = account.create("SecurityGroup", vpcId=net["vpc"], name="two", description="d")["id"]
    with refused("InvalidGroup.Duplicate", "already exists for VPC"):
        account.create("SecurityGroup", vpcId=net["vpc"], name="one", description="d")
    rule = {"securityGroupId": one, "referencedSecurityGroupId": two, "ipProtocol": "-1"}
    made = account.create("SecurityGroupIngressRule", **rule)["id"]
    with refused("InvalidPermission.Duplicate"):
        account.create("SecurityGroupIngressRule", **rule)
    with refused("InvalidGroup.NotFound"):
        account.create("SecurityGroupIngressRule", **{**rule, "referencedSecurityGroupId": "sg-0123456789abcdef0"})
    with refused("DependencyViolation", "has a dependent object"):
        account.delete("SecurityGroup", two)
    account.delete("SecurityGroupIngressRule", made)
    account.delete("SecurityGroup", two)
    with refused("VPCIdNotSpecified"):
        account.create("SecurityGroup", name="three", description="d")


def test_efs_mount_targets(account: Account, net: Net) -> None:
    files = account.create("FileSystem", creationToken="t")["id"]
    target = account.create("MountTarget", fileSystemId=files, subnetId=net["a"])
    second = account.create("Subnet", vpcId=net["vpc"], cidrBlock="10.16.128.0/24", availabilityZone="us-east-2a")["id"]
    with refused("MountTargetConflict", "already exists in this AZ"):
        account.create("MountTarget", fileSystemId=files, subnetId=second)
    with refused("FileSystemInUse"):
        account.delete("FileSystem", files)
    with refused("DependencyViolation"):
        account.delete("Subnet", net["a"])
    account.delete("MountTarget", target["id"])
    account.delete("FileSystem", files)
    with refused("SubnetNotFound"):
        account.create(
            "MountTarget", fileSystemId=account.create("FileSystem", creationToken="u")["id"], subnetId="subnet-0"
        )


def test_quotas_and_tags(account: Account) -> None:
    for _ in range(account.world.catalog.account["quotas"]["vpcs"]["value"]):
        account.create("Vpc", cidrBlock="10.0.0.0/16")
    with refused("VpcLimitExceeded"):
        account.create("Vpc", cidrBlock="10.0.0.0/16")
    with refused("InvalidParameterValue", "reserved for internal use"):
        account.create("Eip", domain="vpc", tagsAll={"aws:x": "y"})
    with refused("TagLimitExceeded"):
        account.create("Eip", domain="vpc", tagsAll={f"k{i}": "" for i in range(51)})


def test_types_without_a_control_plane_are_refused(account: Account) -> None:
    with pytest.raises(Refusal, match="its control plane is not simulated; refused rather than guessed"):
        account.create("Volume", availabilityZone="us-east-2a", size=1)
    with pytest.raises(Refusal, match="control plane is not simulated"):
        account.create("Queue")


def test_functions_answer_like_data_sources(account: Account, net: Net) -> None:
    vpc = account.invoke("aws:ec2/getVpc:getVpc", id=net["vpc"])
    assert (vpc["cidrBlock"], vpc["state"], vpc["default"]) == ("10.16.0.0/16", "available", False)
    assert net["vpc"] in account.invoke("aws:ec2/getVpcs:getVpcs")["ids"]
    subnet = account.invoke("aws:ec2/getSubnet:getSubnet", id=net["a"])
    assert subnet["availableIpAddressCount"] == 4091
    with pytest.raises(Refusal, match=r"^no matching EC2 VPC found$"):
        account.invoke("aws:ec2/getVpc:getVpc", id="vpc-0123456789abcdef0")
    with pytest.raises(Refusal, match=r"^multiple EC2 Subnets matched"):
        account.invoke("aws:ec2/getSubnet:getSubnet", vpcId=net["vpc"])
    with pytest.raises(Refusal, match=r"^reading EKS Cluster \(nope\): couldn't find resource$"):
        account.invoke("aws:eks/getCluster:getCluster", name="nope")
    assert account.invoke("aws:eks/getClusters:getClusters")["names"] == []
    assert account.invoke("aws:index/getCallerIdentity:getCallerIdentity")["accountId"] == "000000000000"
    with refused("InvalidParameterValue", "The filter 'colour' is invalid"):
        account.invoke("aws:ec2/getVpcs:getVpcs", filters=[{"name": "colour", "values": ["x"]}])


def test_what_was_there_before(account: Account) -> None:
    there = account.world.catalog.account["existing"]
    assert account.invoke("aws:ec2/getVpc:getVpc", id=there["vpc"]["id"])["cidrBlock"] == "172.28.0.0/16"
    assert [
        account.invoke("aws:ec2/getSubnet:getSubnet", id=s["id"])["availabilityZone"][-1] for s in there["subnets"]
    ] == [*"abcabc"]
    assert account.read("CapacityReservation", "cr-0a1b2c3d4e5f60718") is not None
    with refused("DependencyViolation"):
        account.delete("Vpc", there["vpc"]["id"])
