"""What the AWS provider refuses before any call: each case with its validator in terraform-provider-aws."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.core.check import check
from accelerator_fleet_sim.core.formats import FORMATS
from accelerator_fleet_sim.core.values import UNKNOWN
from tests.sim.account import Account, rules, trust

RULES = rules()
ARN = "arn:aws:iam::000000000000:role/r"
CLUSTER: dict[str, Any] = {"roleArn": ARN, "vpcConfig": {"subnetIds": ["a", "b"]}}
GROUP: dict[str, Any] = {"clusterName": "c", "nodeRoleArn": ARN, "subnetIds": ["a"],
                         "scalingConfig": {"minSize": 0, "desiredSize": 1, "maxSize": 1}}  # fmt: skip
ADDON = {"clusterName": "c", "addonName": "coredns"}
ROLE = {"assumeRolePolicy": trust("ec2.amazonaws.com")}
SOURCE = {"securityGroupId": "sg", "ipProtocol": "-1"}
ROUTE = {"routeTableId": "rtb", "gatewayId": "igw"}
BASES: dict[str, dict[str, Any]] = {
    "Cluster": CLUSTER, "NodeGroup": GROUP, "Addon": ADDON, "Role": ROLE, "SecurityGroupIngressRule": SOURCE,
    "Route": ROUTE, "Vpc": {}, "Subnet": {"vpcId": "v"}, "NatGateway": {"subnetId": "s"}, "LaunchTemplate": {},
    "SecurityGroup": {"vpcId": "v"}, "RouteTable": {"vpcId": "v"},
}  # fmt: skip
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    # verify.ValidARN
    ("Cluster", {"roleArn": "r"}, "roleArn", '"roleArn" (r) is an invalid ARN: arn: invalid prefix'),
    ("Cluster", {"roleArn": "arn:aws:iam::12:role/r"}, "roleArn", "invalid account ID value"),
    ("Addon", {"serviceAccountRoleArn": "x"}, "serviceAccountRoleArn", "invalid ARN"),
    ("Addon", {"podIdentityAssociations": [{"roleArn": "x", "serviceAccount": "s"}]},
     "podIdentityAssociations[0].roleArn", "invalid ARN"),
    ("Role", {"permissionsBoundary": "x"}, "permissionsBoundary", "invalid ARN"),
    ("Role", {"managedPolicyArns": ["x"]}, "managedPolicyArns[0]", "invalid ARN"),
    ("Subnet", {"outpostArn": "x"}, "outpostArn", "invalid ARN"),
    ("LaunchTemplate", {"iamInstanceProfile": {"arn": "x"}}, "iamInstanceProfile.arn", "invalid ARN"),
    # eks/validate.go: validClusterName, validateIPv4CIDRPrivateRange
    ("NodeGroup", {"clusterName": "-c"}, "clusterName", "does not match"),
    ("Addon", {"clusterName": "a b"}, "clusterName", "does not match"),
    ("Cluster", {"kubernetesNetworkConfig": {"serviceIpv4Cidr": "8.8.0.0/16"}},
     "kubernetesNetworkConfig.serviceIpv4Cidr", "does not match"),
    # eks/cluster.go, eks/node_group.go: MinItems 1, ValidLaunchTemplateID, StringLenBetween(1, 255), NoZeroValues
    ("Cluster", {"vpcConfig": {"subnetIds": []}}, "vpcConfig.subnetIds", "at least 1 item(s)"),
    ("NodeGroup", {"subnetIds": []}, "subnetIds", "at least 1 item(s)"),
    ("NodeGroup", {"nodeRoleArn": ""}, "nodeRoleArn", "at least (1)"),
    ("NodeGroup", {"launchTemplate": {"id": "x", "version": "1"}}, "launchTemplate.id", "does not match"),
    ("NodeGroup", {"launchTemplate": {"id": "lt-1", "version": ""}}, "launchTemplate.version", "range (1 - 255)"),
    # eks/addon.go: semantic version with a v
    ("Addon", {"addonVersion": "1.2.3"}, "addonVersion", "does not match"),
    ("Addon", {"addonVersion": "latest"}, "addonVersion", "does not match"),
    # botocore eks: RepairAction, ProvisionedControlPlaneTier
    ("NodeGroup", {"nodeRepairConfig": {"nodeRepairConfigOverrides": [
        {"minRepairWaitTimeMins": 1, "nodeMonitoringCondition": "a", "nodeUnhealthyReason": "b", "repairAction": "Fix"}
    ]}}, "nodeRepairConfig.nodeRepairConfigOverrides[0].repairAction", "to be one of"),
    ("Cluster", {"controlPlaneScalingConfig": {"tier": "huge"}}, "controlPlaneScalingConfig.tier", "to be one of"),
    # verify.ValidIPv4CIDRNetworkAddress, ValidIPv6CIDRNetworkAddress, ValidCIDRNetworkAddress; net.ParseCIDR
    ("Vpc", {"cidrBlock": "10.0.0.0/255.255.0.0"}, "cidrBlock", "is not a valid CIDR block"),
    ("Vpc", {"cidrBlock": "10.0.0.1/16"}, "cidrBlock", 'not a valid IPv4 CIDR block; did you mean "10.0.0.0/16"?'),
    ("Vpc", {"cidrBlock": "2001:db8::/16"}, "cidrBlock", "is not a valid IPv4 CIDR block"),
    ("Subnet", {"ipv6CidrBlock": "10.0.0.0/24"}, "ipv6CidrBlock", "is not a valid IPv6 CIDR block"),
    ("Route", {"destinationCidrBlock": "::/0"}, "destinationCidrBlock", "is not a valid IPv4 CIDR block"),
    ("Route", {"destinationIpv6CidrBlock": "0.0.0.0/0"}, "destinationIpv6CidrBlock", "is not a valid IPv6"),
    ("SecurityGroupIngressRule", {"cidrIpv4": "::/0"}, "cidrIpv4", "is not a valid IPv4 CIDR block"),
    ("SecurityGroupIngressRule", {"cidrIpv6": "10.0.0.0/8"}, "cidrIpv6", "is not a valid IPv6 CIDR block"),
    ("SecurityGroup", {"ingress": [{"protocol": "tcp", "fromPort": 1, "toPort": 1, "cidrBlocks": ["x"]}]},
     "ingress[0].cidrBlocks[0]", "is not a valid CIDR block"),
    # validation.IsIPv4Address, IntBetween, IntInSlice
    ("NatGateway", {"privateIp": "x"}, "privateIp", "valid IPv4 address"),
    ("Subnet", {"ipv4IpamPoolId": "p", "ipv4NetmaskLength": 99}, "ipv4NetmaskLength", "in the range (16 - 28)"),
    # ec2/ec2_launch_template.go; verify.ValidLaunchTemplateName: at most 125; nullable booleans
    ("LaunchTemplate", {"name": "n" * 126}, "name", "in the range (3 - 125)"),
    ("LaunchTemplate", {"ebsOptimized": "yes"}, "ebsOptimized", "one of '', 'true', or 'false'"),
    ("LaunchTemplate", {"defaultVersion": 0}, "defaultVersion", "at least (1)"),
    ("LaunchTemplate", {"instanceType": "t3.micro", "instanceRequirements": {"memoryMib": {"min": 1},
                                                                             "vcpuCount": {"min": 1}}},
     "instanceRequirements", "conflicts with instanceType"),
    ("LaunchTemplate", {"blockDeviceMappings": [{"ebs": {"throughput": 5}}]},
     "blockDeviceMappings[0].ebs.throughput", "in the range (125 - 2000)"),
    ("LaunchTemplate", {"metadataOptions": {"instanceMetadataTags": "x"}},
     "metadataOptions.instanceMetadataTags", "to be one of"),
    ("LaunchTemplate", {"networkInterfaces": [{"ipv4Addresses": ["x"]}]},
     "networkInterfaces[0].ipv4Addresses[0]", "valid IPv4 address"),
    # iam/role.go: StringLenBetween(0, 512), no typographic quotes; validation.StringIsJSON of ""
    ("Role", {"path": "/" + "x" * 512}, "path", "in the range (0 - 512)"),
    ("Role", {"description": "“r"}, "description", "must not match"),
    ("Role", {"inlinePolicies": [{"name": "a b", "policy": "{}"}]}, "inlinePolicies[0].name", "does not match"),
    ("Role", {"assumeRolePolicy": ""}, "assumeRolePolicy", "contains an invalid JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "inputs", "path", "text"), REFUSED)
def test_the_provider_refuses(name: str, inputs: dict[str, Any], path: str, text: str) -> None:
    own = RULES.get(Account.token(name))
    assert own is not None
    assert not check(own, BASES[name]) or name in ("SecurityGroupIngressRule", "Route")  # these lack one property
    found = check(own, {**BASES[name], **inputs})
    assert [f.path for f in found] == [path]
    assert text in found[0].reason


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (
            "arn",
            ["", ARN, "arn:aws-us-gov:iam::aws:policy/x", "arn:aws:s3:::b", "arn:aws:ec2:us-east-2:000000000000:x"],
        ),
        ("cidr", ["0.0.0.0/0", "::/0", "10.0.0.0/8"]),
        ("boolean", ["", "true", "false"]),
        ("time", ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.5+01:00"]),
    ],
)
def test_the_provider_takes(kind: str, values: list[str]) -> None:
    assert [FORMATS[kind]("x", value) for value in values] == [None] * len(values)


def test_what_is_not_known_yet_is_taken() -> None:
    own = RULES.get(Account.token("Cluster"))
    assert own is not None
    assert not check(own, {"roleArn": UNKNOWN, "vpcConfig": {"subnetIds": UNKNOWN}})
