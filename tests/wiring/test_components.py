"""Wiring only: which resources a plan becomes, who their parents are, which provider they use. No rules."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from accelerator_fleet_components.scope import Scope
from tests.wiring.recorder import Recorder, build, load


@pytest.fixture(scope="module")
def single() -> Recorder:
    return build(load("single"))


def test_what_single_becomes(single: Recorder) -> None:
    kinds = Counter(a.typ for a in single.made)
    assert kinds["aws:eks/nodeGroup:NodeGroup"] == 2
    assert kinds["aws:ec2/launchTemplate:LaunchTemplate"] == 1
    assert kinds["kubernetes:helm.sh/v3:Release"] == 2
    assert kinds["kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"] == 1
    assert kinds["kubernetes:kueue.x-k8s.io/v1beta2:Topology"] == 1


def test_what_every_kind_of_site_becomes() -> None:
    kinds = Counter(a.typ for a in build(load("dev")).made)
    assert kinds["aws:eks/nodeGroup:NodeGroup"] == 3  # system, h100, trn1n
    assert kinds["aws:ec2/launchTemplate:LaunchTemplate"] == 2
    assert kinds["gcp:container/nodePool:NodePool"] == 2  # system, one TPU slice
    assert kinds["kubernetes:helm.sh/v3:Release"] == 4  # Kueue everywhere, NVIDIA's plugin on EKS
    assert kinds["kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue"] == 3
    assert kinds["accelerator-fleet:index:Volume"] == 3


def test_every_custom_resource_names_its_provider(single: Recorder) -> None:
    plain = [a.name for a in single.made if a.custom and not a.typ.startswith("pulumi:") and not a.provider]
    assert plain == []


def test_the_launch_template_has_the_machines_interfaces(single: Recorder) -> None:
    template = next(a for a in single.of("aws:ec2/launchTemplate:LaunchTemplate") if a.name == "pretrain")
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
