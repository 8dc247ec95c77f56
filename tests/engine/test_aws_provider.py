"""The simulated provider through the real engine: bad input, its own settings, secrets, names, failures, imports."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
from pulumi import automation as auto

from tests.engine.force_new_world import Any_
from tests.sim.account import trust
from tests.sim.cloud import ACCOUNT, REGION, Cloud, events, running

pytestmark = [
    pytest.mark.engine,
    # the engine ends the program of a run that fails; what the program was waiting for then has no reader
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::DeprecationWarning"),
]
VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running(tmp_path_factory.mktemp("provider")) as made:
        yield made


def provider(**settings: Any) -> pulumi.ResourceOptions:
    given = {"region": REGION, "allowed_account_ids": [ACCOUNT], **settings}
    return pulumi.ResourceOptions(provider=aws.Provider("aws", **given))


def programs(cloud: Cloud, kind: str) -> list[str]:
    """Ids of all resources of a type that a program made."""
    found = cloud.client.get(f"/aws/resources?type={kind}&owner=program")
    return [r["id"] for r in found]


def failure(stack: auto.Stack, verb: str = "up") -> str:
    """What the engine printed about a run that must fail."""
    with pytest.raises(auto.errors.CommandError) as found:
        getattr(stack, verb)()
    return str(found.value)


BAD = [
    ("missing", VPC.replace("vpc:Vpc", "subnet:Subnet"), {"cidrBlock": "10.0.0.0/24"},
     'Missing required argument. The argument "vpcId" is required, but no definition was found. '
     "Examine values at 'bad.vpcId'."),
    ("nested", "aws:eks/nodeGroup:NodeGroup",
     {"clusterName": "c", "nodeRoleArn": "r", "subnetIds": ["s"], "scalingConfig": {"minSize": 1, "maxSize": 2}},
     "Examine values at 'bad.scalingConfig.desiredSize'."),
    ("misspelt", VPC, {"cidrBlok": "10.0.0.0/16"},
     "Invalid or unknown key; the nearest is 'cidrBlock'. Examine values at 'bad.cidrBlok'."),
    ("misspelt inside", "aws:ec2/launchTemplate:LaunchTemplate", {"networkInterfaces": [{}, {"deviceIdx": 1}]},
     "the nearest is 'deviceIndex'. Examine values at 'bad.networkInterfaces[1].deviceIdx'."),
    ("enum", VPC, {"cidrBlock": "10.0.0.0/16", "instanceTenancy": "dedicate"},
     'expected instanceTenancy to be one of ["default" "dedicated"], got dedicate; the nearest is "dedicated". '
     "Examine values at 'bad.instanceTenancy'."),
    ("enum in a list", "aws:eks/cluster:Cluster",
     {"roleArn": "r", "vpcConfig": {"subnetIds": ["a"]}, "enabledClusterLogTypes": ["api", "audits"]},
     "Examine values at 'bad.enabledClusterLogTypes[1]'."),
    ("type", VPC, {"cidrBlock": "10.0.0.0/16", "enableDnsSupport": ["yes"]}, "true or false required, got [\"yes\"]"),
    ("range", "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
     {"securityGroupId": "sg", "ipProtocol": "tcp", "cidrIpv4": "10.0.0.0/8", "fromPort": 70000, "toPort": 70000},
     "expected fromPort to be in the range (-1 - 65535), got 70000. Examine values at 'bad.fromPort'."),
    ("cidr", VPC, {"cidrBlock": "10.0.0.0/12"}, "between 16 and 28 significant bits, got: 12"),
    ("not a network", VPC, {"cidrBlock": "10.0.0.0.0/16"}, "is not a valid CIDR block"),
    ("conflict", "aws:ec2/subnet:Subnet",
     {"vpcId": "vpc-0", "availabilityZone": "us-east-2a", "availabilityZoneId": "use2-az1"},
     '"availabilityZoneId": conflicts with availabilityZone'),
    ("one of", "aws:ec2/routeTableAssociation:RouteTableAssociation", {"routeTableId": "rtb-0"},
     "one of `gatewayId,subnetId` must be specified"),
    ("required with", VPC, {"ipv4NetmaskLength": 20}, "all of `ipv4NetmaskLength,ipv4IpamPoolId` must be specified"),
    ("forbidden", "aws:ec2/placementGroup:PlacementGroup", {"strategy": "cluster", "partitionCount": 3},
     'partition_count must not be set when strategy = "cluster"'),
    ("name", "aws:eks/cluster:Cluster", {"name": "x" * 101, "roleArn": "r", "vpcConfig": {"subnetIds": ["a"]}},
     "expected length of name to be in the range (1 - 100), got 101"),
    ("json", "aws:iam/role:Role", {"assumeRolePolicy": "{"}, '"assumeRolePolicy" contains an invalid JSON'),
    ("no rules", "aws:sqs/queue:Queue", {}, "aws:sqs/queue:Queue is not simulated: the embedded datacentre has rules"),
]  # fmt: skip


@pytest.mark.parametrize(("token", "inputs", "text"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_refused_before_anything_is_made(
    cloud: Cloud, token: str, inputs: dict[str, Any], text: str
) -> None:
    def program() -> None:
        options = provider()
        Any_(token, "bad", inputs, options)

    stack = cloud.stack("bad", program)
    before = cloud.client.get("/status")["resources"]
    assert text in failure(stack)
    assert cloud.client.get("/status")["resources"] == before


def test_several_failures_at_once(cloud: Cloud) -> None:
    def program() -> None:
        inputs = {"cidrBlock": "10.0.0.0/30", "instanceTenancy": "x", "ipv4NetmaskLength": 99}
        Any_(VPC, "bad", inputs, provider())

    said = failure(cloud.stack("bad", program), "preview")
    for path in ("cidrBlock", "instanceTenancy", "ipv4NetmaskLength"):
        assert f"Examine values at 'bad.{path}'" in said


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"allowed_account_ids": ["123456789012"]}, "account 123456789012 belongs to the real AWS provider"),
        ({"allowed_account_ids": [ACCOUNT, "123456789012"]}, "account 123456789012 belongs to the real AWS provider"),
        ({"allowed_account_ids": None}, "allowedAccountIds is not set: this is the embedded datacentre"),
        ({"region": None}, "Missing region configuration"),
        ({"region": "us-middle-1"}, "invalid AWS Region: us-middle-1"),
    ],
)
def test_settings_that_belong_to_another_cloud(cloud: Cloud, settings: dict[str, Any], text: str) -> None:
    def program() -> None:
        Any_(VPC, "v", {"cidrBlock": "10.0.0.0/16"}, provider(**settings))

    assert text in failure(cloud.stack("settings", program))
    assert programs(cloud, VPC) == []


def test_default_tags_and_automatic_names(cloud: Cloud) -> None:
    def program() -> None:
        options = provider(default_tags={"tags": {"owner": "me", "env": "dev"}})
        Any_(
            "aws:ec2/placementGroup:PlacementGroup", "group", {"strategy": "cluster", "tags": {"env": "test"}}, options
        )

    stack = cloud.stack("tags", program)
    stack.up()
    state = resource(stack, "group")
    assert re.fullmatch(r"group-[0-9a-f]{7}", state["outputs"]["name"])
    assert state["inputs"]["__defaults"] == ["name"]
    assert state["outputs"]["tagsAll"] == {"owner": "me", "env": "test"}
    assert {e.op.value for e in events(stack, preview=True)} == {"same"}

    def other() -> None:
        options = provider(default_tags={"tags": {"owner": "you"}})
        Any_(
            "aws:ec2/placementGroup:PlacementGroup", "group", {"strategy": "cluster", "tags": {"env": "test"}}, options
        )

    cloud.stack("tags", other)
    step = next(e for e in events(stack, preview=True) if e.urn.endswith("::group"))
    assert step.op.value == "update"
    assert set(step.detailed_diff) == {"tagsAll.owner"}
    stack.destroy()


def resource(stack: auto.Stack, name: str) -> dict[str, Any]:
    """A resource of the stack's state."""
    found = stack.export_stack().deployment
    assert found is not None
    return next(dict(r) for r in found["resources"] if r["urn"].endswith(f"::{name}"))


def test_secrets_stay_secret(cloud: Cloud) -> None:
    def program() -> None:
        tags = {"token": pulumi.Output.secret("hunter2"), "plain": "x"}
        Any_(VPC, "v", {"cidrBlock": "10.0.0.0/16", "tags": tags}, provider())

    stack = cloud.stack("secrets", program)
    stack.up()
    file = cloud.folder / "state" / ".pulumi" / "stacks" / "sim" / "secrets.json"
    assert "hunter2" not in file.read_text()
    assert "hunter2" in json.dumps(cloud.client.get(f"/aws/resources?type={VPC}&owner=program"))  # the cloud got it
    stack.refresh()
    assert "hunter2" not in file.read_text()
    assert {e.op.value for e in events(stack, preview=True)} == {"same"}
    stack.destroy()


def test_a_preview_knows_what_the_provider_knows(cloud: Cloud) -> None:
    seen: dict[str, Any] = {}

    def program() -> None:
        options = provider()
        vpc = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16", opts=options)
        seen.clear()
        for name in ("cidr_block", "tags_all", "id", "arn", "enable_dns_hostnames"):
            getattr(vpc, name).apply(lambda value, name=name: seen.update({name: value}))

    cloud.stack("known", program).preview()
    assert seen == {"cidr_block": "10.0.0.0/16", "tags_all": {}}


def test_a_node_group_that_fails_is_remembered(cloud: Cloud) -> None:
    zone = "a"

    def program() -> None:
        options = provider()
        vpc = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16", opts=options)
        subnets = {
            z: aws.ec2.Subnet(f"s{z}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=REGION + z,
                              opts=options)
            for i, z in enumerate("abc")
        }  # fmt: skip
        role = aws.iam.Role("r", assume_role_policy=trust("eks.amazonaws.com"), opts=options)
        node = aws.iam.Role("n", assume_role_policy=trust("ec2.amazonaws.com"), opts=options)
        attached = [
            aws.iam.RolePolicyAttachment(p, role=r.name, policy_arn=f"arn:aws:iam::aws:policy/{p}", opts=options)
            for r, p in ((role, "AmazonEKSClusterPolicy"), (node, "AmazonEKSWorkerNodePolicy"))
        ]
        after = pulumi.ResourceOptions.merge(options, pulumi.ResourceOptions(depends_on=attached))
        cluster = aws.eks.Cluster(
            "c", role_arn=role.arn, vpc_config={"subnet_ids": [s.id for s in subnets.values()]}, opts=after
        )
        aws.eks.NodeGroup(
            "g", cluster_name=cluster.name, node_role_arn=node.arn, subnet_ids=[subnets[zone].id],
            instance_types=["trn1.32xlarge"], ami_type="AL2023_x86_64_NEURON",
            scaling_config={"min_size": 0, "max_size": 2, "desired_size": 1}, opts=after,
        )  # fmt: skip

    stack = cloud.stack("fails", program)
    said = failure(stack)
    assert "unexpected state 'CREATE_FAILED'" in said
    assert "Your requested instance type (trn1.32xlarge) is not supported" in said
    state = resource(stack, "g")
    # The provider does not read what it could not wait for: the state is what was planned, and nothing of the cloud's.
    assert "status" not in state["outputs"]
    assert "arn" not in state["outputs"]
    assert state["outputs"]["instanceTypes"] == ["trn1.32xlarge"]
    assert state["initErrors"][0].startswith(f"creating {state['urn']}: 1 error occurred:\n\t* waiting for EKS Node Gr")
    stack.up()  # nothing has changed: nothing is called, and the engine takes the failed group for a good one
    state = resource(stack, "g")
    assert state["outputs"]["status"] == "CREATE_FAILED"
    assert not state.get("initErrors")
    zone = "c"
    stack.up()  # the other zone replaces it
    assert resource(stack, "g")["outputs"]["status"] == "ACTIVE"
    stack.destroy()
    assert programs(cloud, "aws:eks/nodeGroup:NodeGroup") == []


def test_what_someone_else_changed_comes_back_by_refresh(cloud: Cloud) -> None:
    def program() -> None:
        Any_(VPC, "v", {"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": False}, provider())

    stack = cloud.stack("drift", program)
    stack.up()
    identity = resource(stack, "v")["id"]
    scope = {"account": ACCOUNT, "region": REGION}
    given = cloud.client.post("/aws/read", {"type": VPC, "id": identity, **scope})["outputs"]
    changed = {**given, "enableDnsHostnames": True}
    cloud.client.post("/aws/update", {"type": VPC, "id": identity, "inputs": changed, **scope})
    stack.refresh()
    step = next(e for e in events(stack, preview=True) if e.urn.endswith("::v"))
    assert (step.op.value, set(step.detailed_diff)) == ("update", {"enableDnsHostnames"})
    cloud.client.post("/aws/delete", {"type": VPC, "id": identity, **scope})
    stack.refresh()
    step = next(e for e in events(stack, preview=True) if e.urn.endswith("::v"))
    assert step.op.value == "create"


def test_an_import_by_id(cloud: Cloud) -> None:
    there = "vpc-0e3bedded0000001a"

    def program() -> None:
        options = pulumi.ResourceOptions.merge(provider(), pulumi.ResourceOptions(import_=there, retain_on_delete=True))
        tags = {"Name": "research-shared"}
        inputs = {"cidrBlock": "172.28.0.0/16", "enableDnsHostnames": True, "tags": tags}
        Any_(VPC, "v", inputs, options)

    stack = cloud.stack("import", program)
    stack.up()
    assert resource(stack, "v")["id"] == there
    assert {e.op.value for e in events(stack, preview=True)} == {"same"}
    stack.destroy()


def test_an_existing_network_that_is_not_there(cloud: Cloud) -> None:
    def program() -> None:
        options = pulumi.InvokeOptions(provider=provider().provider)
        aws.ec2.get_vpc(id="vpc-0123456789abcdef0", opts=options)

    assert "no matching EC2 VPC found" in failure(cloud.stack("lookup", program), "preview")


def test_a_function_that_is_not_simulated(cloud: Cloud) -> None:
    def program() -> None:
        options = pulumi.InvokeOptions(provider=provider().provider)
        aws.ec2.get_ami(owners=["amazon"], opts=options)

    assert "function aws:ec2/getAmi:getAmi is not simulated" in failure(cloud.stack("lookup", program), "preview")
