"""The embedded account behind AWS's own APIs, asked through boto3; each answer is held against what was meant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import unquote

import boto3
import botocore
from botocore.config import Config

from accelerator_fleet_engine.endpoints import ACCESS_KEY, SECRET_KEY
from accelerator_fleet_sim.apis.aws import wire
from accelerator_fleet_sim.apis.aws.server import AwsApi
from accelerator_fleet_sim.apis.listener import Listener
from tests.sim.account import ACCOUNT, MANAGED, REGION, Account, trust

Item = dict[str, Any]
TAGS = {"fleet": "accel", "Name": "x"}
DOCUMENTS = ("AssumeRolePolicyDocument", "PolicyDocument")  # botocore reads them


def plain(value: Any) -> Any:
    """An answer without members that are nothing, policies as objects: as botocore's parser gives it."""
    if isinstance(value, dict):
        return {k: json.loads(unquote(v)) if k in DOCUMENTS and isinstance(v, str) else plain(v)
                for k, v in value.items() if v is not None}  # fmt: skip
    return [plain(v) for v in value] if isinstance(value, list) else value


class Asker:
    """boto3 against one account. `asked` are the operations that were answered, each the same on both sides."""

    def __init__(self, url: str, answers: list[Item]) -> None:
        self.url, self._answers = url, answers
        self.asked: set[tuple[str, str]] = set()

    def client(self, service: str, region: str = REGION, key: str = ACCESS_KEY, secret: str = SECRET_KEY) -> Any:
        """A client as `fleet env` makes it."""
        return boto3.client(service, region_name=region, endpoint_url=self.url, aws_access_key_id=key,
                            aws_secret_access_key=secret, config=Config(retries={"max_attempts": 0}))  # fmt: skip

    def __call__(self, service: str, operation: str, region: str = REGION, /, **params: Any) -> Item:
        """Ask, and hold what the parser made of the answer against what the server meant."""
        self._answers.clear()
        got: Item = getattr(self.client(service, region), botocore.xform_name(operation))(**params)
        assert got.pop("ResponseMetadata")["HTTPStatusCode"] in (200, 204)
        assert self._answers == [plain(got)], (service, operation)
        self.asked.add((service, operation))
        return got


@contextmanager
def asking(account: Account) -> Iterator[Asker]:
    """An endpoint for the account."""
    answers: list[Item] = []
    real = wire.serialize

    def noted(operation: Any, answer: Item) -> Any:
        answers.append(plain(answer))
        return real(operation, answer)

    listener = Listener(0, AwsApi(account.aws, account.world).handle, print)
    listener.start()
    with mock.patch.object(wire, "serialize", noted):
        yield Asker(f"http://127.0.0.1:{listener.port}", answers)
    listener.close()


def make(account: Account, token: str, **inputs: Any) -> Item:
    """A resource of any type; its outputs with `id`."""
    tags = {} if token.endswith((":Route", "Association", "Attachment", "MountTarget")) else {"tagsAll": TAGS}
    made = account._finish("create", {"type": token, "inputs": {**tags, **inputs}})
    return {"id": made["id"], **made["result"]}


def network(account: Account) -> Item:
    """A VPC with everything that lies in one."""
    vpc = make(account, "aws:ec2/vpc:Vpc", cidrBlock="10.16.0.0/16", enableDnsSupport=True)["id"]
    found: Item = {"vpc": vpc}
    for number, zone in enumerate("abc"):
        found[zone] = make(account, "aws:ec2/subnet:Subnet", vpcId=vpc, cidrBlock=f"10.16.{number * 16}.0/20",
                           availabilityZone=f"{REGION}{zone}")["id"]  # fmt: skip
    found["gateway"] = make(account, "aws:ec2/internetGateway:InternetGateway", vpcId=vpc)["id"]
    found["address"] = make(account, "aws:ec2/eip:Eip", domain="vpc")["id"]
    found["nat"] = make(account, "aws:ec2/natGateway:NatGateway", subnetId=found["a"], allocationId=found["address"],
                        connectivityType="public")["id"]  # fmt: skip
    found["table"] = make(account, "aws:ec2/routeTable:RouteTable", vpcId=vpc)["id"]
    found["route"] = make(account, "aws:ec2/route:Route", routeTableId=found["table"], natGatewayId=found["nat"],
                          destinationCidrBlock="0.0.0.0/0")["id"]  # fmt: skip
    found["association"] = make(account, "aws:ec2/routeTableAssociation:RouteTableAssociation",
                                routeTableId=found["table"], subnetId=found["b"])["id"]  # fmt: skip
    found["endpoint"] = make(account, "aws:ec2/vpcEndpoint:VpcEndpoint", vpcId=vpc, vpcEndpointType="Gateway",
                             serviceName=f"com.amazonaws.{REGION}.s3",
                                 routeTableIds=[found["table"]])["id"]  # fmt: skip
    found["group"] = make(account, "aws:ec2/securityGroup:SecurityGroup", vpcId=vpc, name="efa", description="d")["id"]
    for way in ("Ingress", "Egress"):
        kind = f"SecurityGroup{way}Rule"
        found[way] = make(account, f"aws:vpc/s{kind[1:]}:{kind}", securityGroupId=found["group"], ipProtocol="-1",
                          referencedSecurityGroupId=found["group"])["id"]  # fmt: skip
    return found


def world(account: Account) -> Item:
    """Everything of every type that the APIs show."""
    found = network(account)
    found["placement"] = make(account, "aws:ec2/placementGroup:PlacementGroup", name="pg", strategy="cluster")["id"]
    found["template"] = make(
        account, "aws:ec2/launchTemplate:LaunchTemplate", name="lt", placement={"groupName": "pg"},
        tagSpecifications=[{"resourceType": "instance", "tags": {"pool": "p"}}],
            metadataOptions={"httpTokens": "required"},
        networkInterfaces=[{"deviceIndex": 0, "interfaceType": "interface", "deleteOnTermination": "true",
                            "securityGroups": [found["group"]]}],
        blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 80, "encrypted": "true"}}],
    )["id"]  # fmt: skip
    role = "aws:iam/role:Role"
    for name, service in (("cluster", "eks"), ("node", "ec2"), ("pod", "pods.eks")):
        make(account, role, name=name, assumeRolePolicy=trust(f"{service}.amazonaws.com"), path="/", inlinePolicies=[
            {"name": "in", "policy": json.dumps({"Version": "2012-10-17", "Statement": [
                {"Effect": "Allow", "Action": "s3:GetObject",
                    "Resource": "*"}]})}] if name == "pod" else [])  # fmt: skip
    for name, policy in (("cluster", "AmazonEKSClusterPolicy"), ("node", "AmazonEKSWorkerNodePolicy")):
        make(account, "aws:iam/rolePolicyAttachment:RolePolicyAttachment", role=name, policyArn=MANAGED + policy)
    make(account, "aws:iam/instanceProfile:InstanceProfile", name="profile", role="node", path="/")
    text = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
    found["policy"] = make(account, "aws:iam/policy:Policy", name="own", path="/", policy=text)["id"]
    found["provider"] = make(account, "aws:iam/openIdConnectProvider:OpenIdConnectProvider", clientIdLists=["sts"],
                             url="https://oidc.example")["id"]  # fmt: skip
    arn = f"arn:aws:iam::{ACCOUNT}:role/"
    make(account, "aws:eks/cluster:Cluster", name="c", roleArn=f"{arn}cluster", enabledClusterLogTypes=["api"],
         vpcConfig={"subnetIds": [found["a"], found["b"]]}, accessConfig={"authenticationMode": "API",
         "bootstrapClusterCreatorAdminPermissions": True})  # fmt: skip
    group = make(account, "aws:eks/nodeGroup:NodeGroup", clusterName="c", nodeGroupName="g", nodeRoleArn=f"{arn}node",
         subnetIds=[found["a"]], scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 2}, labels={"pool": "p"},
         instanceTypes=["c5n.18xlarge"], launchTemplate={"id": found["template"], "version": "1"},
         taints=[{"key": "gpu", "value": "present", "effect": "NO_SCHEDULE"}])  # fmt: skip
    make(account, "aws:autoscaling/schedule:Schedule", scheduledActionName="later", startTime="2099-01-01T00:00:00Z",
         autoscalingGroupName=group["resources"][0]["autoscalingGroups"][0]["name"], desiredCapacity=1, minSize=-1,
         maxSize=-1)  # fmt: skip
    make(account, "aws:eks/addon:Addon", clusterName="c", addonName="eks-pod-identity-agent")
    make(account, "aws:eks/accessEntry:AccessEntry", clusterName="c", principalArn=f"{arn}pod")
    found["pods"] = make(account, "aws:eks/podIdentityAssociation:PodIdentityAssociation", clusterName="c",
                         namespace="n", serviceAccount="s", roleArn=f"{arn}pod")["id"]  # fmt: skip
    found["key"] = make(account, "aws:kms/key:Key", description="d")["id"]
    make(account, "aws:cloudwatch/logGroup:LogGroup", name="/aws/eks/c", retentionInDays=7)
    found["files"] = make(account, "aws:efs/fileSystem:FileSystem", creationToken="t", encrypted=True)["id"]
    found["mount"] = make(account, "aws:efs/mountTarget:MountTarget", fileSystemId=found["files"], subnetId=found["a"],
                          securityGroups=[found["group"]])["id"]  # fmt: skip
    found["point"] = make(account, "aws:efs/accessPoint:AccessPoint", fileSystemId=found["files"],
                          posixUser={"uid": 0, "gid": 0}, rootDirectory={"path": "/data", "creationInfo": {
                              "ownerUid": 0, "ownerGid": 0, "permissions": "1777"}})["id"]  # fmt: skip
    return found
