"""Shared cards on EKS: the device plugin's chart gets the configurations, and nodes the label that chooses one."""

from __future__ import annotations

import yaml

from tests.pure.sites import made
from tests.wiring.recorder import build

RELEASE = "kubernetes:helm.sh/v3:Release"
L4 = {"site": "use2", "chip": "l4", "machine": "g6.xlarge", "cards": 1}


def test_the_plugins_chart_gets_a_configuration_for_each_way_and_one_for_whole_cards() -> None:
    plan = made([{"name": "turns", "sharing": {"time_slicing": 4}, **L4}, {"name": "mps", "sharing": {"mps": 8}, **L4}])
    recorded = build(plan.model_copy(update={"sites": (plan.site("use2"),)}))
    (release,) = [r for r in recorded.of(RELEASE) if r.inputs["name"] == "nvidia-device-plugin"]
    config = release.inputs["values"]["config"]
    assert config["default"] == "whole"
    assert set(config["map"]) == {"whole", "time-slicing-4", "mps-8"}
    assert yaml.safe_load(config["map"]["mps-8"])["sharing"]["mps"]["resources"][0]["replicas"] == 8
    groups = [g.inputs["labels"] for g in recorded.of("aws:eks/nodeGroup:NodeGroup")]
    labels = {found["accelerator-fleet.dev/pool"]: found for found in groups}
    assert labels["turns"]["nvidia.com/device-plugin.config"] == "time-slicing-4"
    assert labels["mps"]["nvidia.com/mps.capable"] == "true"


def test_nothing_is_configured_where_cards_are_whole() -> None:
    plan = made([{"name": "whole", **L4}])
    recorded = build(plan.model_copy(update={"sites": (plan.site("use2"),)}))
    (release,) = [r for r in recorded.of(RELEASE) if r.inputs["name"] == "nvidia-device-plugin"]
    assert "config" not in release.inputs["values"]


def test_quotas_of_queues_count_parts() -> None:
    plan = made([{"name": "turns", "sharing": {"time_slicing": 4}, **L4}])
    recorded = build(plan.model_copy(update={"sites": (plan.site("use2"),)}))
    (queue,) = recorded.of("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue")
    (flavor,) = queue.inputs["spec"]["resourceGroups"][0]["flavors"]
    assert flavor["resources"][0]["nominalQuota"] == "4"
