"""EKS clusters: what CreateCluster refuses, and a real control plane behind each."""

from __future__ import annotations

import base64
import ipaddress
import secrets
from typing import Any

from ...core.values import get_path
from ...daemon.store import Resource
from .. import tokens
from ..behaviour import Behaviour
from ..errors import AwsError, Unhealthy
from ..scope import Scope
from .iam import attached, role_of, trusted_services
from .vpc import GROUP, SUBNET, VPC, inside

CLUSTER = "aws:eks/cluster:Cluster"
KEY = "aws:kms/key:Key"
ADDON = "aws:eks/addon:Addon"
ENTRY = "aws:eks/accessEntry:AccessEntry"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
MODES = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")  # only one step forward at a time
SELF_MANAGED = ("vpc-cni", "kube-proxy", "coredns")
PRIVATE = [ipaddress.ip_network(n) for n in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]


def runtime_name(scope: Scope, name: str) -> str:
    """The cluster's name among control planes: its own, with the region where another region has the same."""
    same = scope.store.resources(cloud="aws", type=CLUSTER)
    older = [c for c in same if c.outputs["name"] == name and c.region != scope.region]
    own = scope.find(CLUSTER, name)
    if own is not None and "runtime" in own.hidden:
        return str(own.hidden["runtime"])
    return f"{name}.{scope.region}" if older else name


def invalid(message: str) -> AwsError:
    """EKS's usual refusal."""
    return AwsError("InvalidParameterException", message)


def check_role(scope: Scope, arn: str, service: str, parameter: str) -> Resource:
    """A role must exist and trust the service."""
    role = role_of(scope, arn)
    if role is None or service not in trusted_services(role):
        if parameter == "nodeRole" and role is not None:
            raise invalid(
                f"Following required service principals [{service}] were not found in the trust relationships of "
                f"nodeRole {arn}"
            )
        raise invalid(
            f"Role with arn: {arn}, could not be assumed because it does not exist or the trusted entity is not correct"
        )
    return role


def _creator_is_admin(inputs: dict[str, Any]) -> bool:
    """True without a block; in one that does not say so the provider sends false (expandCreateAccessConfigRequest)."""
    access = inputs.get("accessConfig")
    return bool(access.get("bootstrapClusterCreatorAdminPermissions")) if isinstance(access, dict) and access else True


class Cluster(Behaviour):
    """A cluster."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        role = check_role(scope, inputs["roleArn"], "eks.amazonaws.com", "roleArn")
        if not any(p.endswith("/AmazonEKSClusterPolicy") for p in attached(scope, role)):
            raise invalid(f"Role with arn: {inputs['roleArn']} does not have the required permissions: attach the "
                          "policy AmazonEKSClusterPolicy")  # fmt: skip
        version = str(inputs.get("version") or scope.catalog.account["kubernetes"]["default"])
        if version not in scope.catalog.account["kubernetes"]["versions"]:
            raise invalid(f"unsupported Kubernetes version {version}")
        if inputs.get("outpostConfig") or (inputs.get("computeConfig") or {}).get("enabled"):
            raise AwsError("UnsupportedOperation", "clusters on Outposts and EKS Auto Mode are not simulated")
        if get_path(inputs, "kubernetesNetworkConfig.ipFamily") == "ipv6":
            raise AwsError("UnsupportedOperation", "IPv6 clusters are not simulated")
        access = inputs.get("accessConfig") or {}
        if (
            not _creator_is_admin(inputs) and access.get("authenticationMode", MODES[0]) == MODES[0]
        ):  # terraform-aws-modules/terraform-aws-eks#3206
            raise invalid("bootstrapClusterCreatorAdminPermissions must be true if cluster authentication mode is set "
                          "to CONFIG_MAP")  # fmt: skip
        key = get_path(inputs, "encryptionConfig.provider.keyArn")
        if key and all(k.outputs["arn"] != key for k in scope.all(KEY)):
            raise invalid(f"The key {key} does not exist")
        self._check_network(scope, inputs)

    def _check_network(self, scope: Scope, inputs: dict[str, Any]) -> None:
        config = inputs["vpcConfig"]
        subnets = [s for i in config["subnetIds"] if (s := scope.find(SUBNET, i)) is not None]
        if len({s.outputs["availabilityZone"] for s in subnets}) < 2:
            raise invalid("Subnets specified must be in at least two different AZs")
        vpcs = {s.outputs["vpcId"] for s in subnets}
        if len(vpcs) > 1:
            raise invalid(f"Subnets specified must belong to the same VPC: {', '.join(sorted(vpcs))}")
        refused = [s for s in subnets if s.outputs["availabilityZoneId"] == "use1-az3"]
        if refused:
            zones = [z for z, i in scope.catalog.zones(scope.region).items() if i != "use1-az3"]
            raise AwsError(
                "UnsupportedAvailabilityZoneException",
                f"Cannot create cluster '{inputs['name']}' because {refused[0].outputs['availabilityZone']}, the "
                "targeted availability zone, does not currently have sufficient capacity to support the cluster. "
                f"Retry and choose from these availability zones: {', '.join(zones)}",
            )
        for identity in config.get("securityGroupIds") or []:
            group = scope.find(GROUP, identity)
            if group is not None and group.outputs["vpcId"] not in vpcs:
                raise invalid(f"Security group(s) [{identity}] are not in the same VPC as the subnets. "
                              "Please specify only security groups in the same VPC.")  # fmt: skip
        if config.get("endpointPublicAccess") is False and not config.get("endpointPrivateAccess"):
            raise invalid("Private and public endpoint access cannot be false")
        self._check_service_range(scope, inputs, next(iter(vpcs)))

    @staticmethod
    def _check_service_range(scope: Scope, inputs: dict[str, Any], vpc: str) -> None:
        text = (inputs.get("kubernetesNetworkConfig") or {}).get("serviceIpv4Cidr")
        if not text:
            return
        network = ipaddress.ip_network(text)
        found = scope.find(VPC, vpc)
        if not any(inside(network, p) for p in PRIVATE):
            raise invalid(f"serviceIpv4Cidr {text} must be within 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16")
        if found is not None and network.overlaps(ipaddress.ip_network(found.outputs["cidrBlock"])):
            raise invalid(f"serviceIpv4Cidr {text} must not overlap with the CIDR blocks of the VPC")

    def complete(self, scope: Scope, resource: Resource) -> None:
        inputs, name = resource.inputs, resource.id
        versions = scope.catalog.account["kubernetes"]
        subnets = [s for i in inputs["vpcConfig"]["subnetIds"] if (s := scope.find(SUBNET, i)) is not None]
        vpc = subnets[0].outputs["vpcId"]
        resource.hidden["runtime"] = runtime_name(scope, name)
        group = scope.new(GROUP, scope.identity("sg"), f"cluster:{scope.region}/{name}", {
            "vpcId": vpc, "name": f"eks-cluster-sg-{name}-{secrets.randbelow(10**9)}",
            "description": "EKS created security group applied to ENI that is attached to EKS Control Plane master "
            "nodes, as well as any managed workloads.",
        })  # fmt: skip
        self._interfaces(scope, name, subnets, [group.id, *(inputs["vpcConfig"].get("securityGroupIds") or [])])
        config = {
            "endpointPrivateAccess": False, "endpointPublicAccess": True, "publicAccessCidrs": ["0.0.0.0/0"],
            "securityGroupIds": [], **inputs["vpcConfig"], "clusterSecurityGroupId": group.id, "vpcId": vpc,
        }  # fmt: skip
        found = scope.find(VPC, vpc)
        ten = found is not None and found.outputs["cidrBlock"].startswith("10.")
        network = {
            "ipFamily": "ipv4", "serviceIpv4Cidr": "172.20.0.0/16" if ten else "10.100.0.0/16",
            "elasticLoadBalancing": {"enabled": False}, **(inputs.get("kubernetesNetworkConfig") or {}),
        }  # fmt: skip
        access = {
            "authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": _creator_is_admin(inputs),
            **(inputs.get("accessConfig") or {}),
        }  # fmt: skip
        resource.outputs |= {
            "vpcConfig": config, "kubernetesNetworkConfig": network, "accessConfig": access,
            "version": str(inputs.get("version") or versions["default"]), "platformVersion": versions["platform"],
            "upgradePolicy": inputs.get("upgradePolicy") or {"supportType": "EXTENDED"}, "status": "CREATING",
            "createdAt": scope.iso(), "deletionProtection": bool(inputs.get("deletionProtection")),
        }  # fmt: skip
        for key in ("computeConfig", "storageConfig", "controlPlaneScalingConfig", "kubeApiServerConfig",
                    "kubeControllerManagerConfig", "kubeSchedulerConfig"):  # fmt: skip
            if not inputs.get(key):
                resource.outputs.pop(key, None)

    @staticmethod
    def _interfaces(scope: Scope, name: str, subnets: list[Resource], groups: list[str]) -> None:
        """EKS puts interfaces of its control plane into two zones."""
        seen: set[str] = set()
        for subnet in subnets:
            zone = subnet.outputs["availabilityZone"]
            if zone not in seen and len(seen) < 2:
                seen.add(zone)
                scope.add_interface(subnet, f"cluster:{scope.region}/{name}", f"Amazon EKS {name}", groups)

    def settle(self, scope: Scope, resource: Resource) -> None:
        clusters = scope.world.clusters
        runtime = resource.hidden["runtime"]
        issuer_id = resource.hidden.setdefault("issuer", secrets.token_hex(16).upper())
        try:
            endpoint = clusters.ensure(
                runtime, version=resource.outputs["version"], cluster_id=issuer_id,
                authenticate=tokens.authenticator(scope.world, scope.region, resource.id),
            )  # fmt: skip
            if resource.outputs.get("bootstrapSelfManagedAddons", True):
                known = set(clusters.known_addons())
                for addon in SELF_MANAGED:
                    if addon in known:
                        clusters.apply_cloud_addon(
                            runtime, addon, addon_default(scope, addon, resource.outputs["version"])
                        )
        except Exception as problem:
            scope.world.log(f"cluster {resource.id}: {problem!r}")
            raise Unhealthy("FAILED", "ClusterUnreachable", f"the control plane did not start: {problem}") from problem
        if resource.outputs.get("bootstrapSelfManagedAddons", True):
            resource.hidden["self_managed"] = list(SELF_MANAGED)
        pem = endpoint.ca_pem if isinstance(endpoint.ca_pem, str) else endpoint.ca_pem.decode()
        resource.outputs |= {
            "endpoint": endpoint.endpoint, "status": "ACTIVE",
            "certificateAuthority": {"data": base64.b64encode(pem.encode()).decode()},
            "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{scope.region}.amazonaws.com/id/{issuer_id}"}]}],
        }  # fmt: skip

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        if resource.outputs.get("status") != "ACTIVE":
            raise AwsError("ResourceInUseException", f"Cluster {resource.id} is not in ACTIVE status", 409)
        old, new = resource.outputs["version"], str(inputs.get("version") or resource.outputs["version"])
        if new != old:
            allowed = scope.catalog.account["kubernetes"]["versions"]
            if new not in allowed or int(new.split(".")[1]) != int(old.split(".")[1]) + 1:
                raise invalid(f"Unsupported Kubernetes minor version update from {old} to {new}")
            self._check_groups(scope, resource)
        before = resource.outputs["accessConfig"]["authenticationMode"]
        after = (inputs.get("accessConfig") or {}).get("authenticationMode") or before
        if after != before and MODES.index(after) != MODES.index(before) + 1:  # pulumi/pulumi-eks#1493
            raise invalid(f"Unsupported authentication mode update from {before} to {after}")
        vpc = resource.outputs["vpcConfig"]["vpcId"]
        for identity in inputs["vpcConfig"]["subnetIds"]:  # botocore eks UpdateClusterConfig; the text is our own
            subnet = scope.find(SUBNET, identity)
            if subnet is not None and subnet.outputs["vpcId"] != vpc:
                raise invalid(f"Subnet {identity} is not in the VPC that the cluster was created with ({vpc})")
        self._check_network(scope, {**inputs, "name": resource.id})

    @staticmethod
    def _check_groups(scope: Scope, resource: Resource) -> None:
        """All managed nodes first (botocore eks UpdateClusterVersion; text: terraform-provider-aws#19478)."""
        version = resource.outputs["version"]
        late = [
            g.outputs["nodeGroupName"]
            for g in scope.all("aws:eks/nodeGroup:NodeGroup", clusterName=resource.id)
            if g.outputs["version"] != version and g.outputs["amiType"] != "CUSTOM"
        ]
        if late:
            raise invalid(f"Nodegroups {', '.join(sorted(late))} must be updated to match cluster version {version} "
                          "before updating cluster version")  # fmt: skip

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        if before.get("encryptionConfig"):  # the provider only ever adds one: another key is an update of nothing
            resource.outputs["encryptionConfig"] = before["encryptionConfig"]
        made = [i for i in scope.interfaces() if i.owner == f"cluster:{scope.region}/{resource.id}"]
        if before["vpcConfig"].get("subnetIds") == resource.outputs["vpcConfig"].get("subnetIds"):
            return
        for interface in made:
            scope.store.remove(interface)
        config = resource.outputs["vpcConfig"]
        subnets = [s for i in config["subnetIds"] if (s := scope.find(SUBNET, i)) is not None]
        self._interfaces(scope, resource.id, subnets, [config["clusterSecurityGroupId"], *config["securityGroupIds"]])

    def seconds(self, scope: Scope, kind: str, resource: Resource, before: dict[str, Any] | None = None) -> float:
        if kind != "update" or before is None:
            return super().seconds(scope, kind, resource, before)
        out = resource.outputs
        if out["version"] != before["version"]:
            return scope.catalog.seconds("cluster_version")
        slow = ("vpcConfig", "enabledClusterLogTypes", "accessConfig", "encryptionConfig")
        return scope.catalog.seconds("cluster_update" if any(out.get(k) != before.get(k) for k in slow) else "default")

    def validate_delete(self, scope: Scope, resource: Resource) -> None:
        if resource.outputs.get("deletionProtection"):
            raise AwsError(
                "InvalidRequestException",
                f"Cluster {resource.id} has deletion protection enabled and cannot be deleted",
            )

    def deleted(self, scope: Scope, resource: Resource) -> None:
        scope.world.clusters.delete(resource.hidden["runtime"])
        with scope.store.transaction():
            for made in scope.owned(f"cluster:{scope.region}/{resource.id}"):
                scope.store.remove(made)
            for kind in (ADDON, ENTRY, ASSOCIATION):
                for inside in scope.all(kind, clusterName=resource.id):
                    scope.store.remove(inside)


def addon_default(scope: Scope, addon: str, kubernetes: str) -> str:
    """The default version of an add-on for a Kubernetes version."""
    row = scope.catalog.account["addons"][addon]
    if "per_kubernetes" in row:
        release = scope.catalog.account["kubernetes"]["release"][kubernetes]
        return str(row["per_kubernetes"]).replace("{release}", release)
    return str(row["default"])


def active_cluster(scope: Scope, name: str) -> Resource:
    """An active cluster; EKS's error otherwise."""
    cluster = scope.find(CLUSTER, name)
    if cluster is None:
        raise AwsError("ResourceNotFoundException", f"No cluster found for name: {name}.", 404)
    if cluster.outputs.get("status") != "ACTIVE" or cluster.state == "deleting":
        status = "DELETING" if cluster.state == "deleting" else cluster.outputs.get("status")
        raise AwsError("InvalidRequestException", f"Cluster '{name}' is not in ACTIVE status (it is {status})")
    return cluster


class AccessEntry(Behaviour):
    """Who may enter a cluster."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        cluster = active_cluster(scope, inputs["clusterName"])
        if cluster.outputs["accessConfig"]["authenticationMode"] == "CONFIG_MAP":
            raise AwsError(
                "InvalidRequestException",
                "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this "
                "operation.",
            )
        if any(str(g).startswith("system:") for g in inputs.get("kubernetesGroups") or []):
            raise invalid("The kubernetes group name is invalid, it cannot start with system:")
        kind = inputs.get("type") or "STANDARD"  # botocore eks CreateAccessEntryRequest: type, principalArn
        if kind != "STANDARD" and inputs.get("kubernetesGroups"):
            raise invalid(f"You can't specify kubernetesGroups for an access entry of type {kind}")
        if kind != "STANDARD" and ":role/" not in inputs["principalArn"]:
            raise invalid(f"The only valid principal of an access entry of type {kind} is an IAM role")
        if ":role/" in inputs["principalArn"] and role_of(scope, inputs["principalArn"]) is None:
            raise invalid("The specified principalArn is invalid: invalid principal")

    def complete(self, scope: Scope, resource: Resource) -> None:
        arn = resource.inputs["principalArn"]
        kind, _, name = arn.rpartition(":")[2].partition("/")
        now = scope.iso()
        resource.outputs |= {
            "createdAt": now, "modifiedAt": now, "userName": resource.inputs.get("userName") or arn,
            "accessEntryArn": scope.arn("eks", f"access-entry/{resource.inputs['clusterName']}/{kind}/{scope.account}/"
                                        f"{name}/{scope.uuid()}"),
        }  # fmt: skip


class PodIdentityAssociation(Behaviour):
    """A role for a service account."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        active_cluster(scope, inputs["clusterName"])
        check_role(scope, inputs["roleArn"], "pods.eks.amazonaws.com", "roleArn")

    def complete(self, scope: Scope, resource: Resource) -> None:
        cluster = resource.inputs["clusterName"]
        resource.outputs["associationArn"] = scope.arn("eks", f"podidentityassociation/{cluster}/{resource.id}")

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        check_role(scope, inputs["roleArn"], "pods.eks.amazonaws.com", "roleArn")
