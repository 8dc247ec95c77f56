"""Another version of a node group: with nodes to start with, or without; and what is left where there is no room."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.aws.services import rolls
from tests.sim.account import Account
from tests.sim.groups import Net, refused

P4D: dict[str, Any] = {"instanceTypes": ["p4d.24xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}
OLD, NEW = "1.36.2-20260714", "1.36.3-20260903"
FULL = 8  # what us-east-2a has of it


def ids(account: Account) -> set[str]:
    return {i.id for i in account.store.resources(type="aws:ec2/instance:Instance")}


def group(account: Account, net: Net, nodes: int, strategy: str | None) -> dict[str, Any]:
    """A group on the older release; what an update says again."""
    account.cluster(net)
    config = {"maxUnavailable": 1, **({"updateStrategy": strategy} if strategy else {})}
    made = account.node_group(net, nodes=nodes, updateConfig=config, releaseVersion=OLD, **P4D)
    kept = ("clusterName", "nodeGroupName", "nodeRoleArn", "subnetIds", "scalingConfig", "updateConfig", *P4D)
    return {k: made[k] for k in kept}


@pytest.mark.parametrize("strategy", [None, "DEFAULT"])
def test_nodes_that_come_first_need_room(account: Account, net: Net, strategy: str | None) -> None:
    said = group(account, net, FULL - 1, strategy)
    before = ids(account)
    with refused(r"version update \(", "'Failed', wanted target 'Successful'.*NodeCreationFailure: .*not joining"):
        # The version comes first: another strategy would count for the next time, and nothing after it is asked for.
        again = {**said, "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}, "labels": {"a": "b"}}
        account.update("NodeGroup", "c:g", **again, releaseVersion=NEW)
    left = account.read("NodeGroup", "c:g")
    assert left is not None
    assert (left["releaseVersion"], left["status"]) == (OLD, "ACTIVE")
    assert left["updateConfig"] == said["updateConfig"]
    assert not left.get("labels")
    assert ids(account) == before


def test_there_is_room(account: Account, net: Net) -> None:
    said = group(account, net, FULL - rolls.A_ZONE, None)
    before = ids(account)
    assert account.update("NodeGroup", "c:g", **said, releaseVersion=NEW)["releaseVersion"] == NEW
    assert not ids(account) & before
    assert len(ids(account)) == len(before)


def test_old_nodes_go_first(account: Account, net: Net) -> None:
    """A full zone, or a full reservation, is rolled all the same."""
    said = group(account, net, FULL, "MINIMAL")
    before = ids(account)
    assert account.update("NodeGroup", "c:g", **said, releaseVersion=NEW)["releaseVersion"] == NEW
    assert not ids(account) & before
    assert len(ids(account)) == FULL


@pytest.mark.parametrize(
    ("config", "nodes", "zones", "each"),
    [
        (None, 4, 1, 2),
        ({"maxUnavailable": 5}, 8, 1, 5),
        ({"maxUnavailable": 1}, 8, 3, 2),
        ({"maxUnavailablePercentage": 50}, 20, 3, 4),
        ({"maxUnavailable": 5, "updateStrategy": "MINIMAL"}, 8, 1, 0),
        ({"maxUnavailable": 5}, 0, 1, 0),
    ],
)
def test_how_many_come_first(config: dict[str, Any] | None, nodes: int, zones: int, each: int) -> None:
    """The larger of two a zone and what may be unavailable, by the guide."""
    assert rolls.first(config, nodes, zones) == each
