"""Clusters, node groups, add-ons: refused where EKS refuses, and nodes as AWS's agents make them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from accelerator_fleet_sim.aws import tokens
from tests.sim.account import ACCOUNT, MANAGED, Account, trust
from tests.sim.groups import P5, Net, interfaces, nodes, refused, template

# -- clusters ---------------------------------------------------------------------------------------------------------


def test_a_cluster_has_what_the_provider_returns(account: Account, net: Net) -> None:
    cluster = account.cluster(net, version="1.35")
    assert cluster["arn"] == f"arn:aws:eks:us-east-2:{ACCOUNT}:cluster/c"
    assert cluster["id"] == "c"
    assert cluster["status"] == "ACTIVE"
    assert cluster["endpoint"].startswith("https://")
    assert base64.b64decode(cluster["certificateAuthority"]["data"]).startswith(b"-----BEGIN CERTIFICATE")
    issuer = cluster["identities"][0]["oidcs"][0]["issuer"]
    assert issuer.startswith("https://oidc.eks.us-east-2.amazonaws.com/id/")
    assert len(issuer.rpartition("/")[2]) == 32
    config = cluster["vpcConfig"]
    assert config["vpcId"] == net["vpc"]
    assert config["clusterSecurityGroupId"].startswith("sg-0")
    assert cluster["kubernetesNetworkConfig"]["serviceIpv4Cidr"] == "172.20.0.0/16"
    assert set(account.clusters.addons["c"]) == {"vpc-cni", "kube-proxy", "coredns"}


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"version": "1.99"}, "unsupported Kubernetes version 1.99"),
        ({"roleArn": f"arn:aws:iam::{ACCOUNT}:role/nobody"}, "could not be assumed because it does not exist"),
        ({"roleArn": f"arn:aws:iam::{ACCOUNT}:role/legacy-nodes"}, "the trusted entity is not correct"),
        ({"kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.16.0.0/20"}}, "must not overlap"),
        ({"kubernetesNetworkConfig": {"serviceIpv4Cidr": "8.8.0.0/20"}}, "must be within 10.0.0.0/8"),
    ],
)
def test_clusters_that_eks_refuses(account: Account, net: Net, inputs: dict[str, Any], text: str) -> None:
    with refused("InvalidParameterException", text):
        account.cluster(net, **inputs)
    assert account.invoke("aws:eks/getClusters:getClusters")["names"] == []


def test_a_cluster_needs_two_zones_of_one_vpc(account: Account, net: Net) -> None:
    with refused("InvalidParameterException", "at least two different AZs"):
        account.cluster(net, vpcConfig={"subnetIds": [net["a"]]})
    with refused("InvalidParameterException", "The subnet ID 'subnet-0' does not exist"):
        account.cluster(net, vpcConfig={"subnetIds": [net["a"], "subnet-0"]})
    there = account.world.catalog.account["existing"]["subnets"][1]["id"]
    with refused("InvalidParameterException", "must belong to the same VPC"):
        account.cluster(net, vpcConfig={"subnetIds": [net["a"], there]})


def test_names_are_taken_once_and_groups_hold_the_cluster(account: Account, net: Net) -> None:
    account.cluster(net)
    with refused("ResourceInUseException", "Cluster already exists with name: c"):
        account.cluster(net)
    account.node_group(net)
    with refused("ResourceInUseException", "NodeGroup already exists with name g and cluster name c"):
        account.node_group(net)
    with refused("ResourceInUseException", "Cluster has nodegroups attached"):
        account.delete("Cluster", "c")
    with refused("DependencyViolation"):
        account.delete("Subnet", net["b"])  # the control plane's interfaces
    account.delete("NodeGroup", "c:g")
    account.delete("Cluster", "c")
    for zone in "abc":
        account.delete("Subnet", net[zone])
    account.delete("Vpc", net["vpc"])


def test_versions_go_up_by_one(account: Account, net: Net) -> None:
    made = account.cluster(net, version="1.34")
    kept = {"name": "c", "roleArn": made["roleArn"], "vpcConfig": {"subnetIds": [net["a"], net["b"]]}}
    for version in ("1.33", "1.36"):
        with refused(
            "InvalidParameterException", f"Unsupported Kubernetes minor version update from 1.34 to {version}"
        ):
            account.update("Cluster", "c", version=version, **kept)
    assert account.update("Cluster", "c", version="1.35", **kept)["version"] == "1.35"


def test_deletion_protection(account: Account, net: Net) -> None:
    account.cluster(net, deletionProtection=True)
    with refused("InvalidRequestException", "deletion protection"):
        account.delete("Cluster", "c")


# -- node groups ------------------------------------------------------------------------------------------------------


def test_nodes_carry_what_aws_sets(account: Account, net: Net) -> None:
    account.cluster(net)
    group = account.create("SecurityGroup", vpcId=net["vpc"], name="efa", description="d")["id"]
    placed = account.create("PlacementGroup", name="pg", strategy="cluster")["id"]
    wanted = template(
        account, instanceType="p5.48xlarge", placement={"groupName": placed},
        networkInterfaces=interfaces(32, securityGroups=[group]),
        blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 500}}],
    )  # fmt: skip
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
    made = account.node_group(net, "c", **wanted, amiType="AL2023_x86_64_NVIDIA", labels={"pool": "x"}, taints=[taint])
    assert made["resources"][0]["autoscalingGroups"][0]["name"].startswith("eks-g-")
    assert made["launchTemplate"]["name"].startswith("t")
    assert made["id"] == "c:g"
    one, two = nodes(account)
    assert one.name == f"ip-{one.internal_ip.replace('.', '-')}.us-east-2.compute.internal"
    assert one.internal_ip.startswith("10.16.32.")
    assert one.provider_id.startswith("aws:///us-east-2c/i-0")
    assert one.shape.device_resources == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    assert one.shape.taints == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert one.shape.capacity["cpu"] == "192"
    labels = one.shape.labels
    expected = {
        "pool": "x",
        "eks.amazonaws.com/nodegroup": "g",
        "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "eks.amazonaws.com/sourceLaunchTemplateVersion": "1",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
        "topology.kubernetes.io/zone": "us-east-2c",
        "topology.kubernetes.io/region": "us-east-2",
        "topology.k8s.aws/zone-id": "use2-az3",
        "kubernetes.io/hostname": one.name,
    }
    assert expected.items() <= labels.items()
    layer = "topology.k8s.aws/network-node-layer-3"
    assert labels[layer].startswith("nn-")
    assert labels[layer] == two.shape.labels[layer]
    with refused("InvalidPlacementGroup.InUse"):
        account.delete("PlacementGroup", "pg")
    with refused("DependencyViolation"):
        account.delete("SecurityGroup", group)


def test_nodes_without_efa_in_the_template_offer_none(account: Account, net: Net) -> None:
    account.cluster(net)
    account.node_group(net, **P5)
    assert nodes(account)[0].shape.device_resources == {"nvidia.com/gpu": "8"}
    account.node_group(
        net, "c", nodeGroupName="n", nodes=1, instanceTypes=["trn1.32xlarge"], amiType="AL2023_x86_64_NEURON"
    )
    assert nodes(account, "n")[0].shape.device_resources == {
        "aws.amazon.com/neuron": "16", "aws.amazon.com/neuroncore": "32",
    }  # fmt: skip


def test_a_template_version_that_does_not_exist(account: Account, net: Net) -> None:
    account.cluster(net)
    wanted = template(account, instanceType="m6i.large")
    wanted["launchTemplate"]["version"] = "7"
    with refused("InvalidRequestException", "Could not find the specified version 7"):
        account.node_group(net, **wanted)


def test_template_versions_count_up(account: Account) -> None:
    made = account.create("LaunchTemplate", name="ttt", instanceType="m6i.large")
    assert (made["latestVersion"], made["defaultVersion"]) == (1, 1)
    second = account.update("LaunchTemplate", made["id"], name="ttt", instanceType="m6i.xlarge")
    assert (second["latestVersion"], second["defaultVersion"]) == (2, 1)
    same = account.update("LaunchTemplate", made["id"], name="ttt", instanceType="m6i.xlarge", description="only words")
    assert same["latestVersion"] == 3  # `description` is among updateKeys [tf: ec2/ec2_launch_template.go]
    third = account.update(
        "LaunchTemplate", made["id"], name="ttt", instanceType="m6i.large", updateDefaultVersion=True
    )
    assert (third["latestVersion"], third["defaultVersion"]) == (4, 4)
    with refused("InvalidLaunchTemplateName.AlreadyExistsException"):
        account.create("LaunchTemplate", name="ttt", instanceType="m6i.large")
    with refused("InvalidInstanceType", "do not exist: .p5.49xlarge"):
        account.create("LaunchTemplate", name="uuu", instanceType="p5.49xlarge")


def test_a_template_that_changes_recycles_the_nodes(account: Account, net: Net) -> None:
    account.cluster(net)
    made = account.create("LaunchTemplate", name="ttt", instanceType="m6i.large")
    wanted: Net = {"launchTemplate": {"id": made["id"], "version": "1"}, "instanceTypes": None}
    group = account.node_group(net, **wanted)
    before = {n.provider_id for n in nodes(account)}
    account.update("LaunchTemplate", made["id"], name="ttt", instanceType="m6i.xlarge")
    kept = {k: group[k] for k in ("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds", "scalingConfig")}
    account.update("NodeGroup", "c:g", **kept, launchTemplate={"id": made["id"], "version": "2"})
    assert {n.instance_type for n in nodes(account)} == {"m6i.xlarge"}
    assert not before & {n.provider_id for n in nodes(account)}


def test_scaling_keeps_the_nodes_that_stay(account: Account, net: Net) -> None:
    account.cluster(net)
    group = account.node_group(net)
    before = [n.name for n in nodes(account)]
    kept = {k: group[k] for k in ("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds")}
    account.update("NodeGroup", "c:g", **kept, scalingConfig={"minSize": 0, "maxSize": 9, "desiredSize": 4})
    assert [n.name for n in nodes(account)][:2] == before
    assert len(nodes(account)) == 4
    account.update("NodeGroup", "c:g", **kept, scalingConfig={"minSize": 0, "maxSize": 9, "desiredSize": 1})
    assert [n.name for n in nodes(account)] == before[:1]
    assert len(account.instances()) == 1


# -- add-ons, access --------------------------------------------------------------------------------------------------


def test_add_ons(account: Account, net: Net) -> None:
    account.cluster(net)
    with refused("InvalidParameterException", "Addon karpenter specified is not supported"):
        account.create("Addon", clusterName="c", addonName="karpenter")
    with refused("InvalidParameterException", "Addon version specified is not supported: v0.0.1"):
        account.create("Addon", clusterName="c", addonName="vpc-cni", addonVersion="v0.0.1")
    made = account.create("Addon", clusterName="c", addonName="vpc-cni")
    assert made["addonVersion"] == account.clusters.addons["c"]["vpc-cni"]
    with refused("ResourceInUseException", "Addon already exists"):
        account.create("Addon", clusterName="c", addonName="vpc-cni")
    with refused("ConfigurationConflict"):
        account.create("Addon", clusterName="c", addonName="coredns", addonVersion="v1.11.4-eksbuild.2")


def test_access_entries_need_an_authentication_mode(account: Account, net: Net) -> None:
    account.cluster(net)
    with refused("InvalidRequestException", "authentication mode must be set to one of"):
        account.create("AccessEntry", clusterName="c", principalArn=f"arn:aws:iam::{ACCOUNT}:user/x")


def test_tokens_open_only_their_own_cluster(account: Account, net: Net) -> None:
    account.cluster(net)
    made = tokens.make(account.world, "c", "us-east-2")["token"]
    who = tokens.authenticator(account.world, "us-east-2", "c")
    user = who("c", made)
    assert user is not None
    assert user["groups"] == ["system:masters"]
    assert user["username"] == f"arn:aws:iam::{ACCOUNT}:user/embedded"
    assert who("c", made[:-4] + "AAAA") is None
    assert who("c", "") is None
    assert who("c", tokens.make(account.world, "other", "us-east-2")["token"]) is None
    assert who("c", tokens.make(account.world, "c", "us-west-2")["token"]) is None


def test_without_bootstrap_the_creator_is_nobody(account: Account, net: Net) -> None:
    access = {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": False}
    account.cluster(net, accessConfig=access)
    who = tokens.authenticator(account.world, "us-east-2", "c")
    token = tokens.make(account.world, "c", "us-east-2")["token"]
    assert who("c", token) is None
    account.create("AccessEntry", clusterName="c", principalArn=f"arn:aws:iam::{ACCOUNT}:user/embedded",
                   kubernetesGroups=["viewers"])  # fmt: skip
    user = who("c", token)
    assert user is not None
    assert user["groups"] == ["viewers"]


# -- IAM --------------------------------------------------------------------------------------------------------------


def test_iam(account: Account) -> None:
    role = account.create("Role", name="r", assumeRolePolicy=trust("ec2.amazonaws.com"), path="/x/")
    assert role["arn"] == f"arn:aws:iam::{ACCOUNT}:role/x/r"
    assert role["uniqueId"].startswith("AROA")
    with refused("EntityAlreadyExists", "Role with name r already exists"):
        account.create("Role", name="r", assumeRolePolicy=trust("ec2.amazonaws.com"), path="/")
    with refused("MalformedPolicyDocument"):
        account.create("Role", name="s", assumeRolePolicy='{"Version": "2012-10-17"}', path="/")
    with refused("NoSuchEntity", "Policy .*AmazonEKSWorkerNodePolicies does not exist or is not attachable"):
        account.create("RolePolicyAttachment", role="r", policyArn=f"{MANAGED}AmazonEKSWorkerNodePolicies")
    with refused("NoSuchEntity", "The role with name nobody cannot be found"):
        account.create("RolePolicyAttachment", role="nobody", policyArn=f"{MANAGED}AmazonEKS_CNI_Policy")
    attached = account.create("RolePolicyAttachment", role="r", policyArn=f"{MANAGED}AmazonEKS_CNI_Policy")["id"]
    with refused("DeleteConflict", "must detach all policies first"):
        account.delete("Role", "r")
    account.delete("RolePolicyAttachment", attached)
    account.delete("Role", "r")
