"""The provider's functions (data sources): what exists, as they return it, and their errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..daemon.store import Resource
from .errors import AwsError
from .scope import Scope
from .services.eks import CLUSTER
from .services.nodegroups import NODE_GROUP
from .services.vpc import GROUP, SUBNET, VPC

Args = dict[str, Any]


class NotFound(Exception):
    """A data source found nothing, or too much; the text is the provider's."""


# EC2 filter name -> the output that it compares
FILTERS: dict[str, dict[str, str]] = {
    VPC: {"vpc-id": "", "cidr": "cidrBlock", "cidr-block-association.cidr-block": "cidrBlock", "owner-id": "ownerId"},
    SUBNET: {
        "subnet-id": "", "vpc-id": "vpcId", "availability-zone": "availabilityZone", "cidr-block": "cidrBlock",
        "availability-zone-id": "availabilityZoneId", "map-public-ip-on-launch": "mapPublicIpOnLaunch",
        "owner-id": "ownerId",
    },
    GROUP: {"group-id": "", "group-name": "name", "vpc-id": "vpcId", "description": "description"},
}  # fmt: skip


def _matches(kind: str, resource: Resource, condition: Args) -> bool:
    name, values = condition["name"], [str(v) for v in condition.get("values") or []]
    tags = resource.outputs.get("tagsAll") or {}
    if name.startswith("tag:"):
        return tags.get(name[4:]) in values
    if name == "tag-key":
        return any(v in tags for v in values)
    if name == "state":
        return "available" in values
    if name not in FILTERS[kind]:
        raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")
    key = FILTERS[kind][name]
    value = resource.outputs.get(key) if key else resource.id
    return (str(value).lower() if isinstance(value, bool) else str(value)) in values


def select(scope: Scope, kind: str, args: Args, by: dict[str, str]) -> list[Resource]:
    """Resources that fit the arguments, tags and filters. `by`: argument -> output."""
    found = scope.all(kind)
    if args.get("id"):
        found = [r for r in found if r.id == args["id"]]
    for argument, output in by.items():
        if args.get(argument) is not None:
            found = [r for r in found if r.outputs.get(output) == args[argument]]
    for key, value in (args.get("tags") or {}).items():
        found = [r for r in found if (r.outputs.get("tagsAll") or {}).get(key) == value]
    for condition in args.get("filters") or []:
        found = [r for r in found if _matches(kind, r, condition)]
    return found


def _one(found: list[Resource], noun: str) -> Resource:
    if not found:
        raise NotFound(f"no matching {noun} found")
    if len(found) > 1:
        raise NotFound(f"multiple {noun}s matched; use additional constraints to reduce matches to a single {noun}")
    return found[0]


def get_vpc(scope: Scope, args: Args) -> Args:
    """One VPC."""
    vpc = _one(select(scope, VPC, args, {"cidrBlock": "cidrBlock"}), "EC2 VPC")
    out = vpc.outputs
    association = {
        "associationId": f"vpc-cidr-assoc-{vpc.id[4:]}",
        "cidrBlock": out["cidrBlock"],
        "state": "associated",
    }
    return {
        **{k: out.get(k) for k in ("arn", "cidrBlock", "dhcpOptionsId", "enableDnsHostnames", "enableDnsSupport",
                                   "enableNetworkAddressUsageMetrics", "instanceTenancy", "mainRouteTableId",
                                   "ownerId")},
        "id": vpc.id, "default": False, "state": "available", "tags": out.get("tagsAll") or {},
        "cidrBlockAssociations": [association], "ipv6AssociationId": "", "ipv6CidrBlock": "",
        "ipv6CidrBlockAssociations": [],
    }  # fmt: skip


def get_vpcs(scope: Scope, args: Args) -> Args:
    """Ids of VPCs."""
    return {"ids": [v.id for v in select(scope, VPC, args, {})], "tags": args.get("tags") or {}}


def get_subnet(scope: Scope, args: Args) -> Args:
    """One subnet."""
    import ipaddress

    by = {"availabilityZone": "availabilityZone", "availabilityZoneId": "availabilityZoneId", "cidrBlock": "cidrBlock",
          "vpcId": "vpcId"}  # fmt: skip
    subnet = _one(select(scope, SUBNET, args, by), "EC2 Subnet")
    out = subnet.outputs
    size = ipaddress.ip_network(out["cidrBlock"]).num_addresses
    kept = ("arn", "assignIpv6AddressOnCreation", "availabilityZone", "availabilityZoneId", "cidrBlock",
            "customerOwnedIpv4Pool", "enableDns64", "enableLniAtDeviceIndex", "enableResourceNameDnsARecordOnLaunch",
            "enableResourceNameDnsAaaaRecordOnLaunch", "ipv6CidrBlock", "ipv6CidrBlockAssociationId", "ipv6Native",
            "mapCustomerOwnedIpOnLaunch", "mapPublicIpOnLaunch", "outpostArn", "ownerId",
            "privateDnsHostnameTypeOnLaunch", "vpcId")  # fmt: skip
    return {
        **{k: out.get(k) for k in kept}, "mapPublicIpOnLaunch": bool(out.get("mapPublicIpOnLaunch")), "id": subnet.id,
        "availableIpAddressCount": size - 5 - len(scope.interfaces(subnetId=subnet.id)), "defaultForAz": False,
        "state": "available", "tags": out.get("tagsAll") or {},
    }  # fmt: skip


def get_subnets(scope: Scope, args: Args) -> Args:
    """Ids of subnets."""
    return {"ids": [s.id for s in select(scope, SUBNET, args, {})], "tags": args.get("tags") or {}}


def get_security_group(scope: Scope, args: Args) -> Args:
    """One security group."""
    group = _one(select(scope, GROUP, args, {"name": "name", "vpcId": "vpcId"}), "EC2 Security Group")
    kept = {k: group.outputs.get(k) for k in ("name", "description", "vpcId")}
    arn = scope.arn("ec2", f"security-group/{group.id}")
    return {**kept, "id": group.id, "arn": arn, "tags": group.outputs.get("tagsAll") or {}}


def get_cluster(scope: Scope, args: Args) -> Args:
    """One EKS cluster. Blocks are lists here, other than in the resource, except `vpcConfig`."""
    cluster = scope.find(CLUSTER, args["name"])
    if cluster is None:
        raise NotFound(f"reading EKS Cluster ({args['name']}): couldn't find resource")
    out = cluster.outputs
    lists = {"accessConfigs": "accessConfig", "kubernetesNetworkConfigs": "kubernetesNetworkConfig",
             "upgradePolicies": "upgradePolicy", "certificateAuthorities": "certificateAuthority",
             "computeConfigs": "computeConfig", "storageConfigs": "storageConfig", "outpostConfigs": "outpostConfig",
             "remoteNetworkConfigs": "remoteNetworkConfig", "zonalShiftConfigs": "zonalShiftConfig",
             "controlPlaneScalingConfigs": "controlPlaneScalingConfig", "kubeApiServerConfigs": "kubeApiServerConfig",
             "kubeControllerManagerConfigs": "kubeControllerManagerConfig",
             "kubeSchedulerConfigs": "kubeSchedulerConfig"}  # fmt: skip
    kept = ("arn", "clusterId", "createdAt", "deletionProtection", "enabledClusterLogTypes", "endpoint", "identities",
            "name", "platformVersion", "roleArn", "status", "version", "vpcConfig")  # fmt: skip
    return {
        **{k: out.get(k) for k in kept},
        **{plural: [out[one]] if out.get(one) else [] for plural, one in lists.items()},
        "id": cluster.id, "tags": out.get("tagsAll") or {},
    }  # fmt: skip


def get_clusters(scope: Scope, args: Args) -> Args:
    """Names of EKS clusters."""
    return {"names": [c.id for c in scope.all(CLUSTER)], "id": scope.region}


def get_node_groups(scope: Scope, args: Args) -> Args:
    """Names of a cluster's node groups."""
    name = args["clusterName"]
    if scope.find(CLUSTER, name) is None:
        raise AwsError("ResourceNotFoundException", f"No cluster found for name: {name}.", 404)
    return {"clusterName": name, "id": name,
            "names": [g.outputs["nodeGroupName"] for g in scope.all(NODE_GROUP, clusterName=name)]}  # fmt: skip


def get_caller_identity(scope: Scope, args: Args) -> Args:
    """Who calls."""
    user = scope.catalog.account["user"]
    return {"accountId": scope.account, "arn": user["arn"], "userId": user["userId"], "id": scope.account}


def get_region(scope: Scope, args: Args) -> Args:
    """The region of the call."""
    region = args.get("name") or args.get("region") or scope.region
    if not scope.catalog.zones(region):
        raise NotFound(f"finding Region using the specified name: {region}")
    return {"id": region, "name": region, "region": region, "endpoint": f"ec2.{region}.amazonaws.com",
            "description": region}  # fmt: skip


def get_partition(scope: Scope, args: Args) -> Args:
    """The partition."""
    return {"id": "aws", "partition": "aws", "dnsSuffix": "amazonaws.com", "reverseDnsPrefix": "com.amazonaws"}


def get_availability_zones(scope: Scope, args: Args) -> Args:
    """Zones of the region."""
    zones = scope.catalog.zones(scope.region)
    excluded = set(args.get("excludeNames") or []) | {
        n for n, i in zones.items() if i in (args.get("excludeZoneIds") or [])
    }
    names = [z for z in zones if z not in excluded]
    if args.get("state") not in (None, "available"):
        names = []
    return {"id": scope.region, "names": names, "zoneIds": [zones[n] for n in names], "groupNames": [scope.region]}


FUNCTIONS: dict[str, tuple[Callable[[Scope, Args], Args], str, str]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": (get_caller_identity, "STS", "GetCallerIdentity"),
    "aws:index/getRegion:getRegion": (get_region, "EC2", "DescribeRegions"),
    "aws:index/getPartition:getPartition": (get_partition, "", ""),
    "aws:index/getAvailabilityZones:getAvailabilityZones": (get_availability_zones, "EC2", "DescribeAvailabilityZones"),
    "aws:ec2/getVpc:getVpc": (get_vpc, "EC2", "DescribeVpcs"),
    "aws:ec2/getVpcs:getVpcs": (get_vpcs, "EC2", "DescribeVpcs"),
    "aws:ec2/getSubnet:getSubnet": (get_subnet, "EC2", "DescribeSubnets"),
    "aws:ec2/getSubnets:getSubnets": (get_subnets, "EC2", "DescribeSubnets"),
    "aws:ec2/getSecurityGroup:getSecurityGroup": (get_security_group, "EC2", "DescribeSecurityGroups"),
    "aws:eks/getCluster:getCluster": (get_cluster, "EKS", "DescribeCluster"),
    "aws:eks/getClusters:getClusters": (get_clusters, "EKS", "ListClusters"),
    "aws:eks/getNodeGroups:getNodeGroups": (get_node_groups, "EKS", "ListNodegroups"),
}


def invoke(scope: Scope, token: str, args: Args) -> Args:
    """Answer a function; arguments that the answer repeats are filled in."""
    answer = FUNCTIONS[token][0](scope, args)
    answer.setdefault("id", scope.region)
    answer.setdefault("region", scope.region)
    for key, value in args.items():
        answer.setdefault(key, value)
    return {k: v for k, v in answer.items() if v is not None}
