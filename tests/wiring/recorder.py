"""Pulumi mocks that record what a plan becomes."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime.mocks import MockMonitor

from accelerator_fleet import catalog, spec
from accelerator_fleet.plan import plan as make_plan
from accelerator_fleet.plan.model import FleetPlan
from accelerator_fleet_components.fleet import Fleet
from accelerator_fleet_components.program import natives, site_provider
from accelerator_fleet_components.scope import Scope

ROOT = Path(__file__).resolve().parents[2]
BASE_KEYS = ("cluster", "version", "endpoint", "certificateAuthority", "clusterSecurityGroup", "nodeRoleArn", "vpcId")


class Recorder(pulumi.runtime.Mocks):
    """Records what is registered; answers with ids and the few outputs that others need."""

    def __init__(self) -> None:
        self.made: list[pulumi.runtime.MockResourceArgs] = []
        self.protected: dict[tuple[str, str], bool] = {}  # (type, name) -> protected by itself
        self.after: dict[tuple[str, str], set[str]] = {}  # (type, name) -> `type::name` of what it comes after
        self.fleet: Fleet | None = None

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.made.append(args)
        out = {**args.inputs, "arn": f"arn:{args.name}", "name": args.inputs.get("name", args.name)}
        match args.typ:
            case "aws:eks/cluster:Cluster":
                out["vpcConfig"] = {**args.inputs["vpcConfig"], "clusterSecurityGroupId": "sg-cluster"}
                out["certificateAuthority"] = {"data": "Y2E="}
                out["endpoint"] = "https://127.0.0.1:1"
            case "aws:ec2/launchTemplate:LaunchTemplate":
                out["latestVersion"] = 1
            case "aws:eks/nodeGroup:NodeGroup":
                out["resources"] = [{"autoscalingGroups": [{"name": f"asg-{args.name}"}]}]
            case "aws:ec2/capacityBlockReservation:CapacityBlockReservation":
                out |= {"instanceType": "p5.48xlarge", "availabilityZone": "us-east-2b", "instanceCount": 2}
                out |= {"startDate": "2027-01-04T11:30:00Z", "endDate": "2027-01-05T11:30:00Z"}
            case "aws:fsx/lustreFileSystem:LustreFileSystem":
                out |= {"dnsName": "fs.dns", "mountName": "abc"}
            case "gcp:container/cluster:Cluster":
                out |= {"endpoint": "10.0.0.2", "masterVersion": "1.36", "masterAuth": {"clusterCaCertificate": "Y2E="}}
            case "gcp:serviceaccount/account:Account":
                out["email"] = "nodes@example"
            case "gcp:filestore/instance:Instance":
                out["networks"] = [{**args.inputs["networks"][0], "ipAddresses": ["10.1.0.2"]}]
            case "gcp:lustre/instance:Instance":
                out["mountPoint"] = "10.1.0.3@tcp:/data"
            case "pulumi:pulumi:StackReference":
                zones = {f"us-east-2{z}": f"subnet-{z}" for z in "abc"}
                site = {**{k: f"{k}-from-base" for k in BASE_KEYS}, "privateSubnets": zones}
                out["outputs"] = {"sites": {"use2": site}}
        return f"{args.name}-id", out

    def call(self, args: pulumi.runtime.MockCallArgs) -> Any:
        if args.token == "pulumi:pulumi:readStackOutputs":
            return {"name": args.args["name"], "outputs": {}}
        raise AssertionError(f"the program calls {args.token} although nothing exists already")

    def of(self, kind: str) -> list[pulumi.runtime.MockResourceArgs]:
        """Everything of one type."""
        return [a for a in self.made if a.typ == kind]

    def one(self, kind: str, name: str) -> pulumi.runtime.MockResourceArgs:
        """The one resource of that type and logical name."""
        (found,) = [a for a in self.of(kind) if a.name == name]
        return found


class Monitor(MockMonitor):
    """The mocks' engine, which also notes options of resources that mocks do not see."""

    mocks: Recorder

    def RegisterResource(self, request: Any) -> Any:
        key = (request.type, request.name)
        self.mocks.protected[key] = bool(request.protect)
        self.mocks.after[key] = {urn.rpartition("$")[2] for urn in request.dependencies}
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]


def load(env: str) -> FleetPlan:
    """The plan of an environment of this checkout."""
    return make_plan(spec.load(ROOT / "stacks" / "fleets" / f"{env}.yaml"), catalog.load())


def build_spec(text: str, as_of: datetime) -> Recorder:
    """The components of a spec's text, on a day."""
    return build(make_plan(spec.parse(yaml.safe_load(text)), catalog.load()), as_of=as_of)


def build(plan: FleetPlan, scope: Scope | None = None, as_of: datetime | None = None) -> Recorder:
    """Runs the components of a plan under mocks, with the providers that the program makes."""
    mocks = Recorder()
    asyncio.set_event_loop(asyncio.new_event_loop())
    pulumi.runtime.set_mocks(mocks, preview=False, monitor=Monitor(mocks))

    def program() -> None:
        providers = {s.name: site_provider(plan, s) for s in plan.sites}
        mocks.fleet = Fleet(plan.fleet, plan, providers, scope, as_of=as_of, natives=natives(plan, providers))

    pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]
    return mocks
