"""Wiring only: which resources a plan becomes, who their parents are, which provider they use. No rules."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn

import pulumi
import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.plan import plan as make_plan
from accelerator_fleet.plan.model import FleetPlan
from accelerator_fleet_components.fleet import Fleet
from accelerator_fleet_components.scope import Scope

ROOT = Path(__file__).resolve().parents[2]


class Recorder(pulumi.runtime.Mocks):
    """Records what is registered; answers with ids and the few outputs that others need."""

    def __init__(self) -> None:
        self.made: list[pulumi.runtime.MockResourceArgs] = []

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.made.append(args)
        out = {**args.inputs, "arn": f"arn:{args.name}", "name": args.inputs.get("name", args.name)}
        if args.typ == "aws:eks/cluster:Cluster":
            out["vpcConfig"] = {**args.inputs["vpcConfig"], "clusterSecurityGroupId": "sg-cluster"}
            out["certificateAuthority"] = {"data": "Y2E="}
            out["endpoint"] = "https://127.0.0.1:1"
        if args.typ == "aws:ec2/launchTemplate:LaunchTemplate":
            out["latestVersion"] = 1
        if args.typ == "pulumi:pulumi:StackReference":
            zones = {f"us-east-2{z}": f"subnet-{z}" for z in "abc"}
            keys = [
                "cluster",
                "version",
                "endpoint",
                "certificateAuthority",
                "clusterSecurityGroup",
                "nodeRoleArn",
                "vpcId",
            ]
            out["outputs"] = {"sites": {"use2": {**{k: f"{k}-from-base" for k in keys}, "privateSubnets": zones}}}
        return f"{args.name}-id", out

    def call(self, args: pulumi.runtime.MockCallArgs) -> NoReturn:
        raise AssertionError(f"the program calls {args.token} although nothing exists already")

    def of(self, kind: str) -> list[pulumi.runtime.MockResourceArgs]:
        return [a for a in self.made if a.typ == kind]


def load(env: str) -> FleetPlan:
    return make_plan(spec.load(ROOT / "stacks" / "fleets" / f"{env}.yaml"), catalog.load())


def build(plan: FleetPlan, scope: Scope | None = None) -> Recorder:
    """Runs the components of a plan under mocks."""
    mocks = Recorder()
    asyncio.set_event_loop(asyncio.new_event_loop())
    pulumi.runtime.set_mocks(mocks, preview=False)

    def program() -> None:
        import pulumi_aws as aws

        providers = {s.name: aws.Provider(s.name, region=s.region, allowed_account_ids=[s.account]) for s in plan.sites}
        Fleet(plan.fleet, plan, providers, scope)

    pulumi.runtime.test(program)()  # type: ignore[no-untyped-call]
    return mocks


@pytest.fixture(scope="module")
def dev() -> Recorder:
    return build(load("dev"))


def test_what_dev_becomes(dev: Recorder) -> None:
    kinds = Counter(a.typ for a in dev.made)
    assert kinds["aws:eks/nodeGroup:NodeGroup"] == 2
    assert kinds["aws:ec2/launchTemplate:LaunchTemplate"] == 1
    assert kinds["kubernetes:helm.sh/v3:Release"] == 2
    assert kinds["kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"] == 1
    assert kinds["kubernetes:kueue.x-k8s.io/v1beta2:Topology"] == 1


def test_every_custom_resource_names_its_provider(dev: Recorder) -> None:
    plain = [a.name for a in dev.made if a.custom and not a.typ.startswith("pulumi:") and not a.provider]
    assert plain == []


def test_the_launch_template_has_the_machines_interfaces(dev: Recorder) -> None:
    (template,) = dev.of("aws:ec2/launchTemplate:LaunchTemplate")
    cards = template.inputs["networkInterfaces"]
    efa = [c for c in cards if c["interfaceType"] in {"efa", "efa-only"}]
    assert len(efa) == 32  # p5.48xlarge: EC2's DescribeInstanceTypes
    assert all(set(c["securityGroups"]) == {"sg-cluster", "pretrain-efa-id"} for c in cards)
    assert "vpcSecurityGroupIds" not in template.inputs


def test_prod_stays_small() -> None:
    made = build(load("prod"))
    pool = [a for a in made.made if a.name.startswith("pretrain")]
    print(f"prod: {len(made.made)} resources, of these the 256-card pool: {len(pool)}")
    assert len(made.made) <= 400
    assert len(pool) <= 40


@pytest.mark.parametrize(
    ("layers", "kinds"),
    [
        (("base",), {"aws:eks/cluster:Cluster", "aws:ec2/vpc:Vpc"}),
        (("pools",), {"aws:ec2/launchTemplate:LaunchTemplate", "aws:eks/nodeGroup:NodeGroup"}),
        (("cluster",), {"kubernetes:helm.sh/v3:Release"}),
    ],
)
def test_a_stack_makes_its_layers_only(layers: tuple[Any, ...], kinds: set[str]) -> None:
    others = {
        "aws:eks/cluster:Cluster",
        "aws:ec2/vpc:Vpc",
        "aws:ec2/launchTemplate:LaunchTemplate",
        "kubernetes:helm.sh/v3:Release",
    } - kinds
    scope = Scope(layers=layers, base=None if "base" in layers else "organization/accelerator-fleet/prod-base")
    made = {a.typ for a in build(load("prod"), scope).made}
    assert kinds <= made
    assert not others & made


def test_pools_of_another_stack_take_ids_from_it() -> None:
    scope = Scope(layers=("pools",), base="organization/accelerator-fleet/prod-base")
    made = build(load("prod"), scope)
    group = next(g for g in made.of("aws:eks/nodeGroup:NodeGroup") if g.name == "pretrain")
    assert group.inputs["clusterName"] == "cluster-from-base"
    assert group.inputs["subnetIds"] == ["subnet-a"]


def test_local_charts_are_the_versions_that_the_catalogue_names() -> None:
    import tomllib

    import accelerator_fleet_engine

    recipes = tomllib.loads((Path(accelerator_fleet_engine.__file__).parent / "binaries.toml").read_text())["module"]
    charts = {a.name: a.version for a in load("dev").sites[0].addons if a.chart is not None}
    assert charts == {name: recipes[name]["version"] for name in ("kueue", "nvidia-device-plugin")}
