"""Scheduled actions of Auto Scaling groups: one-time ones, which act at their time and are gone then.

Refusals: hashicorp/terraform-provider-aws issue 8646 (times in the past are rejected, actions that have run are
deleted), pulumi/pulumi-aws issue 2473 (its text), docs.aws.amazon.com/autoscaling/ec2/userguide/
ec2-auto-scaling-scheduled-scaling.html (a start time is unique within a group).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, cast

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..blocktimes import DRAIN, seconds
from ..errors import AwsError
from ..scope import Scope
from .nodegroups import AUTOSCALING, NODE_GROUP, SCHEDULE, NodeGroup

SIZES: Final = {"minSize": "minSize", "maxSize": "maxSize", "desiredCapacity": "desiredSize"}
UNCHANGED: Final = -1  # what the provider takes for "do not send it"


DRAIN_NAME: Final = "Amazon EKS Node Group Capacity Scaledown Before Reservation End"


def drain(scope: Scope, group: Resource) -> dict[str, Any] | None:
    """The action that EKS itself sets on a group of a capacity block, while it is to come."""
    block = NodeGroup.block(scope, group)
    if block is None or group.hidden.get("drained") or group.state == "deleting":
        return None
    when = datetime.fromtimestamp(seconds(block.outputs["endDate"]) - DRAIN, UTC)
    name, sizes = group.hidden["asg"], {"MinSize": 0, "DesiredCapacity": 0}
    rest = f"scheduledUpdateGroupAction:*:autoScalingGroupName/{name}:scheduledActionName/{DRAIN_NAME}"
    return {
        "AutoScalingGroupName": name, "ScheduledActionName": DRAIN_NAME, "StartTime": when, "Time": when,
        "ScheduledActionARN": scope.arn("autoscaling", rest), **sizes,
    }  # fmt: skip


def invalid(message: str) -> AwsError:
    return AwsError("ValidationError", message)


class Schedule(Behaviour):
    """A one-time action of a node group's Auto Scaling group."""

    groups: NodeGroup | None = None  # the behaviour of node groups, whose machines an action starts and ends

    def _check(self, scope: Scope, inputs: dict[str, Any], own: str) -> None:
        name = inputs["autoscalingGroupName"]
        if scope.find(AUTOSCALING, name) is None:
            raise invalid(f"Group {name} not found")
        for field in ("recurrence", "endTime", "timeZone"):
            if inputs.get(field):
                raise AwsError("UnsupportedOperation", f"{field}: recurring actions are not simulated")
        if not inputs.get("startTime"):
            raise invalid("You must specify at least one of the following: StartTime, Recurrence")
        if seconds(inputs["startTime"]) <= scope.world.clock.now():
            raise invalid("Given start time is in the past")
        sizes = {f: int(inputs.get(f) or 0) for f in SIZES}  # left out, the provider sends 0
        sizes = {f: v for f, v in sizes.items() if v != UNCHANGED}
        if not sizes:
            raise invalid("You must specify at least one of the following: MinSize, MaxSize, DesiredCapacity")
        low, high = sizes.get("minSize", 0), sizes.get("maxSize")
        if high is not None and not low <= sizes.get("desiredCapacity", low) <= high:
            raise invalid(f"Desired capacity {sizes.get('desiredCapacity')} lies outside of {low} to {high}")
        self._check_others(scope, inputs, own)

    @staticmethod
    def _check_others(scope: Scope, inputs: dict[str, Any], own: str) -> None:
        times = [
            d["StartTime"].timestamp()
            for g in scope.all(NODE_GROUP)
            if g.hidden.get("asg") == inputs["autoscalingGroupName"] and (d := drain(scope, g)) is not None
        ]
        if seconds(inputs["startTime"]) in times:
            raise AwsError("AlreadyExists", f"A scheduled action with start time {inputs['startTime']} already exists")
        for other in scope.all(SCHEDULE):
            same_group = other.outputs["autoscalingGroupName"] == inputs["autoscalingGroupName"]
            if other.id == own and not same_group:
                raise AwsError("UnsupportedOperation", f"two groups with an action {own} are not simulated")
            if same_group and other.id != own and other.outputs["startTime"] == inputs["startTime"]:
                raise AwsError(
                    "AlreadyExists", f"A scheduled action with start time {inputs['startTime']} already exists"
                )

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        self._check(scope, inputs, inputs["scheduledActionName"])

    def complete(self, scope: Scope, resource: Resource) -> None:
        out = resource.outputs
        out |= {field: int(resource.inputs.get(field) or 0) for field in SIZES}
        group, name = out["autoscalingGroupName"], resource.id
        rest = f"scheduledUpdateGroupAction:{scope.uuid()}:autoScalingGroupName/{group}:scheduledActionName/{name}"
        out["arn"] = scope.arn("autoscaling", rest)
        scope.at(seconds(out["startTime"]), resource)

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        self._check(scope, {**resource.outputs, **inputs}, resource.id)

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        scope.at(seconds(resource.outputs["startTime"]), resource)

    def tick(self, scope: Scope, resource: Resource) -> None:
        """The action's time has come: it acts, and is no more."""
        if scope.world.clock.now() < seconds(resource.outputs["startTime"]):
            return  # it was moved; another tick comes
        scope.store.remove(resource)
        group = next(
            (g for g in scope.all(NODE_GROUP) if g.hidden.get("asg") == resource.outputs["autoscalingGroupName"]), None
        )
        if group is None:
            return
        size = dict(group.outputs["scalingConfig"])
        for field, name in SIZES.items():
            if int(resource.outputs[field]) != UNCHANGED:
                size[name] = int(resource.outputs[field])
        group.outputs["scalingConfig"] = size
        scope.store.put(group)
        cast("NodeGroup", self.groups).tick(scope, group)
