"""Capacity blocks as AWS has them: offered, bought once, nobody's before their start and after their end."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.sim.account import Account
from tests.sim.groups import Net, nodes, refused, template

OFFER, OTHER = "cb-0e3bedded00000424", "cb-0e3bedded00000425"
PAST, TRAINIUM = "cb-0e3bedded00000426", "cb-0e3bedded00000427"


def buy(account: Account, offering: str = OFFER) -> dict[str, Any]:
    return account.create("CapacityBlockReservation", capacityBlockOfferingId=offering, instancePlatform="Linux/UNIX")


def after(text: str, **more: float) -> str:
    return (datetime.fromisoformat(text) + timedelta(**more)).strftime("%Y-%m-%dT%H:%M:%SZ")


def group(account: Account, net: Net, block: str, count: int = 0, **more: Any) -> dict[str, Any]:
    wanted = template(
        account, instanceType="p5.48xlarge", instanceMarketOptions={"marketType": "capacity-block"},
        capacityReservationSpecification={"capacityReservationTarget": {"capacityReservationId": block}},
    )  # fmt: skip
    base = {"amiType": "AL2023_x86_64_NVIDIA", "capacityType": "CAPACITY_BLOCK"}
    return account.node_group(net, "b", nodes=count, **wanted, **base, **more)


def raised(account: Account, made: dict[str, Any], at: str, desired: int = 4, name: str = "start", **more: Any) -> Any:
    asg = made["resources"][0]["autoscalingGroups"][0]["name"]
    sizes = {"desiredCapacity": desired, "minSize": -1, "maxSize": -1, **more}
    return account.create("Schedule", autoscalingGroupName=asg, scheduledActionName=name, startTime=at, **sizes)


def issue(account: Account, identity: str) -> str:
    groups = account.store.resources(type="aws:eks/nodeGroup:NodeGroup")
    return next(str(g.hidden["issues"][0]["message"]) for g in groups if g.id == identity)


# --- purchases -----------------------------------------------------------------------------------------------------


def test_a_block_is_scheduled_when_it_is_bought(account: Account) -> None:
    made = buy(account)
    assert (made["instanceType"], made["instanceCount"], made["availabilityZone"]) == ("p5.48xlarge", 4, "us-east-2b")
    assert made["startDate"] > account.scope().iso()
    assert made["endDate"] == after(made["startDate"], hours=24)
    assert made["reservationType"] == "capacity-block"


@pytest.mark.parametrize(
    ("offering", "code", "text"),
    [
        ("cb-0", "InvalidCapacityBlockOfferingIdMalformed", "The Capacity Block offering ID is malformed"),
        ("cb-0e3bedded00000999", "InvalidCapacityBlockOfferingIdNotFound", "cannot be found"),
        (PAST, "InvalidCapacityBlockOfferingIdExpired", "is no longer available"),
    ],
)
def test_what_cannot_be_bought(account: Account, offering: str, code: str, text: str) -> None:
    with refused(code, text):
        buy(account, offering)


def test_an_offering_is_sold_once(account: Account) -> None:
    buy(account)
    with refused("InvalidCapacityBlockOfferingIdExpired"):
        buy(account)
    buy(account, OTHER)


def test_an_offering_is_gone_at_its_start(account: Account) -> None:
    account.pass_time(after(account.scope().iso(), hours=49))
    with refused("InvalidCapacityBlockOfferingIdExpired"):
        buy(account)


def test_a_delete_gives_nothing_back(account: Account) -> None:
    made = buy(account)
    account.delete("CapacityBlockReservation", made["id"])
    assert account.read("CapacityBlockReservation", made["id"]) is not None
    with refused("InvalidCapacityBlockOfferingIdExpired"):
        buy(account)


# --- nodes ---------------------------------------------------------------------------------------------------------


def test_nodes_come_at_the_scheduled_time_and_go_before_the_end(account: Account, net: Net) -> None:
    account.cluster(net)
    block = buy(account)
    made = group(account, net, block["id"])
    raised(account, made, after(block["startDate"], minutes=5))
    account.pass_time(after(block["startDate"], minutes=4))
    assert nodes(account) == []
    account.pass_time(after(block["startDate"], minutes=6))
    assert len(nodes(account)) == 4
    assert account.read("NodeGroup", "c:g")["scalingConfig"]["desiredSize"] == 4  # type: ignore[index]
    account.pass_time(after(block["endDate"], minutes=-41))
    assert len(nodes(account)) == 4
    account.pass_time(after(block["endDate"], minutes=-39))
    assert nodes(account) == [], "EKS' own action"
    assert account.read("NodeGroup", "c:g")["scalingConfig"]["desiredSize"] == 0  # type: ignore[index]


def test_an_action_is_gone_once_it_has_run(account: Account, net: Net) -> None:
    account.cluster(net)
    block = buy(account)
    raised(account, group(account, net, block["id"]), after(block["startDate"], minutes=5))
    assert account.read("Schedule", "start") is not None
    account.pass_time(after(block["startDate"], minutes=6))
    assert account.read("Schedule", "start") is None


def test_whoever_asks_early_waits_and_the_group_is_made(account: Account, net: Net) -> None:
    """EKS honours a desired size; the Auto Scaling group fails to launch until the block is active."""
    account.cluster(net)
    block = buy(account)
    assert group(account, net, block["id"], 2)["status"] == "ACTIVE"
    assert nodes(account) == []
    account.pass_time(after(block["startDate"], seconds=1))
    assert len(nodes(account)) == 2


def test_asking_early_by_a_schedule_fails_until_the_start(account: Account, net: Net) -> None:
    account.cluster(net)
    block = buy(account)
    raised(account, group(account, net, block["id"]), after(block["startDate"], hours=-1))
    account.pass_time(after(block["startDate"], minutes=-30))
    assert nodes(account) == []
    assert "ReservationCapacityExceeded" in issue(account, "c:g")


def test_what_runs_at_the_end_is_ended(account: Account, net: Net) -> None:
    """Somebody raised the group again after the drain: EC2 ends the machines 30 minutes before the block's end."""
    account.cluster(net)
    block = buy(account)
    made = group(account, net, block["id"])
    raised(account, made, after(block["endDate"], minutes=-35), 2)
    account.pass_time(after(block["endDate"], minutes=-34))
    assert len(nodes(account)) == 2
    account.pass_time(after(block["endDate"], minutes=-29))
    assert nodes(account) == []


def test_a_block_of_another_machine_or_zone_and_of_too_few(account: Account, net: Net) -> None:
    account.cluster(net)
    block = buy(account, TRAINIUM)
    made = group(account, net, block["id"])
    raised(account, made, after(block["startDate"], minutes=5))
    small = buy(account, OTHER)
    more = group(account, net, small["id"], nodeGroupName="h")
    raised(account, more, after(small["startDate"], minutes=5), 3, "more")
    account.pass_time(after(block["startDate"], minutes=6))
    assert "does not match capacity reservation" in issue(account, "c:g")
    account.pass_time(after(small["startDate"], minutes=6))
    assert "does not have sufficient compatible" in issue(account, "c:h")
    assert len(nodes(account, "h")) == 2


# --- schedules -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"at": "2020-01-01T00:00:00Z"}, "Given start time is in the past"),
        ({"desired": -1}, "at least one of the following: MinSize"),
        ({"maxSize": 0}, "lies outside of 0 to 0"),  # what the provider sends where it is left out
        ({"recurrence": "0 0 * * *"}, "recurring actions are not simulated"),
    ],
)
def test_schedules_that_are_refused(account: Account, net: Net, more: dict[str, Any], text: str) -> None:
    account.cluster(net)
    block = buy(account)
    made = group(account, net, block["id"])
    with refused("", text):
        raised(account, made, **{"at": after(block["startDate"], minutes=5), **more})


def test_two_actions_of_a_group_never_start_at_once(account: Account, net: Net) -> None:
    account.cluster(net)
    block = buy(account)
    made = group(account, net, block["id"])
    raised(account, made, block["startDate"])
    with refused("AlreadyExists"):
        raised(account, made, block["startDate"], name="again")
    with refused("AlreadyExists"):  # EKS has one there already: a drain of one's own is refused
        raised(account, made, after(block["endDate"], minutes=-40), 0, "drain")


def test_a_group_that_is_not_there(account: Account) -> None:
    with refused("ValidationError", "not found"):
        account.create("Schedule", autoscalingGroupName="x", scheduledActionName="y", startTime="2099-01-01T00:00:00Z")
