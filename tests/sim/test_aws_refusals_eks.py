"""What EKS refuses although a provider's own checks let it pass; the source of each stands beside it.

Where no source with the text was found, only code and meaning are AWS's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sim.account import ACCOUNT, Account
from tests.sim.groups import Net, nodes, refused, template

ROLE = f"arn:aws:iam::{ACCOUNT}:role/"


def kept(net: Net, **changes: Any) -> dict[str, Any]:
    """The inputs of the cluster `c`, changed."""
    return {"name": "c", "roleArn": f"{ROLE}cluster", "vpcConfig": {"subnetIds": [net["a"], net["b"]]}, **changes}


@pytest.mark.parametrize(
    ("before", "after"),
    [("CONFIG_MAP", "API"), ("API", "CONFIG_MAP"), ("API_AND_CONFIG_MAP", "CONFIG_MAP"), ("API", "API_AND_CONFIG_MAP")],
)
def test_authentication_modes_go_one_step_forward(account: Account, net: Net, before: str, after: str) -> None:
    account.cluster(net, accessConfig={"authenticationMode": before, "bootstrapClusterCreatorAdminPermissions": True})
    # pulumi/pulumi-eks#1493
    with refused("InvalidParameterException", f"Unsupported authentication mode update from {before} to {after}"):
        account.update("Cluster", "c", **kept(net, accessConfig={"authenticationMode": after}))


def test_authentication_modes_that_eks_takes(account: Account, net: Net) -> None:
    account.cluster(net)
    for mode in ("API_AND_CONFIG_MAP", "API"):
        made = account.update("Cluster", "c", **kept(net, accessConfig={"authenticationMode": mode}))
        assert made["accessConfig"]["authenticationMode"] == mode


def test_config_map_clusters_have_their_creator(account: Account, net: Net) -> None:
    # terraform-aws-modules/terraform-aws-eks#3206; CONFIG_MAP is CreateCluster's default (botocore eks)
    for mode in ({"authenticationMode": "CONFIG_MAP"}, {}):
        with refused("InvalidParameterException", "bootstrapClusterCreatorAdminPermissions must be true"):
            account.cluster(net, accessConfig={**mode, "bootstrapClusterCreatorAdminPermissions": False})


def test_a_cluster_stays_in_its_vpc(account: Account, net: Net) -> None:
    account.cluster(net)
    other = account.create("Vpc", cidrBlock="10.99.0.0/16")["id"]
    there = [account.create("Subnet", vpcId=other, cidrBlock=f"10.99.{i}.0/24", availabilityZone=f"us-east-2{z}")["id"]
             for i, z in enumerate("ab")]  # fmt: skip
    with refused("InvalidParameterException", "not in the VPC"):  # botocore eks UpdateClusterConfig
        account.update("Cluster", "c", **kept(net, vpcConfig={"subnetIds": there}))


def test_another_encryption_key_is_an_update_of_nothing(account: Account, net: Net) -> None:
    def config() -> dict[str, Any]:
        key = account._finish("create", {"type": "aws:kms/key:Key", "inputs": {"tagsAll": {}}})["result"]["arn"]
        return {"provider": {"keyArn": key}, "resources": ["secrets"]}

    first = config()
    account.cluster(net, encryptionConfig=first)
    # resourceClusterUpdate of internal/service/eks/cluster.go: only from none to one
    assert account.update("Cluster", "c", **kept(net, encryptionConfig=config()))["encryptionConfig"] == first


def test_node_groups_follow_before_the_next_cluster_version(account: Account, net: Net) -> None:
    account.cluster(net, version="1.34")
    group = account.node_group(net)
    own = {k: group[k] for k in ("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds", "scalingConfig")}
    account.update("Cluster", "c", **kept(net, version="1.35"))
    # botocore eks UpdateClusterVersion; text: terraform-provider-aws#19478
    with refused("InvalidParameterException", "Nodegroups g must be updated to match cluster version 1.35 before"):
        account.update("Cluster", "c", **kept(net, version="1.36"))
    with refused("InvalidParameterException", "Requested Nodegroup version 1.34 is not supported"):
        account.node_group(net, nodeGroupName="h", version="1.34")  # "the only accepted specified value": botocore eks
    assert account.update("NodeGroup", "c:g", **own, version="1.35")["version"] == "1.35"
    with refused("InvalidParameterException", "Requested Nodegroup version 1.34 is not supported"):
        account.update("NodeGroup", "c:g", **own, version="1.34")  # no way back: botocore eks UpdateNodegroupVersion
    account.update("Cluster", "c", **kept(net, version="1.36"))


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"labels": {"a": ""}}, "1 to 63 characters"),  # botocore eks labelValue
        ({"labels": {"k" * 64: "v"}}, "1 to 63 characters"),  # botocore eks labelKey
        ({"labels": {"a": "b c"}}, "Invalid value: b c : field must consist of alphanumeric"),  # ACK community#2208
        ({"labels": {"a b": "c"}}, "Invalid key"),
        ({"labels": {"node-role.kubernetes.io/x": "y"}}, "reserved prefixes"),  # eksctl-io/eksctl#4007
        ({"taints": [{"key": "a", "value": "b c", "effect": "NO_SCHEDULE"}]}, "Invalid value: b c"),
        # scylladb/scylla-cluster-tests#12524
        ({"amiType": "AL2_x86_64"}, "AMI Type AL2_x86_64 is only supported for kubernetes versions 1.32 or earlier"),
        # eksctl-io/eksctl#7976
        ({"releaseVersion": "1.30.1-20250103"}, "Requested release version 1.30.1-20250103 is not valid for kubern"),
        ({"remoteAccess": {"ec2SshKey": "k"}}, "The key pair 'k' does not exist"),
        (
            {"capacityType": "CAPACITY_BLOCK", "instanceTypes": ["p5.48xlarge"]},
            "capacity block needs a launch template",
        ),
    ],
)
def test_node_groups(account: Account, net: Net, inputs: dict[str, Any], text: str) -> None:
    account.cluster(net)
    with refused("Invalid(Request|Parameter)Exception", text):
        account.node_group(net, **inputs)
    assert account.instances() == []


@pytest.mark.parametrize(
    ("content", "more", "text"),
    [
        # eksctl-io/eksctl#1989
        ({"keyName": "k"}, {}, "fully-formed launch template. The key pair 'k' does not exist"),
        ({"vpcSecurityGroupIds": ["sg-0"]}, {}, "The security group 'sg-0' does not exist in VPC"),
        ({"networkInterfaces": [{"securityGroups": ["sg-0"]}]}, {}, "The security group 'sg-0' does not exist in VPC"),
        ({"imageId": "ami-nope"}, {}, "Invalid id: .ami-nope."),
        # botocore eks CreateNodegroup: version
        ({"imageId": "ami-0123456789abcdef0"}, {"version": "1.36"}, "cannot specify a Kubernetes version"),
    ],
)
def test_templates(account: Account, net: Net, content: dict[str, Any], more: dict[str, Any], text: str) -> None:
    account.cluster(net)
    with refused("Invalid(Request|Parameter)Exception", text):
        account.node_group(net, **template(account, instanceType="m6i.large", **content), **more)


def test_a_group_of_another_vpc_in_a_template(account: Account, net: Net) -> None:
    account.cluster(net)
    other = account.create("Vpc", cidrBlock="10.99.0.0/16")["id"]
    foreign = account.create("SecurityGroup", vpcId=other, name="x")["id"]
    own = account.create("SecurityGroup", vpcId=net["vpc"], name="x")["id"]
    with refused("InvalidRequestException", f"The security group '{foreign}' does not exist in VPC '{net['vpc']}'"):
        account.node_group(net, **template(account, instanceType="m6i.large", vpcSecurityGroupIds=[foreign]))
    account.node_group(net, **template(account, instanceType="m6i.large", vpcSecurityGroupIds=[own]))
    assert len(nodes(account)) == 2


def test_roles_of_add_ons(account: Account, net: Net) -> None:
    account.cluster(net)
    statement = {"Effect": "Allow", "Principal": {"Federated": f"arn:aws:iam::{ACCOUNT}:oidc-provider/x"},
                 "Action": "sts:AssumeRoleWithWebIdentity"}  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    role = account.create("Role", name="irsa", assumeRolePolicy=document)["arn"]
    base = {"clusterName": "c", "addonName": "vpc-cni"}
    with refused("InvalidParameterException", "does not exist"):
        account.create("Addon", **base, serviceAccountRoleArn=f"{ROLE}none")
    with refused("InvalidParameterException", "trusted entity is not correct"):  # not pods.eks.amazonaws.com
        account.create("Addon", **base, podIdentityAssociations=[{"roleArn": role, "serviceAccount": "aws-node"}])
    with refused("InvalidParameterException", "ConfigurationValue provided in request is not supported"):
        account.create("Addon", **base, configurationValues="{")
    account.create("Addon", **base, serviceAccountRoleArn=role, configurationValues='{"env": {}}')


def test_reservations_in_templates(account: Account, net: Net) -> None:
    account.cluster(net)
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0a1b2c3d4e5f60718"}}

    def group(specification: dict[str, Any], **more: Any) -> None:
        made = template(account, instanceType="p5.48xlarge", capacityReservationSpecification=specification)
        account.node_group(net, **made, amiType="AL2023_x86_64_NVIDIA", **more)

    for preference in ("open", "none"):  # botocore ec2 CapacityReservationSpecification
        with refused("InvalidRequestException", "if the CapacityReservationPreference is capacity-reservations-only"):
            group({**target, "capacityReservationPreference": preference})
    with refused("InvalidRequestException", "Spot Instances cannot run in a capacity reservation"):
        group(target, capacityType="SPOT")
    group({**target, "capacityReservationPreference": "capacity-reservations-only"})


def test_access_entries_of_nodes(account: Account, net: Net) -> None:
    account.cluster(net, accessConfig={"authenticationMode": "API"})
    base = {"clusterName": "c", "type": "EC2_LINUX"}  # botocore eks CreateAccessEntryRequest: type, principalArn
    with refused("InvalidParameterException", "can't specify kubernetesGroups"):
        account.create("AccessEntry", **base, principalArn=f"{ROLE}cluster", kubernetesGroups=["g"])
    with refused("InvalidParameterException", "is an IAM role"):
        account.create("AccessEntry", **base, principalArn=f"arn:aws:iam::{ACCOUNT}:user/embedded")


def test_a_template_version_with_another_placement(account: Account, net: Net) -> None:
    account.cluster(net)
    wanted = template(account, instanceType="m6i.large")
    group = account.node_group(net, **wanted)
    identity = wanted["launchTemplate"]["id"]
    name = group["launchTemplate"]["name"]
    account.update("LaunchTemplate", identity, name=name, instanceType="m6i.large", placement={"groupName": "no"})
    own = {k: group[k] for k in ("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds", "scalingConfig")}
    with refused("InvalidRequestException", "The Placement Group 'no' is unknown"):
        account.update("NodeGroup", "c:g", **own, launchTemplate={"id": identity, "version": "2"})
    assert len(nodes(account)) == 2


def test_a_block_that_does_not_say_it_makes_the_creator_no_admin(account: Account, net: Net) -> None:
    """The provider sends false for what its block leaves out (expandCreateAccessConfigRequest)."""
    made = account.cluster(net, accessConfig={"authenticationMode": "API"})
    assert made["accessConfig"]["bootstrapClusterCreatorAdminPermissions"] is False
    with refused("InvalidParameterException", "must be true if cluster authentication mode is set to CONFIG_MAP"):
        account.cluster(net, name="d", accessConfig={"authenticationMode": "CONFIG_MAP"})
