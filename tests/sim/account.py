"""The simulated AWS in this process, without time: what tests of its rules speak to."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from accelerator_fleet_sim.aws.catalog import Catalog
from accelerator_fleet_sim.aws.control import ControlPlane
from accelerator_fleet_sim.aws.scope import Scope, World
from accelerator_fleet_sim.aws.seed import first_content
from accelerator_fleet_sim.core.rules import Rules
from accelerator_fleet_sim.daemon.clock import Clock
from accelerator_fleet_sim.daemon.noclusters import NoClusters
from accelerator_fleet_sim.daemon.operations import Operations
from accelerator_fleet_sim.daemon.server import HttpError
from accelerator_fleet_sim.daemon.store import Store

REGION = "us-east-2"
ACCOUNT = "000000000000"
MANAGED = "arn:aws:iam::aws:policy/"
SHORT = {
    "Vpc": "ec2/vpc", "Subnet": "ec2/subnet", "InternetGateway": "ec2/internetGateway", "Eip": "ec2/eip",
    "NatGateway": "ec2/natGateway", "RouteTable": "ec2/routeTable", "Route": "ec2/route",
    "RouteTableAssociation": "ec2/routeTableAssociation", "SecurityGroup": "ec2/securityGroup",
    "SecurityGroupIngressRule": "vpc/securityGroupIngressRule", "LaunchTemplate": "ec2/launchTemplate",
    "PlacementGroup": "ec2/placementGroup", "CapacityReservation": "ec2/capacityReservation",
    "CapacityBlockReservation": "ec2/capacityBlockReservation", "Schedule": "autoscaling/schedule",
    "VpcEndpoint": "ec2/vpcEndpoint", "Role": "iam/role", "RolePolicyAttachment": "iam/rolePolicyAttachment",
    "Cluster": "eks/cluster", "NodeGroup": "eks/nodeGroup", "Addon": "eks/addon", "AccessEntry": "eks/accessEntry",
    "FileSystem": "efs/fileSystem", "MountTarget": "efs/mountTarget", "Queue": "sqs/queue", "Volume": "ebs/volume",
    "Instance": "ec2/instance", "PodIdentityAssociation": "eks/podIdentityAssociation",
}  # fmt: skip


class Refusal(Exception):
    """What the cloud answered instead of doing it."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body["text"])
        self.code: str = body["code"]
        self.message: str = body["message"]
        self.body = body


class Account:
    """The embedded account. Operations end at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = Store(folder / "cloud.db")
        self.clock = Clock(self.store, 1)
        self.operations = Operations(self.store, self.clock, print)
        self.clusters = NoClusters(folder, print)
        self.world = World(self.store, self.clock, Catalog(), self.clusters, print)
        self.aws = ControlPlane(self.world, self.operations)
        first_content(self.aws, self.world)

    @staticmethod
    def token(name: str) -> str:
        return f"aws:{SHORT[name]}:{name}"

    def _finish(self, verb: str, call: dict[str, Any]) -> dict[str, Any]:
        call = {"account": ACCOUNT, "region": REGION, **call}
        try:
            answer = getattr(self.aws, verb)(call)
        except HttpError as error:
            raise Refusal(error.body) from error
        if answer["status"] == "running":
            self.operations.end(answer["operation"])
            ended = self.store.operation(answer["operation"])
            assert ended is not None
            while ended.status == "running":  # the cloud tries again later: time passes
                self.clock._base = ended.due
                self.operations.end(answer["operation"])
                ended = self.store.operation(answer["operation"])
                assert ended is not None
            answer = {"status": ended.status, "id": ended.resource, "result": ended.result, "error": ended.error}
        if answer["status"] == "failed":
            raise Refusal(answer["error"])
        return dict(answer)

    def pass_time(self, until: str) -> None:
        """Let time pass until a moment, with all that comes due on the way."""
        end = datetime.fromisoformat(until).timestamp()
        while True:
            due = [o for o in self.store.running() if o.due <= end]
            if not due:
                break
            first = min(due, key=lambda o: o.due)
            self.clock._base = max(first.due, self.clock.now())
            self.operations.end(first.id)
        self.clock._base = max(end, self.clock.now())

    def create(self, name: str, /, **inputs: Any) -> dict[str, Any]:
        """Make a resource; its outputs with `id`."""
        answer = self._finish("create", {"type": self.token(name), "inputs": {"tagsAll": {}, **inputs}})
        return {"id": answer["id"], **answer["result"]}

    def update(self, name: str, identity: str, /, **inputs: Any) -> dict[str, Any]:
        """Change a resource to these inputs."""
        call = {"type": self.token(name), "id": identity, "inputs": {"tagsAll": {}, **inputs}}
        return dict(self._finish("update", call)["result"])

    def delete(self, name: str, identity: str) -> None:
        """Delete a resource."""
        self._finish("delete", {"type": self.token(name), "id": identity})

    def read(self, name: str, identity: str) -> dict[str, Any] | None:
        """A resource's outputs, None when it is gone."""
        found = self.aws.read({"type": self.token(name), "id": identity, "account": ACCOUNT, "region": REGION})
        return None if found is None else dict(found["outputs"])

    def invoke(self, function: str, **args: Any) -> dict[str, Any]:
        """Call a function."""
        try:
            call = {"function": function, "args": args, "account": ACCOUNT, "region": REGION}
            return dict(self.aws.invoke(call))
        except HttpError as error:
            raise Refusal(error.body) from error

    def scope(self) -> Scope:
        """The surroundings of a call."""
        return Scope(self.world, ACCOUNT, REGION)

    def instances(self) -> list[dict[str, Any]]:
        """All instances' outputs."""
        return [i.outputs for i in self.store.resources(type="aws:ec2/instance:Instance")]

    # -- a network and a cluster to begin with ------------------------------------------------------------------------
    def network(self) -> dict[str, Any]:
        """A VPC with a subnet in each of three zones."""
        vpc = self.create("Vpc", cidrBlock="10.16.0.0/16")["id"]
        subnets = {
            z: self.create("Subnet", vpcId=vpc, cidrBlock=f"10.16.{i * 16}.0/20", availabilityZone=f"{REGION}{z}")["id"]
            for i, z in enumerate("abc")
        }
        return {"vpc": vpc, **subnets}

    def role(self, name: str, service: str, *policies: str) -> str:
        """A role that a service trusts, with AWS's policies; its ARN."""
        role = self.create("Role", name=name, assumeRolePolicy=trust(service), path="/")
        for policy in policies:
            self.create("RolePolicyAttachment", role=name, policyArn=MANAGED + policy)
        return str(role["arn"])

    def cluster(self, net: dict[str, Any], **inputs: Any) -> dict[str, Any]:
        """An active cluster `c`."""
        if self.read("Role", "cluster") is None:
            self.role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
        role = f"arn:aws:iam::{ACCOUNT}:role/cluster"
        config = {"subnetIds": [net["a"], net["b"]]}
        return self.create("Cluster", **{"name": "c", "roleArn": role, "vpcConfig": config, **inputs})

    def node_group(self, net: dict[str, Any], zone: str = "a", nodes: int = 2, **inputs: Any) -> dict[str, Any]:
        """A node group `g` of the cluster `c`."""
        if self.read("Role", "node") is None:
            self.role("node", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy")
        size = {"minSize": 0, "maxSize": 400, "desiredSize": nodes}
        role = f"arn:aws:iam::{ACCOUNT}:role/node"
        base = {"clusterName": "c", "nodeGroupName": "g", "nodeRoleArn": role, "subnetIds": [net[zone]],
                "scalingConfig": size, "instanceTypes": ["m6i.large"]}  # fmt: skip
        return self.create("NodeGroup", **{k: v for k, v in {**base, **inputs}.items() if v is not None})


def trust(service: str) -> str:
    """An assume-role policy."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def rules() -> Rules:
    """The rules that the plugin has."""
    import accelerator_fleet_sim.aws as package

    return Rules.load(Path(package.__file__).parent / "data" / "rules.json")
