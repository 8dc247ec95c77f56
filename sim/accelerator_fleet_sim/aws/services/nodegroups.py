"""EKS managed node groups: what CreateNodegroup refuses, and the instances behind each."""

from __future__ import annotations

from http.client import HTTPException
from typing import Any

from ...cluster.model import ClusterError
from ...core.values import plain
from ...daemon.store import Resource
from ...daemon.unreliable import target_of
from .. import blocktimes
from ..behaviour import Behaviour
from ..errors import AwsError, Later, Unhealthy
from ..launch import BLOCK, INSTANCE, Launch, launch_instances, reservation_named, terminate
from ..nodes import node_spec
from ..scope import CLOUD, Scope
from . import rolls
from .eks import CLUSTER, active_cluster, check_role, invalid
from .groupchecks import (
    check_labels,
    check_machines,
    check_placement,
    check_release,
    check_scaling,
    check_template_content,
    check_template_groups,
    default_ami,
)
from .iam import attached, role_of
from .templates import PLACEMENT, resolve
from .vpc import SUBNET

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
AUTOSCALING = "aws:autoscaling/group:Group"
SCHEDULE = "aws:autoscaling/schedule:Schedule"
NOT_JOINED = "Instances failed to join the kubernetes cluster"
ASK_AGAIN = 60.0  # simulated seconds between two launches of an Auto Scaling group that lacks instances
NODE_POLICIES = ("/AmazonEKSWorkerNodePolicy", "/AmazonEKSWorkerNodeMinimalPolicy")


class NodeGroup(Behaviour):
    """A managed node group."""

    # -- create -----------------------------------------------------------------------------------------------------
    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        cluster = active_cluster(scope, inputs["clusterName"])
        quotas = scope.catalog.account["quotas"]
        if len(scope.all(NODE_GROUP, clusterName=cluster.id)) >= quotas["node_groups_per_cluster"]["value"]:
            raise AwsError("ResourceLimitExceededException", "The maximum number of node groups has been reached.")
        check_role(scope, inputs["nodeRoleArn"], "ec2.amazonaws.com", "nodeRole")
        self._check_subnets(scope, inputs, cluster)
        check_scaling(scope, inputs["scalingConfig"])
        check_labels(inputs)
        content = self._content(scope, inputs)
        check_template_content(scope, inputs, content)
        check_machines(scope, inputs, content)
        check_template_groups(scope, content, cluster.outputs["vpcConfig"]["vpcId"])
        check_placement(scope, inputs, content)
        if inputs.get("remoteAccess") and inputs.get("launchTemplate"):
            raise invalid("Remote access configuration cannot be specified with a launch template.")
        if (inputs.get("remoteAccess") or {}).get("ec2SshKey"):  # no key pair can be made here
            raise invalid(f"The key pair '{inputs['remoteAccess']['ec2SshKey']}' does not exist")
        version = str(inputs.get("version") or cluster.outputs["version"])
        if version != cluster.outputs["version"]:  # "the only accepted specified value": botocore eks CreateNodegroup
            raise invalid(f"Requested Nodegroup version {version} is not supported by the cluster's version "
                          f"{cluster.outputs['version']}")  # fmt: skip
        ami = inputs.get("amiType") or default_ami(scope, content, inputs.get("instanceTypes") or [])
        check_release(scope, ami, version, inputs.get("releaseVersion"))

    def _content(self, scope: Scope, inputs: dict[str, Any]) -> dict[str, Any]:
        wanted = inputs.get("launchTemplate")
        if not wanted:
            return {}
        try:
            return resolve(scope, wanted)[2]
        except AwsError as error:
            raise AwsError("InvalidRequestException", error.message) from error

    @staticmethod
    def _check_subnets(scope: Scope, inputs: dict[str, Any], cluster: Resource) -> None:
        vpc = cluster.outputs["vpcConfig"]["vpcId"]
        for identity in inputs["subnetIds"]:
            subnet = scope.find(SUBNET, identity)
            if subnet is not None and subnet.outputs["vpcId"] != vpc:
                raise invalid(f"Subnet {identity} is not in the VPC of the cluster ({vpc})")

    @staticmethod
    def _check_version(scope: Scope, resource: Resource, inputs: dict[str, Any], cluster: Resource) -> None:
        """Up to the cluster's version, never back (botocore eks UpdateNodegroupVersion)."""
        old, control = resource.outputs["version"], cluster.outputs["version"]
        version = str(inputs.get("version") or old)
        if version not in (old, control):
            raise invalid(f"Requested Nodegroup version {version} is not supported by the cluster's version {control}")
        release, before = inputs.get("releaseVersion"), str(resource.outputs.get("releaseVersion") or "")
        if release and release != before:
            check_release(scope, resource.outputs["amiType"], version, release)
            if version == old and release.rpartition("-")[2] < before.rpartition("-")[2]:
                raise invalid(f"You cannot roll back a node group to an earlier AMI version: {before} to {release}")

    def complete(self, scope: Scope, resource: Resource) -> None:
        inputs = resource.inputs
        content = self._content(scope, inputs)
        cluster = active_cluster(scope, inputs["clusterName"])
        version = str(inputs.get("version") or cluster.outputs["version"])
        name = resource.outputs["nodeGroupName"]
        identity = scope.uuid()
        machines = inputs.get("instanceTypes") or ([] if content.get("instanceType") else ["t3.medium"])
        resource.outputs |= {
            "nodeGroupName": name, "version": version, "status": "CREATING", "instanceTypes": machines,
            "amiType": inputs.get("amiType") or default_ami(scope, content, machines),
            "capacityType": inputs.get("capacityType") or "ON_DEMAND",
            "diskSize": inputs.get("diskSize") or (0 if content else 20),
            "releaseVersion": inputs.get("releaseVersion") or self._release(scope, version),
            "updateConfig": inputs.get("updateConfig") or {"maxUnavailable": 1},
            "arn": scope.arn("eks", f"nodegroup/{cluster.id}/{name}/{identity}"),
        }  # fmt: skip
        resource.hidden |= {"asg": f"eks-{name}-{identity}", "image": scope.identity("ami"), "cluster": cluster.id,
                            "cloud_provider": scope.uuid().replace("-", ""), "issues": []}  # fmt: skip
        self._note_template(scope, resource)
        block = self.block(scope, resource)
        for when in blocktimes.moments(block) if block else []:
            if when > scope.world.clock.now():
                scope.at(when, resource)

    @staticmethod
    def _release(scope: Scope, version: str) -> str:
        return str(scope.catalog.account["kubernetes"]["releases"][version][-1])

    @staticmethod
    def block(scope: Scope, resource: Resource) -> Resource | None:
        """The capacity block that a group's machines come from."""
        target = (resource.hidden["content"].get("capacityReservationSpecification") or {}).get(
            "capacityReservationTarget"
        )
        return scope.find(BLOCK, (target or {}).get("capacityReservationId") or "")

    @staticmethod
    def _note_template(scope: Scope, resource: Resource) -> None:
        wanted = resource.outputs.get("launchTemplate")
        if wanted:
            found, version, content = resolve(scope, wanted)
            resource.outputs["launchTemplate"] = {"id": found.id, "name": found.outputs["name"], "version": version}
            resource.hidden["content"] = plain(content)
        else:
            resource.hidden["content"] = {}

    def settle(self, scope: Scope, resource: Resource) -> None:
        with scope.store.transaction():
            role = role_of(scope, resource.inputs["nodeRoleArn"])
            if role is None or not any(p.endswith(NODE_POLICIES) for p in attached(scope, role)):
                self._fail(resource, "NodeCreationFailure", NOT_JOINED)
            if AUTOSCALING and not resource.outputs.get("resources"):
                scope.new(
                    AUTOSCALING, resource.hidden["asg"], self.owner(scope, resource), {"name": resource.hidden["asg"]}
                )
                resource.outputs["resources"] = [
                    {"autoscalingGroups": [{"name": resource.hidden["asg"]}], "remoteAccessSecurityGroupId": ""}
                ]
            error = self.scale(scope, resource)
            scope.store.put(resource)
        if self.block(scope, resource) is not None:
            error = None  # EKS makes the group all the same; its Auto Scaling group launches once the block is active
        stuck = self._stuck(scope, resource) or not self._join(scope, resource)
        patience = scope.world.fault_rules.give_up(NODE_GROUP)
        if (stuck or error is not None) and scope.world.clock.now() < resource.created + patience:
            raise Later(ASK_AGAIN)  # the Auto Scaling group goes on asking for instances
        if error is not None:
            self._fail(resource, "AsgInstanceLaunchFailures", _launch_text(resource, error))
        if stuck:
            self._fail(resource, "NodeCreationFailure", NOT_JOINED)
        resource.outputs["status"] = "ACTIVE"

    def _join(self, scope: Scope, resource: Resource) -> bool:
        """Let the instances join; False while the cluster's API server is away."""
        try:
            self.push(scope, resource)
        except (OSError, HTTPException, ClusterError) as problem:
            scope.world.log(f"{resource.id}: nodes cannot join: {problem!r}")
            return False
        return True

    @staticmethod
    def _stuck(scope: Scope, resource: Resource) -> bool:
        """Whether a fault keeps the group's nodes from joining."""
        target = target_of(CLOUD, scope.store, NODE_GROUP, resource.outputs, resource.id)
        return scope.world.faults.strike("stuck", target, key=resource.id) is not None

    def _fail(self, resource: Resource, code: str, message: str) -> None:
        resource.outputs["status"] = "CREATE_FAILED"
        resource.hidden["issues"] = [{"code": code, "message": message}]
        raise Unhealthy(
            "CREATE_FAILED", code,
            f"unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: {resource.hidden['asg']}: {code}: "
            f"{message}",
        )  # fmt: skip

    # -- instances --------------------------------------------------------------------------------------------------
    def owner(self, scope: Scope, resource: Resource) -> str:
        """Who owns the group's instances."""
        return f"nodegroup:{scope.region}/{resource.id}"

    def instances(self, scope: Scope, resource: Resource) -> list[Resource]:
        """The group's instances."""
        owner = self.owner(scope, resource)
        return [i for i in scope.all(INSTANCE) if i.owner == owner]

    def scale(self, scope: Scope, resource: Resource) -> AwsError | None:
        """Make the number of instances what is desired; why there are fewer, if there are."""
        desired = int(resource.outputs["scalingConfig"]["desiredSize"])
        have = self.instances(scope, resource)
        for instance in have[desired:]:
            terminate(scope, instance)
        missing = desired - len(have)
        if missing <= 0:
            return None
        subnets = [s for i in resource.outputs["subnetIds"] if (s := scope.find(SUBNET, i)) is not None]
        subnets.sort(key=lambda s: sum(1 for i in have if i.outputs["subnetId"] == s.id))
        shares = [missing // len(subnets) + (1 if n < missing % len(subnets) else 0) for n in range(len(subnets))]
        failed: AwsError | None = None
        for subnet, share in zip(subnets, shares, strict=True):
            if share == 0:
                continue
            for launch in self._launches(scope, resource):
                made, error = launch_instances(scope, launch, subnet, share)
                share -= len(made)
                if share == 0:
                    break
                failed = failed or error
        return failed if len(self.instances(scope, resource)) < desired else None

    def tick(self, scope: Scope, resource: Resource) -> None:
        """A moment of the group's block, or of an action of its Auto Scaling group."""
        with scope.store.transaction():
            block = self.block(scope, resource)
            left = blocktimes.seconds(block.outputs["endDate"]) - scope.world.clock.now() if block else None
            # Twice "+ 1": a tick comes at its second, not after it.
            if left is not None and left <= blocktimes.DRAIN + 1 and not resource.hidden.get("drained"):
                resource.hidden["drained"] = True  # EKS: "Capacity Scaledown Before Reservation End"
                resource.outputs["scalingConfig"] = {
                    **resource.outputs["scalingConfig"],
                    "desiredSize": 0,
                    "minSize": 0,
                }
            if left is not None and left <= blocktimes.TERMINATE + 1:
                for instance in self.instances(scope, resource):
                    terminate(scope, instance)
            error = self.scale(scope, resource)
            text = [{"code": "AsgInstanceLaunchFailures", "message": _launch_text(resource, error)}] if error else []
            resource.hidden["issues"] = text
            scope.store.put(resource)
        if error is not None and block is None:  # its Auto Scaling group goes on asking
            scope.at(scope.world.clock.now() + ASK_AGAIN, resource)
        self._join(scope, resource)

    def _launches(self, scope: Scope, resource: Resource) -> list[Launch]:
        """What to launch, one entry an instance type in order of preference."""
        content = resource.hidden["content"]
        placement = (content.get("placement") or {}).get("groupName")
        if placement and scope.find(PLACEMENT, placement) is None:
            raise AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{placement}' is unknown.")
        wanted = content.get("capacityReservationSpecification") or {}
        target = wanted.get("capacityReservationTarget") or {}
        market = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}.get(resource.outputs["capacityType"], "on-demand")
        cluster = scope.find(CLUSTER, resource.hidden["cluster"])
        group = cluster.outputs["vpcConfig"]["clusterSecurityGroupId"] if cluster else ""
        blocks = content.get("networkInterfaces") or []
        groups = content.get("vpcSecurityGroupIds") or [g for b in blocks for g in b.get("securityGroups") or []]
        template = resource.outputs.get("launchTemplate") or {}
        return [
            Launch(machine, self.owner(scope, resource), market, target.get("capacityReservationId"), placement,
                   tuple(dict.fromkeys(groups)) or (group,), template.get("version", ""), template.get("id", ""),
                   wanted.get("capacityReservationPreference") or "open")
            for machine in resource.outputs["instanceTypes"] or [content["instanceType"]]
        ]  # fmt: skip

    def push(self, scope: Scope, resource: Resource) -> None:
        """Make the cluster's nodes equal to the group's instances."""
        cluster = scope.find(CLUSTER, resource.hidden["cluster"])
        if cluster is None:
            return
        specs = [node_spec(scope, resource, i, resource.hidden["content"]) for i in self.instances(scope, resource)]
        scope.world.clusters.set_nodes(cluster.hidden["runtime"], resource.outputs["nodeGroupName"], specs)

    # -- update -----------------------------------------------------------------------------------------------------
    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        if resource.outputs.get("status") == "CREATE_FAILED":  # text: aws/containers-roadmap issue 2204
            text = "Nodegroup cannot be updated as it is currently not in Active State"
            raise AwsError("ResourceInUseException", text, 409)
        cluster = active_cluster(scope, inputs["clusterName"])
        check_scaling(scope, inputs["scalingConfig"])
        check_labels(inputs)
        merged = {**resource.outputs, **inputs}
        content = self._content(scope, inputs)
        check_template_content(scope, inputs, content)
        check_machines(scope, {**merged, "instanceTypes": inputs.get("instanceTypes")}, content)
        check_template_groups(scope, content, cluster.outputs["vpcConfig"]["vpcId"])
        check_placement(scope, inputs, content)
        self._check_version(scope, resource, inputs, cluster)

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        content = resource.hidden.get("content")
        self._note_template(scope, resource)
        out = resource.outputs
        if out["version"] != before["version"] and out.get("releaseVersion") == before.get("releaseVersion"):
            out["releaseVersion"] = self._release(scope, out["version"])
        if any(out.get(k) != before.get(k) for k in rolls.WATCHED):
            resource.hidden["roll"] = {"outputs": before, "content": content}

    def seconds(self, scope: Scope, kind: str, resource: Resource, before: dict[str, Any] | None = None) -> float:
        if kind != "update" or before is None:
            return super().seconds(scope, kind, resource, before)
        if resource.hidden.get("roll"):
            return scope.catalog.seconds("node_group_roll")
        out = resource.outputs
        if out["scalingConfig"] != before["scalingConfig"]:
            return scope.catalog.seconds("node_group_scale")
        config = any(out.get(k) != before.get(k) for k in ("labels", "taints", "updateConfig"))
        return scope.catalog.seconds("node_group_config" if config else "default")

    def settle_update(self, scope: Scope, resource: Resource) -> None:
        before = resource.hidden.pop("roll", None)
        if before:
            self._roll(scope, resource, before)
        with scope.store.transaction():
            error = self.scale(scope, resource)
            issues = [("AsgInstanceLaunchFailures", _launch_text(resource, error))] if error else []
            stuck = self._stuck(scope, resource)
            issues += [("NodeCreationFailure", NOT_JOINED)] if stuck else []
            resource.outputs["status"] = "DEGRADED" if issues else "ACTIVE"
            resource.hidden["issues"] = [{"code": c, "message": m} for c, m in issues]
            scope.store.put(resource)
        if not stuck and not self._join(scope, resource):
            raise Later(ASK_AGAIN)

    def _roll(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        """Nodes are replaced one after another, where there is room for those that come first."""
        subnets = [s for i in resource.outputs["subnetIds"] if (s := scope.find(SUBNET, i)) is not None]
        zones = sorted({str(s.outputs["availabilityZone"]) for s in subnets})
        # The provider asks for another version first, and changes the strategy after it.
        count = rolls.first(before["outputs"].get("updateConfig"), len(self.instances(scope, resource)), len(zones))
        if rolls.why_not(scope, self._launches(scope, resource), zones, count) is not None:
            resource.hidden["content"] = before["content"]
            raise rolls.failed(resource, before["outputs"])
        resource.hidden["image"] = scope.identity("ami")
        for instance in self.instances(scope, resource):
            with scope.store.transaction():
                terminate(scope, instance)
            gone = self._join(scope, resource)  # its Node too: the next machine may get the same address, hence name
            with scope.store.transaction():
                error = self.scale(scope, resource)
                scope.store.put(resource)
            if error is not None or not gone or not self._join(scope, resource):
                return  # it stays one short, and the rest as they are

    # -- delete -----------------------------------------------------------------------------------------------------
    def deleted(self, scope: Scope, resource: Resource) -> None:
        cluster = scope.find(CLUSTER, resource.hidden["cluster"])
        if cluster is not None:
            scope.world.clusters.set_nodes(cluster.hidden["runtime"], resource.outputs["nodeGroupName"], [])
        with scope.store.transaction():
            for instance in self.instances(scope, resource):
                terminate(scope, instance)
            actions = scope.all(SCHEDULE, autoscalingGroupName=resource.hidden["asg"])
            for made in [*scope.owned(self.owner(scope, resource)), *actions]:
                scope.store.remove(made)


def _launch_text(resource: Resource, error: AwsError) -> str:
    kind = "Spot" if resource.outputs["capacityType"] == "SPOT" else "On-Demand"
    return f"Could not launch {kind} Instances. {error.code} - {error.message} Launching EC2 instance failed."


__all__ = ["NODE_GROUP", "NodeGroup", "reservation_named"]
