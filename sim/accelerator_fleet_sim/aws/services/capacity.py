"""Placement groups and capacity reservations."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..launch import INSTANCE, Launch, refusal
from ..scope import Scope
from .templates import PLACEMENT


class CapacityReservation(Behaviour):
    """An on-demand reservation: takes stock and quota when it is made."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        machine, zone, count = inputs["instanceType"], inputs["availabilityZone"], int(inputs["instanceCount"])
        if machine not in scope.catalog.machines:
            raise AwsError("InvalidParameterValue", f"Value ({machine}) for parameter instanceType is invalid.")
        if zone not in scope.catalog.zones(scope.region):
            raise AwsError("InvalidParameterValue", f"Invalid availability zone: [{zone}]")
        if count < 1:
            raise AwsError("InvalidParameterValue", f"Invalid value for instanceCount: {count}")
        self._check_end(scope, inputs)
        group = inputs.get("placementGroupArn")
        if group and all(g.outputs.get("arn") != group for g in scope.all(PLACEMENT)):
            raise AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{group}' is unknown.")
        able, error = refusal(scope, Launch(machine, "reservation"), zone, count)
        if able < count and error is not None:
            raise error

    @staticmethod
    def _check_end(scope: Scope, inputs: dict[str, Any]) -> None:
        """An end belongs to EndDateType limited and to nothing else (botocore ec2 CreateCapacityReservation)."""
        end, limited = inputs.get("endDate"), inputs.get("endDateType") == "limited"
        if limited and not end:
            raise AwsError("InvalidParameterValue", "EndDate is required when EndDateType is limited")
        if end and not limited:
            raise AwsError("InvalidParameterValue", "EndDate must be omitted when EndDateType is unlimited")
        if end and datetime.fromisoformat(str(end)).timestamp() <= scope.world.clock.now():
            raise AwsError("InvalidParameterValue", f"EndDate {end} is not in the future")

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        more = int(inputs["instanceCount"]) - int(resource.outputs["instanceCount"])
        if more > 0:
            launch = Launch(resource.outputs["instanceType"], "reservation")
            able, error = refusal(scope, launch, resource.outputs["availabilityZone"], more)
            if able < more and error is not None:
                raise error
        used = sum(1 for i in scope.all(INSTANCE) if i.hidden.get("reservation") == resource.id)
        if int(inputs["instanceCount"]) < used:
            raise AwsError("InvalidParameterValue", f"{used} instances run in capacity reservation {resource.id}; it "
                           f"cannot become smaller ({inputs['instanceCount']})")  # fmt: skip


class PlacementGroup(Behaviour):
    """Machines close together, in partitions or apart."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        if int(inputs.get("partitionCount") or 0) > 7:  # "Valid only when Strategy is partition": at most 7 in a zone
            raise AwsError("InvalidParameterValue", f"Invalid partition count {inputs['partitionCount']}: at most 7")
