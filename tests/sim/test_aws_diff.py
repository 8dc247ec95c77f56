"""Diff from the rules alone: every path of every type by itself, and values that mean the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import accelerator_fleet_sim.aws as package
from accelerator_fleet_sim.core.diff import Difference, UnknownRule, diff
from accelerator_fleet_sim.core.plan import Refused, planned_create
from accelerator_fleet_sim.core.rules import Rules, TypeRules, plain_path
from accelerator_fleet_sim.core.values import UNKNOWN

RULES = Rules.load(Path(package.__file__).parent / "data" / "rules.json")
REGION = "us-east-2"


def rules(token: str) -> TypeRules:
    found = RULES.get(token)
    assert found is not None
    return found


def compare(
    token: str, old: dict[str, Any], new: dict[str, Any], old_inputs: dict[str, Any] | None = None
) -> Difference:
    return diff(rules(token), {"region": REGION, **old}, old if old_inputs is None else old_inputs, new, REGION)[0]


def sample(shape: dict[str, Any], second: bool) -> Any:
    """A value of a shape; the second differs from the first in every leaf."""
    kind = shape["type"]
    if kind == "list":
        return [sample(shape["items"], second)]
    if kind == "map":
        return {"k": sample(shape["items"], second)}
    if kind == "object":
        return {k: sample(v, second) for k, v in shape["properties"].items()}
    return {"string": "b" if second else "a", "integer": 2 if second else 1, "number": 2.5 if second else 1.5,
            "boolean": True, "any": "b" if second else "a"}[kind]  # fmt: skip


def changed_at(value: Any, shape: dict[str, Any], path: list[str]) -> Any:
    """A copy of the value in which only what is at the path differs."""
    if not path:
        return False if shape["type"] == "boolean" else sample(shape, second=True)
    if shape["type"] == "list":
        return [changed_at(value[0], shape["items"], path)]
    return {**value, path[0]: changed_at(value[path[0]], shape["properties"][path[0]], path[1:])}


def leaves(shape: dict[str, Any], path: str) -> list[str]:
    kind = shape["type"]
    if kind == "list":
        return leaves(shape["items"], path)
    if kind == "object":
        return [x for k, v in shape["properties"].items() for x in leaves(v, f"{path}.{k}")]
    return [path]


def single(token: str, path: str) -> Difference:
    """The difference when only one path changes."""
    head, *rest = path.split(".")
    shape = rules(token).inputs[head]
    old = {head: sample(shape, second=False)}
    return compare(token, old, {head: changed_at(old[head], shape, rest)})


FORCED = [(t, p) for t in RULES.tokens for p in rules(t).force_new]


def test_every_force_new_path_alone_replaces() -> None:
    for token, path in FORCED:
        found = single(token, path)
        assert found.replaces, (token, path)
        marked = {m["output"] for m in rules(token).lists("unknown_on_change")}
        others = [p for p in found.changes if plain_path(p) not in marked]
        assert all(plain_path(p) == path or plain_path(p).startswith(f"{path}.") for p in others), (token, path)
    assert len(FORCED) > 230


def test_every_other_path_updates() -> None:
    count = 0
    for token in RULES.tokens:
        own = rules(token)
        for name, shape in own.inputs.items():
            for path in leaves(shape, name):
                parents = [".".join(path.split(".")[:n]) for n in range(1, path.count(".") + 2)]
                if (
                    own.replaces_under(path)
                    or any(p in own.conditions for p in parents)
                    or name in ("tagsAll", "timeouts")
                ):
                    continue
                if own.unknown_rule(path):
                    with pytest.raises(UnknownRule, match="refuses to guess"):
                        single(token, path)
                    continue
                found = single(token, path)
                assert not found.replaces, (token, path)
                assert found.changes, (token, path)
                count += 1
    assert count > 900


@pytest.mark.parametrize(
    ("token", "old", "new"),
    [
        ("aws:iam/role:Role", {"assumeRolePolicy": '{"a": [1, 2], "b": 1}'}, {"assumeRolePolicy": '{"b":1,"a":[1,2]}'}),
        ("aws:eks/nodeGroup:NodeGroup", {"subnetIds": ["s1", "s2"]}, {"subnetIds": ["s2", "s1"]}),
        ("aws:ec2/launchTemplate:LaunchTemplate", {"ebsOptimized": "true"}, {"ebsOptimized": True}),
        ("aws:ec2/subnet:Subnet", {"mapPublicIpOnLaunch": False}, {}),
        ("aws:eks/cluster:Cluster", {"enabledClusterLogTypes": []}, {}),
        ("aws:ec2/vpc:Vpc", {"tags": {}}, {}),
    ],
)
def test_values_that_mean_the_same(token: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    assert compare(token, old, new).changes == {}


def test_order_matters_in_a_list_that_is_no_set() -> None:
    found = compare("aws:eks/nodeGroup:NodeGroup", {"instanceTypes": ["a", "b"]}, {"instanceTypes": ["b", "a"]})
    assert found.replaces


def test_what_the_cloud_filled_in_is_no_difference() -> None:
    old = {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24", "availabilityZone": "us-east-2a"}
    inputs = {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"}
    assert compare("aws:ec2/subnet:Subnet", old, inputs, inputs).changes == {}
    nested = {"roleArn": "r", "vpcConfig": {"subnetIds": ["a"], "clusterSecurityGroupId": "sg-1"}}
    given = {"roleArn": "r", "vpcConfig": {"subnetIds": ["a"]}}
    assert compare("aws:eks/cluster:Cluster", nested, given, given).changes == {}


def test_drift_is_a_difference() -> None:
    given = {"scalingConfig": {"desiredSize": 2, "minSize": 1, "maxSize": 4}}
    state = {"scalingConfig": {"desiredSize": 3, "minSize": 1, "maxSize": 4}}
    assert compare("aws:eks/nodeGroup:NodeGroup", state, given, given).changes == {
        "scalingConfig.desiredSize": ("update", False)
    }


def test_tags_come_with_tags_all() -> None:
    old = {"tags": {"a": "1"}, "tagsAll": {"a": "1", "owner": "x"}}
    new = {"tags": {"a": "2", "b": "3"}, "tagsAll": {"a": "2", "b": "3", "owner": "x"}}
    assert compare("aws:ec2/vpc:Vpc", old, new).changes == {
        "tags.a": ("update", False), "tags.b": ("add", False), "tagsAll.a": ("update", False),
        "tagsAll.b": ("add", False),
    }  # fmt: skip


def test_an_unknown_value_at_a_force_new_path_replaces() -> None:
    found = compare("aws:ec2/subnet:Subnet", {"vpcId": "vpc-1"}, {"vpcId": UNKNOWN})
    assert found.changes == {"vpcId": ("update", True)}


@pytest.mark.parametrize(
    ("named", "first"), [({"name": "x"}, True), ({"name": "x", "__defaults": ["name"]}, False)], ids=["given", "auto"]
)
def test_a_name_that_the_program_gave_is_deleted_first(named: dict[str, Any], first: bool) -> None:
    new = {"strategy": "spread", "__defaults": [], **named}
    found = compare("aws:ec2/placementGroup:PlacementGroup", {"strategy": "cluster", "name": "x"}, new)
    assert found.replaces == ["strategy"]
    assert found.delete_before_replace is first


@pytest.mark.parametrize(
    ("old", "new", "replaces"),
    [
        ({"storageCapacity": 2400, "deploymentType": "PERSISTENT_2"}, {"storageCapacity": 4800}, False),
        ({"storageCapacity": 4800, "deploymentType": "PERSISTENT_2"}, {"storageCapacity": 2400}, True),
        ({"storageCapacity": 1200, "deploymentType": "SCRATCH_1"}, {"storageCapacity": 2400}, True),
        ({"fileSystemTypeVersion": "2.12"}, {"fileSystemTypeVersion": "2.15"}, False),
        ({"fileSystemTypeVersion": "2.15"}, {"fileSystemTypeVersion": "2.12"}, True),
    ],
)
def test_lustre_conditions(old: dict[str, Any], new: dict[str, Any], replaces: bool) -> None:
    found = compare("aws:fsx/lustreFileSystem:LustreFileSystem", old, {**old, **new})
    assert bool(found.replaces) is replaces


def test_a_change_that_the_provider_refuses() -> None:
    old = {"bucket": "b", "versioningConfiguration": {"status": "Enabled"}}
    with pytest.raises(Refused, match="cannot be updated from Enabled to Disabled"):
        compare(
            "aws:s3/bucketVersioning:BucketVersioning", old, {**old, "versioningConfiguration": {"status": "Disabled"}}
        )


def test_a_new_template_version_is_unknown_in_a_plan() -> None:
    old = {"instanceType": "a", "latestVersion": 1, "defaultVersion": 1, "name": "n", "region": REGION}
    own = rules("aws:ec2/launchTemplate:LaunchTemplate")
    found, planned = diff(own, old, {"instanceType": "a"}, {"instanceType": "b"}, REGION)
    assert planned["latestVersion"] is UNKNOWN
    assert planned["defaultVersion"] == 1
    assert set(found.changes) == {"instanceType", "latestVersion"}
    _, same = diff(own, old, {"instanceType": "a"}, {"instanceType": "a", "description": "x"}, REGION)
    assert same["latestVersion"] == 1
    # CustomizeDiff of internal/service/ec2/ec2_launch_template.go: all changed keys but name, name_prefix, description,
    # default_version and update_default_version make latest_version unknown, tags among them
    for tagged in ({"tags": {"a": "b"}, "tagsAll": {"a": "b"}}, {"tagsAll": {"a": "b"}}):
        _, planned = diff(own, old, {"instanceType": "a"}, {"instanceType": "a", **tagged}, REGION)
        assert planned["latestVersion"] is UNKNOWN
    _, planned = diff(own, old, {"instanceType": "a"}, {"instanceType": "a", "updateDefaultVersion": True}, REGION)
    assert planned["defaultVersion"] is UNKNOWN
    assert planned["latestVersion"] == 1


def test_a_generated_ipv6_block_is_unknown_in_a_plan() -> None:
    own = rules("aws:ec2/vpc:Vpc")  # resourceVPCCustomizeDiff of internal/service/ec2/vpc_.go
    old = {"cidrBlock": "10.0.0.0/16", "ipv6CidrBlock": "", "ipv6AssociationId": "", "region": REGION}
    inputs = {"cidrBlock": "10.0.0.0/16"}
    _, planned = diff(own, old, inputs, {**inputs, "assignGeneratedIpv6CidrBlock": True}, REGION)
    assert planned["ipv6CidrBlock"] is UNKNOWN
    assert planned["ipv6AssociationId"] is UNKNOWN
    _, planned = diff(own, old, inputs, {**inputs, "enableDnsHostnames": True}, REGION)
    assert planned["ipv6CidrBlock"] == ""


def test_a_created_resource_is_known_only_where_the_provider_knows() -> None:
    inputs = {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}, "tagsAll": {"a": "b"}, "__defaults": []}
    planned = planned_create(rules("aws:ec2/vpc:Vpc"), inputs, REGION)
    assert planned["cidrBlock"] == "10.0.0.0/16"
    assert planned["tagsAll"] == {"a": "b"}
    assert planned["arn"] is UNKNOWN
    assert planned["enableDnsHostnames"] is UNKNOWN  # optional, filled in by the cloud
    assert "__defaults" not in planned


def test_a_created_block_is_unknown_where_the_cloud_fills_it_in() -> None:
    planned = planned_create(rules("aws:eks/cluster:Cluster"), {"vpcConfig": {"subnetIds": ["a"]}}, REGION)
    assert planned["vpcConfig"]["subnetIds"] == ["a"]
    assert planned["vpcConfig"]["clusterSecurityGroupId"] is UNKNOWN
    assert planned["accessConfig"] is UNKNOWN
    template = rules("aws:ec2/launchTemplate:LaunchTemplate")
    planned = planned_create(template, {"blockDeviceMappings": [{"ebs": {"volumeSize": 20}}]}, REGION)
    # Computed in internal/service/ec2/ec2_launch_template.go
    ebs = {"volumeSize": 20, **dict.fromkeys(["volumeType", "iops", "throughput", "volumeInitializationRate"], UNKNOWN)}
    assert planned["blockDeviceMappings"] == [{"ebs": ebs}]


def test_rules_name_their_source() -> None:
    for token in RULES.tokens:
        assert rules(token).data["source"].startswith("hashicorp/"), token
    assert json.loads((Path(package.__file__).parent / "data" / "rules.json").read_text())["_meta"]["source"]
