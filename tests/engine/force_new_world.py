"""Base inputs for one resource of every AWS type that a fleet uses, in a small world that the resources refer to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi

Inputs = dict[str, Any]
EKS_SERVICES = ("eks.amazonaws.com", "ec2.amazonaws.com", "pods.eks.amazonaws.com")
MANAGED = "arn:aws:iam::aws:policy/"
POLICY = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})
LIFECYCLE = json.dumps({"rules": [{"rulePriority": 1, "selection": {"tagStatus": "any", "countNumber": 5}}]})


def trust(*services: str) -> str:
    """An assume-role policy for AWS services."""
    statement = {"Effect": "Allow", "Principal": {"Service": list(services)}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


class Any_(pulumi.CustomResource):
    """A resource of any type with inputs as the provider gets them: the SDK's classes would check them first."""

    def __init__(self, token: str, name: str, inputs: Inputs, opts: pulumi.ResourceOptions) -> None:
        outputs = dict.fromkeys(("arn", "name", "keyId", "latestVersion", "creationToken"))
        super().__init__(token, name, {**outputs, **inputs}, opts)


class World:
    """What cases refer to; made once in a program."""

    def __init__(self, provider: pulumi.ProviderResource) -> None:
        self.options = pulumi.ResourceOptions(provider=provider)
        vpc = "aws:ec2/vpc:Vpc"
        self.vpc = self.make(vpc, "w-vpc", {"cidrBlock": "10.0.0.0/16"}).id
        self.vpc2 = self.make(vpc, "w-vpc2", {"cidrBlock": "10.1.0.0/16"}).id
        self.subnets = [
            self.make("aws:ec2/subnet:Subnet", f"w-subnet-{z}", {
                "vpcId": self.vpc, "cidrBlock": f"10.0.{i}.0/24", "availabilityZone": f"us-east-2{z}",
            }).id
            for i, z in enumerate("abc")
        ]  # fmt: skip
        gateway = self.make("aws:ec2/internetGateway:InternetGateway", "w-igw", {"vpcId": self.vpc})
        self.gateway = gateway.id
        self.after_gateway = [gateway]
        tables = [self.make("aws:ec2/routeTable:RouteTable", f"w-table-{i}", {"vpcId": self.vpc}) for i in (0, 1)]
        self.table, self.table2 = tables[0].id, tables[1].id
        groups = [
            self.make("aws:ec2/securityGroup:SecurityGroup", f"w-group-{i}", {"vpcId": self.vpc}) for i in (0, 1, 2)
        ]
        self.groups = [g.id for g in groups]
        self._roles()
        self._clusters()
        self.template = self.make("aws:ec2/launchTemplate:LaunchTemplate", "w-template", {"instanceType": "m6i.large"})
        self.template2 = self.make(
            "aws:ec2/launchTemplate:LaunchTemplate", "w-template2", {"instanceType": "m6i.large"}
        )
        self.template_name, self.template_name2 = (t.name for t in (self.template, self.template2))  # type: ignore[attr-defined]
        self.key = self.make("aws:kms/key:Key", "w-key", {}).arn  # type: ignore[attr-defined]
        self.repository = self.make("aws:ecr/repository:Repository", "w-repository", {}).id

    def _roles(self) -> None:
        roles = [
            self.make("aws:iam/role:Role", f"w-role-{i}", {"assumeRolePolicy": trust(*EKS_SERVICES)}) for i in (0, 1)
        ]
        self.role, self.role2 = roles[0].id, roles[1].id
        self.role_arn, self.role_arn2 = (r.arn for r in roles)  # type: ignore[attr-defined]
        self.attached: list[pulumi.Resource] = [
            self.make("aws:iam/rolePolicyAttachment:RolePolicyAttachment", f"w-{policy}-{i}", {
                "role": role.id, "policyArn": f"{MANAGED}{policy}",
            })
            for i, role in enumerate(roles)
            for policy in ("AmazonEKSClusterPolicy", "AmazonEKSWorkerNodePolicy")
        ]  # fmt: skip

    def _clusters(self) -> None:
        inputs = {
            "roleArn": self.role_arn,
            "vpcConfig": {"subnetIds": self.subnets},
            "accessConfig": {"authenticationMode": "API"},
        }
        options = pulumi.ResourceOptions.merge(self.options, pulumi.ResourceOptions(depends_on=self.attached))
        clusters = [Any_("aws:eks/cluster:Cluster", f"w-cluster-{i}", inputs, options) for i in (0, 1)]
        self.cluster, self.cluster2 = clusters[0].id, clusters[1].id

    def make(self, token: str, name: str, inputs: Inputs) -> Any_:
        """A resource of the world."""
        return Any_(token, name, inputs, self.options)


# Inputs of one resource of a type: the world, and a number that no other case has.
Base = Callable[[World, int], Inputs]


def _nat(w: World, n: int) -> Inputs:
    address = w.make("aws:ec2/eip:Eip", f"case-{n}-address", {"domain": "vpc"})
    return {"subnetId": w.subnets[0], "allocationId": address.id, "connectivityType": "public"}


def _association(w: World, n: int) -> Inputs:
    subnet = w.make("aws:ec2/subnet:Subnet", f"case-{n}-subnet", {"vpcId": w.vpc, "cidrBlock": f"10.0.{n}.0/24"})
    return {"routeTableId": w.table, "subnetId": subnet.id}


def _rule(w: World, n: int) -> Inputs:
    cidr = f"10.{n}.0.0/16"
    return {"securityGroupId": w.groups[0], "ipProtocol": "tcp", "fromPort": 1, "toPort": 2, "cidrIpv4": cidr}


def _files(w: World, n: int) -> Any:
    return w.make("aws:efs/fileSystem:FileSystem", f"case-{n}-files", {}).id


def _access_point(w: World, n: int) -> Inputs:
    creation = {"ownerGid": 1, "ownerUid": 1, "permissions": "755"}
    return {
        "fileSystemId": _files(w, n),
        "posixUser": {"gid": 1, "uid": 1, "secondaryGids": [2]},
        "rootDirectory": {"path": "/data", "creationInfo": creation},
    }


BASES: dict[str, Base] = {
    "aws:ec2/vpc:Vpc": lambda w, n: {"cidrBlock": "10.9.0.0/16"},
    "aws:ec2/subnet:Subnet": lambda w, n: {"vpcId": w.vpc2, "cidrBlock": f"10.1.{n}.0/24"},
    "aws:ec2/internetGateway:InternetGateway": lambda w, n: {},
    "aws:ec2/natGateway:NatGateway": _nat,
    "aws:ec2/eip:Eip": lambda w, n: {"domain": "vpc"},
    "aws:ec2/routeTable:RouteTable": lambda w, n: {"vpcId": w.vpc},
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _association,
    "aws:ec2/route:Route": lambda w, n: {
        "routeTableId": w.table, "destinationCidrBlock": f"10.{n}.0.0/16", "gatewayId": w.gateway,
    },
    "aws:ec2/securityGroup:SecurityGroup": lambda w, n: {"vpcId": w.vpc, "description": "one"},
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule,
    "aws:ec2/launchTemplate:LaunchTemplate": lambda w, n: {"instanceType": "m6i.large"},
    "aws:ec2/placementGroup:PlacementGroup": lambda w, n: {"strategy": "cluster"},
    "aws:ec2/capacityReservation:CapacityReservation": lambda w, n: {
        "availabilityZone": "us-east-2a", "instanceType": "m6i.large", "instanceCount": 1,
        "instancePlatform": "Linux/UNIX",
    },
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": lambda w, n: {
        "capacityBlockOfferingId": "cb-0e3bedded00000424", "instancePlatform": "Linux/UNIX",
    },
    "aws:ec2/vpcEndpoint:VpcEndpoint": lambda w, n: {"vpcId": w.vpc, "serviceName": "com.amazonaws.us-east-2.s3"},
    "aws:eks/cluster:Cluster": lambda w, n: {
        "roleArn": w.role_arn, "vpcConfig": {"subnetIds": [w.subnets[0], w.subnets[1]]},
    },
    "aws:eks/nodeGroup:NodeGroup": lambda w, n: {
        "clusterName": w.cluster, "nodeRoleArn": w.role_arn, "subnetIds": [w.subnets[0]],
        "scalingConfig": {"minSize": 0, "maxSize": 1, "desiredSize": 0}, "instanceTypes": ["m6i.large"],
    },
    "aws:eks/addon:Addon": lambda w, n: {"clusterName": w.cluster, "addonName": "vpc-cni"},
    "aws:eks/accessEntry:AccessEntry": lambda w, n: {
        "clusterName": w.cluster, "principalArn": f"arn:aws:iam::000000000000:user/u{n}",
    },
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": lambda w, n: {
        "clusterName": w.cluster, "namespace": "default", "serviceAccount": f"s{n}", "roleArn": w.role_arn,
    },
    "aws:iam/role:Role": lambda w, n: {"assumeRolePolicy": trust("ec2.amazonaws.com")},
    "aws:iam/policy:Policy": lambda w, n: {"policy": POLICY, "description": "one"},
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": lambda w, n: {
        "role": w.role, "policyArn": f"{MANAGED}AmazonEKS_CNI_Policy",
    },
    "aws:iam/instanceProfile:InstanceProfile": lambda w, n: {},
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": lambda w, n: {
        "url": f"https://oidc.example.com/{n}", "clientIdLists": ["sts.amazonaws.com"],
    },
    "aws:efs/fileSystem:FileSystem": lambda w, n: {},
    "aws:efs/mountTarget:MountTarget": lambda w, n: {"fileSystemId": _files(w, n), "subnetId": w.subnets[0]},
    "aws:efs/accessPoint:AccessPoint": _access_point,
    "aws:s3/bucket:Bucket": lambda w, n: {},
    "aws:ecr/repository:Repository": lambda w, n: {"encryptionConfigurations": [{"encryptionType": "AES256"}]},
    "aws:ecr/lifecyclePolicy:LifecyclePolicy": lambda w, n: {"repository": w.repository, "policy": LIFECYCLE},
    "aws:kms/key:Key": lambda w, n: {},
    "aws:cloudwatch/logGroup:LogGroup": lambda w, n: {},
}  # fmt: skip
