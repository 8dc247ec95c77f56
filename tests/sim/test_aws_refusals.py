"""What AWS refuses of things that a provider's own checks let pass; the source of each stands beside it.

Where no source with the text was found, only code and meaning are AWS's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sim.account import ACCOUNT, Account, trust
from tests.sim.groups import Net, nodes, refused, template

ROLE = f"arn:aws:iam::{ACCOUNT}:role/"


def kept(net: Net, **changes: Any) -> dict[str, Any]:
    """The inputs of the cluster `c`, changed."""
    return {"name": "c", "roleArn": f"{ROLE}cluster", "vpcConfig": {"subnetIds": [net["a"], net["b"]]}, **changes}


# -- EKS --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [("CONFIG_MAP", "API"), ("API", "CONFIG_MAP"), ("API_AND_CONFIG_MAP", "CONFIG_MAP"), ("API", "API_AND_CONFIG_MAP")],
)
def test_authentication_modes_go_one_step_forward(account: Account, net: Net, before: str, after: str) -> None:
    account.cluster(net, accessConfig={"authenticationMode": before})
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
