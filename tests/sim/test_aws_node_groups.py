"""Node groups and launch templates that EKS refuses before it launches anything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.account import ACCOUNT, Account
from tests.sim.groups import Net, interfaces, refused, template


@pytest.mark.parametrize(
    ("inputs", "code", "text"),
    [
        ({"clusterName": "none"}, "ResourceNotFoundException", "No cluster found for name: none"),
        ({"instanceTypes": ["p9.48xlarge"]}, "InvalidParameterException", "do not exist: .p9.48xlarge"),
        (
            {"instanceTypes": ["p5.48xlarge"], "amiType": "AL2023_x86_64_STANDARD"},
            "InvalidParameterException",
            "is not a valid instance type for requested amiType",
        ),
        (
            {"instanceTypes": ["m6i.large"], "amiType": "AL2023_x86_64_NVIDIA"},
            "InvalidParameterException",
            "not a valid",
        ),
        (
            {"instanceTypes": ["m7g.large"], "amiType": "AL2023_x86_64_STANDARD"},
            "InvalidParameterException",
            "not a valid",
        ),
        (
            {"scalingConfig": {"minSize": 3, "desiredSize": 2, "maxSize": 4}},
            "InvalidParameterException",
            "Minimum capacity 3 can't be greater than desired size 2",
        ),
        (
            {"scalingConfig": {"minSize": 0, "desiredSize": 5, "maxSize": 4}},
            "InvalidParameterException",
            "desired capacity 5 can't be greater than max size 4",
        ),
        ({"labels": {"kubernetes.io/x": "y"}}, "InvalidParameterException", "reserved prefixes"),
        ({"labels": {"eks.amazonaws.com/x": "y"}}, "InvalidParameterException", "reserved prefixes"),
        ({"version": "1.37"}, "InvalidParameterException", "Requested Nodegroup version 1.37"),
        (
            {"nodeRoleArn": f"arn:aws:iam::{ACCOUNT}:role/legacy-cluster"},
            "InvalidParameterException",
            "Following required service principals",
        ),
        ({"subnetIds": ["subnet-0e3bedded00000a01"]}, "InvalidParameterException", "is not in the VPC of the cluster"),
    ],
)
def test_node_groups_that_eks_refuses(account: Account, net: Net, inputs: dict[str, Any], code: str, text: str) -> None:
    account.cluster(net)
    with refused(code, text):
        account.node_group(net, **inputs)
    assert account.invoke("aws:eks/getNodeGroups:getNodeGroups", clusterName="c")["names"] == []
    assert account.instances() == []


@pytest.mark.parametrize(
    ("content", "more", "text"),
    [
        ({"instanceType": "p5.48xlarge"}, {"instanceTypes": ["p5.48xlarge"]}, "in launch template and API request"),
        ({"instanceType": "p5.48xlarge"}, {"diskSize": 100}, "Disk size must be specified within the launch template"),
        ({"instanceType": "p5.48xlarge", "imageId": "ami-1"}, {}, "other than CUSTOM"),
        (
            {"instanceType": "p5.48xlarge", "iamInstanceProfile": {"name": "x"}},
            {},
            "must not contain IAM instance profile",
        ),
        (
            {"instanceType": "p5.48xlarge", "networkInterfaces": [{"deviceIndex": 0, "subnetId": "subnet-1"}]},
            {},
            "must not contain a subnet",
        ),
        (
            {"instanceType": "p5.48xlarge", "networkInterfaces": interfaces(2), "vpcSecurityGroupIds": ["sg-1"]},
            {},
            "Network interfaces and an instance-level security groups",
        ),
        (
            {"instanceType": "p5.48xlarge", "networkInterfaces": interfaces(2, associatePublicIpAddress="true")},
            {},
            "associatePublicIPAddress parameter cannot be specified",
        ),
        (
            {
                "instanceType": "p5.48xlarge",
                "networkInterfaces": [
                    *interfaces(1),
                    {"networkCardIndex": 1, "deviceIndex": 2, "interfaceType": "efa-only"},
                ],
            },
            {},
            "Specify a number from 0 to 1",
        ),
        ({"instanceType": "p5.48xlarge", "networkInterfaces": interfaces(33)}, {}, "Network card index 32 exceeds"),
        (
            {"instanceType": "p5.48xlarge", "networkInterfaces": [{"deviceIndex": 0, "interfaceType": "efa-only"}]},
            {},
            "cannot be an EFA-only interface",
        ),
        ({"instanceType": "p6-b300.48xlarge", "networkInterfaces": interfaces(2)}, {}, "Network card 0 of p6-b300"),
        ({"instanceType": "g5.xlarge", "networkInterfaces": interfaces(1)}, {}, "does not support EFA"),
        (
            {"instanceType": "p5.48xlarge", "instanceMarketOptions": {"marketType": "capacity-block"}},
            {},
            "need each other",
        ),
        (
            {
                "instanceType": "p5.48xlarge",
                "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": "cr-0"}},
            },
            {},
            "reservation 'cr-0' does not exist",
        ),
    ],
)
def test_templates_that_eks_refuses(
    account: Account, net: Net, content: dict[str, Any], more: dict[str, Any], text: str
) -> None:
    account.cluster(net)
    with refused("Invalid(Request|Parameter)Exception", text):
        account.node_group(net, **{**template(account, **content), "amiType": "AL2023_x86_64_NVIDIA", **more})
    assert account.instances() == []


def test_placement_groups(account: Account, net: Net) -> None:
    account.cluster(net)
    account.create("PlacementGroup", name="pg", strategy="cluster")
    burstable = template(account, instanceType="t3.large", placement={"groupName": "pg"})
    with refused(
        "InvalidRequestException", "Cluster placement groups are not supported by the 't3.large' instance type"
    ):
        account.node_group(net, **burstable)
    unknown = template(account, instanceType="m6i.large", placement={"groupName": "none"})
    with refused("InvalidRequestException", "The Placement Group 'none' is unknown"):
        account.node_group(net, **unknown)
    fine = template(account, instanceType="m6i.large", placement={"groupName": "pg"})
    with refused("InvalidRequestException", "cannot be used with multiple Availability Zones"):
        account.node_group(net, subnetIds=[net["a"], net["b"]], **fine)
    account.node_group(net, **fine)


def test_an_encryption_key_must_exist(account: Account, net: Net) -> None:
    key = "arn:aws:kms:us-east-2:000000000000:key/none"
    with refused("InvalidParameterException", "The key .* does not exist"):
        account.cluster(net, encryptionConfig={"provider": {"keyArn": key}, "resources": ["secrets"]})
