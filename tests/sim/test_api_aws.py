"""AWS's read APIs: every operation parses back to what was meant, and what is not known is refused, never empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from accelerator_fleet_sim.apis.aws.calls import OPERATIONS
from accelerator_fleet_sim.apis.aws.wire import Misshapen, model, serialize
from accelerator_fleet_sim.aws.control import TICK
from accelerator_fleet_sim.aws.services.iam import ATTACHMENT
from accelerator_fleet_sim.aws.services.routing import ROUTE
from tests.sim.account import ACCOUNT, Account, Refusal
from tests.sim.api_account import TAGS, Asker, asking, make, world

ROLE = f"arn:aws:iam::{ACCOUNT}:role/"


@pytest.fixture
def ask(account: Account) -> Iterator[Asker]:
    with asking(account) as made:
        yield made


def code(error: Any) -> str:
    return str(error.value.response["Error"]["Code"])


def reads(it: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """A call of every operation that reads."""
    plain = {
        "ec2": ["Vpcs", "Subnets", "InternetGateways", "NatGateways", "Addresses", "RouteTables", "NetworkInterfaces",
                "VpcEndpoints", "SecurityGroups", "SecurityGroupRules", "AvailabilityZones", "Instances",
                "LaunchTemplates", "PlacementGroups", "CapacityReservations"],
        "efs": ["FileSystems", "AccessPoints"], "autoscaling": ["AutoScalingGroups", "ScheduledActions"],
        "logs": ["LogGroups"],
        "fsx": ["FileSystems"],
    }  # fmt: skip
    group, cluster = {"clusterName": "c", "nodegroupName": "g"}, {"clusterName": "c"}
    return [
        *((service, f"Describe{name}", {}) for service, names in plain.items() for name in names),
        ("ec2", "DescribeCapacityBlockOfferings", {"CapacityDurationHours": 24}),
        ("ec2", "DescribeVpcAttribute", {"VpcId": it["vpc"], "Attribute": "enableDnsSupport"}),
        ("ec2", "DescribeLaunchTemplateVersions", {"LaunchTemplateId": it["template"]}),
        ("eks", "ListClusters", {}), ("eks", "DescribeCluster", {"name": "c"}),
        ("eks", "ListNodegroups", cluster), ("eks", "DescribeNodegroup", group), ("eks", "ListAddons", cluster),
        ("eks", "DescribeAddon", {**cluster, "addonName": "eks-pod-identity-agent"}),
        ("eks", "ListAccessEntries", cluster),
        ("eks", "DescribeAccessEntry", {**cluster, "principalArn": f"{ROLE}pod"}),
        ("eks", "ListAssociatedAccessPolicies", {**cluster, "principalArn": f"{ROLE}pod"}),
        ("eks", "ListPodIdentityAssociations", cluster),
        ("eks", "DescribePodIdentityAssociation", {**cluster, "associationId": it["pods"]}),
        ("eks", "ListTagsForResource", {"resourceArn": f"arn:aws:eks:us-east-2:{ACCOUNT}:cluster/c"}),
        ("iam", "ListRoles", {}), ("iam", "GetRole", {"RoleName": "node"}), ("iam", "ListRoleTags",
         {"RoleName": "node"}),
        ("iam", "ListAttachedRolePolicies", {"RoleName": "node"}), ("iam", "ListRolePolicies", {"RoleName": "pod"}),
        ("iam", "GetRolePolicy", {"RoleName": "pod", "PolicyName": "in"}), ("iam", "ListInstanceProfiles", {}),
        ("iam", "GetInstanceProfile", {"InstanceProfileName": "profile"}), ("iam", "ListPolicies", {"Scope": "Local"}),
        ("iam", "ListInstanceProfilesForRole", {"RoleName": "node"}), ("iam", "GetPolicy", {"PolicyArn": it["policy"]}),
        ("iam", "ListOpenIDConnectProviders", {}),
        ("iam", "GetOpenIDConnectProvider", {"OpenIDConnectProviderArn": it["provider"]}),
        ("sts", "GetCallerIdentity", {}), ("kms", "ListKeys", {}), ("kms", "DescribeKey", {"KeyId": it["key"]}),
        ("kms", "ListResourceTags", {"KeyId": it["key"]}), ("efs", "ListTagsForResource", {"ResourceId": it["point"]}),
        ("logs", "ListTagsForResource", {"resourceArn": f"arn:aws:logs:us-east-2:{ACCOUNT}:log-group:/aws/eks/c"}),
        ("efs", "DescribeMountTargets", {"FileSystemId": it["files"]}),
        ("efs", "DescribeMountTargetSecurityGroups", {"MountTargetId": it["mount"]}),
        ("resourcegroupstaggingapi", "GetResources", {"TagFilters": [{"Key": "fleet", "Values": ["accel"]}]}),
    ]  # fmt: skip


def deletes(it: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Everything taken away, in an order that AWS allows."""
    cluster, group = {"clusterName": "c"}, {"GroupId": it["group"]}
    rules = {way: {**group, "SecurityGroupRuleIds": [it[way]]} for way in ("Ingress", "Egress")}
    return [
        ("eks", "DeletePodIdentityAssociation", {**cluster, "associationId": it["pods"]}),
        ("eks", "DeleteAccessEntry", {**cluster, "principalArn": f"{ROLE}pod"}),
        ("eks", "DeleteAddon", {**cluster, "addonName": "eks-pod-identity-agent"}),
        ("eks", "DeleteNodegroup", {**cluster, "nodegroupName": "g"}), ("eks", "DeleteCluster", {"name": "c"}),
        ("iam", "DetachRolePolicy", {"RoleName": "cluster",
         "PolicyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"}),
        ("iam", "DeleteRole", {"RoleName": "cluster"}), ("efs", "DeleteAccessPoint", {"AccessPointId": it["point"]}),
        ("efs", "DeleteMountTarget", {"MountTargetId": it["mount"]}),
        ("ec2", "DeleteLaunchTemplate", {"LaunchTemplateId": it["template"]}),
        ("ec2", "DeletePlacementGroup", {"GroupName": "pg"}),
        ("ec2", "RevokeSecurityGroupIngress", rules["Ingress"]), ("ec2", "RevokeSecurityGroupEgress", rules["Egress"]),
        ("ec2", "DeleteSecurityGroup", group), ("ec2", "DeleteVpcEndpoints", {"VpcEndpointIds": [it["endpoint"]]}),
        ("ec2", "DeleteRoute", {"RouteTableId": it["table"], "DestinationCidrBlock": "0.0.0.0/0"}),
        ("ec2", "DisassociateRouteTable", {"AssociationId": it["association"]}),
        ("ec2", "DeleteRouteTable", {"RouteTableId": it["table"]}), ("ec2", "DeleteNatGateway",
         {"NatGatewayId": it["nat"]}),
        ("ec2", "ReleaseAddress", {"AllocationId": it["address"]}),
        ("ec2", "DetachInternetGateway", {"InternetGatewayId": it["gateway"], "VpcId": it["vpc"]}),
        ("ec2", "DeleteInternetGateway", {"InternetGatewayId": it["gateway"]}),
        *(("ec2", "DeleteSubnet", {"SubnetId": it[z]}) for z in "abc"), ("ec2", "DeleteVpc", {"VpcId": it["vpc"]}),
    ]  # fmt: skip


def end_operations(account: Account) -> None:
    """Time passes."""
    for operation in account.store.running():
        account.operations.end(operation.id)


def test_every_operation_is_parsed_by_botocore_as_it_was_meant(account: Account, ask: Asker) -> None:
    it = world(account)
    said = ""
    for service, operation, params in reads(it):
        answer = ask(service, operation, **params)
        said += repr(answer)
        if service != "fsx":
            assert any(v not in ([], {}, None, "", False) for v in answer.values()), (service, operation)
    for made in account.store.resources(cloud="aws", owner="program"):
        if made.type not in (ROUTE, ATTACHMENT):  # known by what they join
            assert made.id.rpartition(":")[2] in said, made.id
    for service, operation, params in deletes(it):
        ask(service, operation, **params)
        end_operations(account)
    assert ask.asked == set(OPERATIONS)
    left = {r.type for r in account.store.resources(cloud="aws", owner="program") if not r.type.startswith("aws:iam/")}
    assert left == {"aws:kms/key:Key", "aws:cloudwatch/logGroup:LogGroup", "aws:efs/fileSystem:FileSystem"}


def test_nothing_that_a_model_lacks_gets_through() -> None:
    operation = model("ec2").operation_model("DescribeVpcs")
    wrong: dict[str, Any]
    for wrong in ({"Vpcs": [{"Colour": "red"}]}, {"Vpcs": [{"VpcId": 1}]}, {"Vpcs": [{"State": "blue"}]}, {"Nets": []}):
        with pytest.raises(Misshapen):
            serialize(operation, wrong)


def test_what_a_program_made_is_found_by_tag_and_told_apart(account: Account, ask: Asker) -> None:
    it = world(account)
    mine = ask("ec2", "DescribeVpcs", Filters=[{"Name": "tag:fleet", "Values": ["acc*"]}])["Vpcs"]
    assert [v["VpcId"] for v in mine] == [it["vpc"]]
    assert {t["Key"]: t["Value"] for t in mine[0]["Tags"]} == TAGS
    assert len(ask("ec2", "DescribeVpcs")["Vpcs"]) == 2  # the account's own is there too
    both = [{"Name": "vpc-id", "Values": [it["vpc"]]}, {"Name": "availability-zone", "Values": ["us-east-2b"]}]
    assert [s["SubnetId"] for s in ask("ec2", "DescribeSubnets", Filters=both)["Subnets"]] == [it["b"]]
    main = ask("ec2", "DescribeRouteTables", Filters=[{"Name": "vpc-id", "Values": [it["vpc"]]}])["RouteTables"]
    assert sorted(a["Main"] for t in main for a in t["Associations"]) == [False, True]
    own = next(t for t in main if t["RouteTableId"] == it["table"])
    assert {r.get("NatGatewayId") or r.get("GatewayId") for r in own["Routes"]} == {"local", it["nat"], it["endpoint"]}
    found = ask("resourcegroupstaggingapi", "GetResources", TagFilters=[{"Key": "fleet"}])["ResourceTagMappingList"]
    services = {r["ResourceARN"].split(":")[2] for r in found}
    assert services == {"ec2", "eks", "elasticfilesystem", "kms", "logs"}  # and never IAM


def test_a_cluster_and_its_group_as_eks_shows_them(account: Account, ask: Asker) -> None:
    it = world(account)
    cluster = ask("eks", "DescribeCluster", name="c")["cluster"]
    assert (cluster["status"], cluster["tags"], cluster["resourcesVpcConfig"]["vpcId"]) == ("ACTIVE", TAGS, it["vpc"])
    assert cluster["logging"]["clusterLogging"][0] == {"types": ["api"], "enabled": True}
    group = ask("eks", "DescribeNodegroup", clusterName="c", nodegroupName="g")["nodegroup"]
    assert group["launchTemplate"] == {"id": it["template"], "name": "lt", "version": "1"}
    assert group["taints"] == [{"key": "gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert "diskSize" not in group
    entries = ask("eks", "ListAccessEntries", clusterName="c")["accessEntries"]
    assert entries == [f"{ROLE}node", f"{ROLE}pod", f"arn:aws:iam::{ACCOUNT}:user/embedded"]
    nodes = [i for r in ask("ec2", "DescribeInstances")["Reservations"] for i in r["Instances"]]
    assert len(nodes) == 2
    assert {t["Key"]: t["Value"] for t in nodes[0]["Tags"]}.items() >= {"eks:nodegroup-name": "g", "pool": "p"}.items()


def test_what_is_on_its_way_says_so(account: Account, ask: Asker) -> None:
    world(account)
    size = {"minSize": 1, "maxSize": 1, "desiredSize": 1}
    call = {"clusterName": "c", "nodeGroupName": "late", "nodeRoleArn": f"{ROLE}node", "scalingConfig": size,
            "subnetIds": [s["SubnetId"] for s in ask("ec2", "DescribeSubnets")["Subnets"] if s["VpcId"] ==
                          ask("eks", "DescribeCluster",
                              name="c")["cluster"]["resourcesVpcConfig"]["vpcId"]][:1]}  # fmt: skip
    account.aws.create(
        {"type": "aws:eks/nodeGroup:NodeGroup", "inputs": call, "account": ACCOUNT, "region": "us-east-2"}
    )
    late = {"clusterName": "c", "nodegroupName": "late"}
    assert ask("eks", "DescribeNodegroup", **late)["nodegroup"]["status"] == "CREATING"
    end_operations(account)
    assert ask("eks", "DescribeNodegroup", **late)["nodegroup"]["status"] == "ACTIVE"
    assert ask("eks", "DeleteNodegroup", **late)["nodegroup"]["status"] == "DELETING"
    assert ask("eks", "DeleteNodegroup", **late)["nodegroup"]["status"] == "DELETING"
    assert len(account.store.running()) == 1  # asked twice, deleted once
    end_operations(account)
    with pytest.raises(ClientError) as gone:
        ask("eks", "DescribeNodegroup", **late)
    assert code(gone) == "ResourceNotFoundException"


def test_pages(account: Account, ask: Asker) -> None:
    world(account)
    for service, name, key, size in (("ec2", "describe_subnets", "Subnets", "MaxResults"),
                                     ("iam", "list_roles", "Roles", "MaxItems")):  # fmt: skip
        client = ask.client(service)
        pages = list(client.get_paginator(name).paginate(PaginationConfig={"PageSize": 5 if service == "ec2" else 2}))
        assert len(pages) > 1, size
        assert [x for p in pages for x in p[key]] == getattr(client, name)()[key]
    with pytest.raises(ClientError) as wrong:
        ask("ec2", "DescribeSubnets", NextToken="mine")
    assert code(wrong) == "InvalidParameterValue"


@pytest.mark.parametrize(
    ("service", "operation", "params", "expected"),
    [
        ("ec2", "DescribeVpcs", {"VpcIds": ["vpc-00000000"]}, "InvalidVpcID.NotFound"),
        ("ec2", "DescribeVpcs", {"VpcIds": ["net"]}, "InvalidVpcID.Malformed"),
        ("ec2", "DescribeNatGateways", {"NatGatewayIds": ["nat-00000000"]}, "NatGatewayNotFound"),
        ("ec2", "DescribePlacementGroups", {"GroupNames": ["x"]}, "InvalidPlacementGroup.Unknown"),
        ("ec2", "DescribeLaunchTemplates", {"LaunchTemplateNames": ["none"]},
         "InvalidLaunchTemplateName.NotFoundException"),
        ("ec2", "DescribeVpcs", {"Filters": [{"Name": "colour", "Values": ["red"]}]}, "InvalidParameterValue"),
        ("ec2", "DescribeVpcs", {"NextToken": "mine"}, "InvalidParameterValue"),
        ("ec2", "DescribeVolumes", {}, "NotServed"),
        ("ec2", "DescribeInstances", {"IncludeManagedResources": True}, "NotServed"),
        ("ec2", "CreateVpc", {"CidrBlock": "10.0.0.0/16"}, "NotServed"),
        ("ec2", "DeleteVpc", {"VpcId": "vpc-00000000"}, "InvalidVpcID.NotFound"),
        ("efs", "DeleteFileSystem", {"FileSystemId": "fs-00000000"}, "NotServed"),
        ("efs", "DescribeFileSystems", {"FileSystemId": "fs-00000000"}, "FileSystemNotFound"),
        ("eks", "DescribeCluster", {"name": "x"}, "ResourceNotFoundException"),
        ("eks", "ListNodegroups", {"clusterName": "x"}, "ResourceNotFoundException"),
        ("eks", "ListUpdates", {"name": "x"}, "NotServed"),
        ("iam", "GetRole", {"RoleName": "x"}, "NoSuchEntity"),
        ("iam", "ListUsers", {}, "NotServed"),
        ("kms", "DescribeKey", {"KeyId": "x"}, "NotFoundException"),
        ("resourcegroupstaggingapi", "GetResources", {"ResourceTypeFilters": ["s3"]}, "NotServed"),
        ("resourcegroupstaggingapi", "GetTagKeys", {}, "NotServed"),
        ("s3", "ListBuckets", {}, "501"),
        ("sqs", "ListQueues", {}, "NotServed"),
    ],
)  # fmt: skip
def test_errors(ask: Asker, service: str, operation: str, params: dict[str, Any], expected: str) -> None:
    with pytest.raises(ClientError) as error:
        ask(service, operation, **params)
    assert code(error) == expected


def test_only_the_embedded_user_is_let_in(ask: Asker) -> None:
    for service, key, secret, expected in (
        ("ec2", "AKIAIOSFODNN7EXAMPLE", "x", "AuthFailure"), ("sts", "AKIAIOSFODNN7EXAMPLE", "x",
         "InvalidClientTokenId"),
        ("eks", "AKIAIOSFODNN7EXAMPLE", "x", "UnrecognizedClientException"),
        ("eks", "AKIAEMBEDDEDFLEET000", "x", "SignatureDoesNotMatch"),
    ):  # fmt: skip
        client = ask.client(service, key=key, secret=secret)
        name = {"ec2": "describe_vpcs", "sts": "get_caller_identity", "eks": "list_clusters"}[service]
        with pytest.raises(ClientError) as error:
            getattr(client, name)()
        assert code(error) == expected
    with pytest.raises(ClientError) as nowhere:
        ask("ec2", "DescribeVpcs", "us-east-9")
    assert code(nowhere) == "InvalidRegion"


def test_regions_are_apart_and_iam_is_one(account: Account, ask: Asker) -> None:
    world(account)
    assert ask("ec2", "DescribeVpcs", "us-west-2")["Vpcs"] == []
    assert ask("eks", "ListClusters", "us-west-2")["clusters"] == []
    assert ask("iam", "ListRoles", "us-west-2") == ask("iam", "ListRoles", "us-east-1")


def test_deletes_are_refused_as_the_plugins_are(account: Account, ask: Asker) -> None:
    it = world(account)
    for service, operation, params, expected in (
        ("ec2", "DeleteVpc", {"VpcId": it["vpc"]}, "DependencyViolation"),
        ("ec2", "DeleteSubnet", {"SubnetId": it["a"]}, "DependencyViolation"),
        ("ec2", "DeleteInternetGateway", {"InternetGatewayId": it["gateway"]}, "DependencyViolation"),
        ("ec2", "DetachInternetGateway", {"InternetGatewayId": it["gateway"], "VpcId": it["vpc"]},
         "DependencyViolation"),
        ("ec2", "ReleaseAddress", {"AllocationId": it["address"]}, "InvalidIPAddress.InUse"),
        ("ec2", "DeletePlacementGroup", {"GroupName": "pg"}, "InvalidPlacementGroup.InUse"),
        ("ec2", "DeleteSecurityGroup", {"GroupId": it["group"]}, "DependencyViolation"),
        ("ec2", "DeleteRouteTable", {"RouteTableId": it["table"]}, "DependencyViolation"),
        ("eks", "DeleteCluster", {"name": "c"}, "ResourceInUseException"),
        ("iam", "DeleteRole", {"RoleName": "node"}, "DeleteConflict"),
        ("iam", "DeleteRole", {"RoleName": "pod"}, "DeleteConflict"),
    ):  # fmt: skip
        with pytest.raises(ClientError) as error:
            ask(service, operation, **params)
        assert code(error) == expected, operation
    assert all(o.kind == TICK for o in account.store.running())
    protected = make(account, "aws:iam/role:Role", name="forced", path="/", forceDetachPolicies=True,
                     assumeRolePolicy=account.read("Role",
                         "node")["assumeRolePolicy"])  # type: ignore[index]  # fmt: skip
    make(account, "aws:iam/rolePolicyAttachment:RolePolicyAttachment", role="forced",
         policyArn="arn:aws:iam::aws:policy/AmazonEKSClusterPolicy")  # fmt: skip
    with pytest.raises(ClientError, match="must detach all policies first"):  # forcing is the provider's own doing
        ask("iam", "DeleteRole", RoleName=protected["id"])


def test_faults_strike_reads_too(account: Account, ask: Asker) -> None:
    it = world(account)
    faults = account.world.faults
    faults.add({"kind": "5xx", "type": "aws:eks/*"})
    with pytest.raises(ClientError) as down:
        ask("eks", "ListClusters")
    assert code(down) == "ServiceUnavailableException"
    assert ask("ec2", "DescribeVpcs")["Vpcs"]  # another API's
    faults.clear()
    faults.add({"kind": "throttling", "type": "Vpc", "times": 1})
    assert ask("ec2", "DescribeVpcEndpoints")["VpcEndpoints"]
    with pytest.raises(ClientError) as slow:
        ask("ec2", "DescribeVpcs")
    assert code(slow) == "RequestLimitExceeded"
    assert len(ask("ec2", "DescribeVpcs")["Vpcs"]) == 2
    faults.clear()
    faults.add({"kind": "stale-read", "type": "Subnet", "seconds": 3600})
    assert it["a"] not in {s["SubnetId"] for s in ask("ec2", "DescribeSubnets")["Subnets"]}
    with pytest.raises(ClientError) as new:
        ask("ec2", "DescribeSubnets", SubnetIds=[it["a"]])
    assert code(new) == "InvalidSubnetID.NotFound"
    faults.clear()
    assert it["a"] in {s["SubnetId"] for s in ask("ec2", "DescribeSubnets")["Subnets"]}


def test_no_type_that_can_be_made_is_out_of_sight(account: Account) -> None:
    world(account)
    made = {r.type for r in account.store.resources(cloud="aws")}
    beyond = {t for t in account.aws.behaviours if t not in made}
    assert beyond == {
        "aws:s3/bucket:Bucket",
        "aws:ecr/repository:Repository",
        "aws:ecr/lifecyclePolicy:LifecyclePolicy",
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
    }


def test_what_did_not_become_healthy_says_so(account: Account, ask: Asker) -> None:
    it = world(account)
    with pytest.raises(Refusal, match="InsufficientInstanceCapacity"):
        make(account, "aws:eks/nodeGroup:NodeGroup", clusterName="c", nodeGroupName="big", nodeRoleArn=f"{ROLE}node",
             subnetIds=[it["b"]], instanceTypes=["p5.48xlarge"], amiType="AL2023_x86_64_NVIDIA",
             scalingConfig={"minSize": 1, "maxSize": 8, "desiredSize": 8})  # fmt: skip
    group = ask("eks", "DescribeNodegroup", clusterName="c", nodegroupName="big")["nodegroup"]
    assert (group["status"], group["health"]["issues"][0]["code"]) == ("CREATE_FAILED", "AsgInstanceLaunchFailures")
    assert "InsufficientInstanceCapacity" in group["health"]["issues"][0]["message"]
