"""Capacity blocks: what is offered, and what is bought, once.

Codes: docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html (InvalidCapacityBlockOfferingId…).
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...daemon.store import Resource
from ..behaviour import Behaviour
from ..errors import AwsError
from ..launch import BLOCK
from ..scope import Scope

HALF_HOUR: Final = 1800.0
GONE: Final = ("InvalidCapacityBlockOfferingIdExpired", "The Capacity Block offering ID is no longer available.")


def offerings(scope: Scope) -> dict[str, dict[str, Any]]:
    """Everything that was ever offered, with `start` and `end`; bought or past ones too."""
    born = scope.store.meta("born") or scope.world.clock.now()  # None: of a datacentre before there were offerings
    found = {}
    for identity, row in scope.catalog.account["capacity_block_offerings"].items():
        if identity.startswith("_") or row["region"] != scope.region:
            continue
        start = (float(born) + 3600 * row["starts_in"]) // HALF_HOUR * HALF_HOUR
        found[identity] = {**row, "start": start, "end": start + 3600 * row["hours"]}
    return found


def available(scope: Scope) -> dict[str, dict[str, Any]]:
    """What can be bought now: not bought, and not begun."""
    bought = {r.inputs["capacityBlockOfferingId"] for r in scope.all(BLOCK)}
    now = scope.world.clock.now()
    return {i: o for i, o in offerings(scope).items() if i not in bought and o["start"] > now}


class CapacityBlockReservation(Behaviour):
    """A purchase: an offering goes once, and deleting the resource does not give it back."""

    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        wanted = inputs["capacityBlockOfferingId"]
        if not re.fullmatch(r"cb-[0-9a-f]{17}", wanted):
            raise AwsError("InvalidCapacityBlockOfferingIdMalformed", "The Capacity Block offering ID is malformed.")
        if wanted not in offerings(scope):
            raise AwsError("InvalidCapacityBlockOfferingIdNotFound", "The Capacity Block offering ID cannot be found.")
        if wanted not in available(scope):
            raise AwsError(*GONE)

    def complete(self, scope: Scope, resource: Resource) -> None:
        offer = offerings(scope)[resource.inputs["capacityBlockOfferingId"]]
        resource.outputs |= {
            "instanceType": offer["instanceType"], "availabilityZone": offer["zone"], "instanceCount": offer["count"],
            "createdDate": scope.iso(), "startDate": scope.iso(offer["start"]), "endDate": scope.iso(offer["end"]),
        }  # fmt: skip
