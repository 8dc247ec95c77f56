"""Capacity blocks and purchases: what of a plan becomes which resource, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.wiring.recorder import Recorder, build_spec

SPEC = """
fleet: accel
tags: {owner: a, cost-center: b}
sites: [{name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}]
"""
PURCHASE = """
purchases:
  - {name: jan, site: use2, offering: cb-0e3bedded00000424, machine: p5.48xlarge, zone: us-east-2b, nodes: 2,
     starts: "2027-01-04T11:30:00Z", ends: "2027-01-05T11:30:00Z"}
"""
POOL = """
pools:
  - {name: burst, site: use2, chip: h100, cards: 16, zone: us-east-2b, capacity: {mode: capacity-block, %s}}
"""
DATES = 'reservation: cr-0a1b2c3d4e5f60718, starts: "2027-01-04T11:30:00Z", ends: "2027-01-05T11:30:00Z"'
BEFORE, WITHIN = datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 4, 12, tzinfo=UTC)
GROUP, SCHEDULE = "aws:eks/nodeGroup:NodeGroup", "aws:autoscaling/schedule:Schedule"
BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"


def made(text: str, as_of: datetime = BEFORE) -> Recorder:
    return build_spec(SPEC + text, as_of)


def group(recorder: Recorder) -> dict[str, Any]:
    return next(a.inputs for a in recorder.of(GROUP) if a.name == "burst")


def test_a_block_that_has_not_begun_is_raised_by_a_schedule() -> None:
    found = made(POOL % DATES)
    assert group(found)["capacityType"] == "CAPACITY_BLOCK"
    assert group(found)["scalingConfig"] == {"desiredSize": 0, "minSize": 0, "maxSize": 2}
    (schedule,) = found.of(SCHEDULE)
    assert schedule.inputs["startTime"] == "2027-01-04T11:35:00Z"
    assert schedule.inputs["autoscalingGroupName"] == "asg-burst"
    sizes = {k: schedule.inputs[k] for k in ("desiredCapacity", "minSize", "maxSize")}
    assert sizes == {"desiredCapacity": 2, "minSize": -1, "maxSize": -1}, "-1 is left alone; left out would be 0"


def test_within_a_block_nodes_are_asked_for_at_once() -> None:
    """AWS refuses a schedule in the past, and forgets one that has run."""
    found = made(POOL % DATES, WITHIN)
    assert found.of(SCHEDULE) == []
    assert group(found)["scalingConfig"]["desiredSize"] == 2


def test_the_drain_is_left_to_eks() -> None:
    assert len(made(POOL % DATES).of(SCHEDULE)) == 1


def test_a_purchase_is_an_offering_and_nothing_else() -> None:
    found = made(PURCHASE)
    (block,) = found.of(BLOCK)
    assert (block.name, block.inputs["capacityBlockOfferingId"]) == ("jan", "cb-0e3bedded00000424")
    assert set(block.inputs) == {"capacityBlockOfferingId", "instancePlatform", "tags"}
    assert found.protected[BLOCK, "jan"], "also in dev, whose pools are not"


def test_a_pool_buys_nothing_and_draws_on_what_is_bought() -> None:
    assert made(POOL % DATES).of(BLOCK) == []
    found = made(PURCHASE + POOL % "reservation: purchase/jan")
    template = next(a.inputs for a in found.of("aws:ec2/launchTemplate:LaunchTemplate") if a.name == "burst")
    target = template["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "jan-id"}
    assert template["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert len(found.of(BLOCK)) == 1


def test_versions_are_pinned() -> None:
    groups = {a.name: (a.inputs["version"], a.inputs["releaseVersion"]) for a in made(POOL % DATES).of(GROUP)}
    assert groups == {"burst": ("1.36", "1.36.3-20260903"), "accel-dev-use2-system": ("1.36", "1.36.3-20260903")}


@pytest.mark.parametrize("as_of", [BEFORE, WITHIN])
def test_the_day_changes_no_shape(as_of: datetime) -> None:
    found = group(made(POOL % DATES, as_of))
    assert {k: found[k] for k in ("nodeGroupNamePrefix", "subnetIds", "version", "releaseVersion")} == {
        k: group(made(POOL % DATES))[k] for k in ("nodeGroupNamePrefix", "subnetIds", "version", "releaseVersion")
    }
