"""When the pools' components refuse an update: only where nothing would be done about a failure."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from accelerator_fleet_components.failed_pools import FailedPool, refuse_empty_update

OLD = {"nodeCount": 2, "labels": {"a": "b"}, "taints": [{"key": "x"}, {"key": "y"}], "__defaults": []}


def update(new: dict[str, Any], outputs: dict[str, Any], old: dict[str, Any] | None = None) -> None:
    refuse_empty_update(
        pulumi.ResourceHookArgs("urn:x", "id", "p", "t", new_inputs=new, old_inputs=old or OLD, old_outputs=outputs)
    )


def test_nothing_would_change() -> None:
    with pytest.raises(FailedPool, match="p: its last create or change failed"):
        update(OLD, {**OLD, "status": "CREATE_FAILED"})
    with pytest.raises(FailedPool):  # sets come back in another order, numbers as text
        update({**OLD, "__defaults": ["z"]}, {"nodeCount": "2", "taints": [{"key": "y"}, {"key": "x"}]})


def test_a_failed_change_that_the_state_claims_to_have() -> None:
    """AWS: planned values in the outputs, old ones in the inputs, and a provider that finds no difference."""
    with pytest.raises(FailedPool):
        update({**OLD, "labels": {"a": "c"}}, {**OLD, "labels": {"a": "c"}})


def test_what_changes_something_goes_on() -> None:
    update({**OLD, "nodeCount": 3}, OLD)
    update({k: v for k, v in OLD.items() if k != "nodeCount"}, OLD)
    update({**OLD, "autoscaling": {"min": 0}}, OLD)
    update({**OLD, "labels": {}}, OLD)
    update({**OLD, "labels": {"a": "b", "c": "d"}}, OLD)
    update(OLD, {**OLD, "nodeCount": 1})  # a failed update whose old values the provider kept: it is repeated


def test_timeouts_by_type() -> None:
    from accelerator_fleet_components.timeouts import timeouts

    small, large = timeouts("aws:eks/nodeGroup:NodeGroup", 2), timeouts("aws:eks/nodeGroup:NodeGroup", 32)
    assert (small.create, small.update, large.update) == ("40m", "60m", "320m")
