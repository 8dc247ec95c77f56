"""Teams in a cluster: a queue each in one cohort, three priorities, fair sharing; nothing of it without teams."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from accelerator_fleet import catalog
from accelerator_fleet_engine import recipes
from tests.wiring.recorder import Recorder, build_spec

KUEUE = "kubernetes:kueue.x-k8s.io/v1beta2"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
TEXT = """
fleet: accel
tags: {owner: ml-platform, cost-center: research}
sites:
  - {name: use2, kind: eks, account: "111122223333", region: us-east-2, cidr: 10.16.0.0/16}
pools:
  - {name: spot, site: use2, zone: us-east-2c, chip: h100, cards: 64, capacity: {mode: spot}}
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 128}
"""
TEAMS = """
teams:
  - {name: nlp, quotas: {pretrain: 64}, borrow: {pretrain: 32}, weight: 2}
  - {name: vision, quotas: {h100: 96}}
"""


@pytest.fixture(scope="module")
def shared() -> Recorder:
    return build_spec(TEXT + TEAMS, NOW)


def specs(made: Recorder, kind: str) -> dict[str, Any]:
    return {m.inputs["metadata"]["name"]: m.inputs.get("spec") for m in made.of(f"{KUEUE}:{kind}")}


def quotas(queue: dict[str, Any]) -> dict[str, dict[str, str]]:
    (group,) = queue["resourceGroups"]
    return {f["name"]: {k: v for k, v in f["resources"][0].items() if k != "name"} for f in group["flavors"]}


def config(made: Recorder) -> dict[str, Any]:
    (release,) = [r for r in made.of("kubernetes:helm.sh/v3:Release") if r.name.endswith("-kueue")]
    text = release.inputs["values"]["managerConfig"]["controllerManagerConfigYaml"]
    return dict(yaml.safe_load(text))


def test_every_team_has_its_cards_and_the_rest_is_the_sites(shared: Recorder) -> None:
    queues = specs(shared, "ClusterQueue")
    assert quotas(queues["nlp"]) == {
        "pretrain": {"nominalQuota": "64", "borrowingLimit": "32"},
        "spot": {"nominalQuota": "0"},
    }
    assert quotas(queues["vision"]) == {"pretrain": {"nominalQuota": "64"}, "spot": {"nominalQuota": "32"}}
    assert quotas(queues["fleet"]) == {"pretrain": {"nominalQuota": "0"}, "spot": {"nominalQuota": "32"}}
    assert {q["cohortName"] for q in queues.values()} == {"fleet"}
    assert {q["preemption"]["reclaimWithinCohort"] for q in queues.values()} == {"Any"}
    assert queues["nlp"]["fairSharing"] == {"weight": "2"}


def test_pools_keep_their_local_queues_and_teams_get_their_own(shared: Recorder) -> None:
    local = {name: spec["clusterQueue"] for name, spec in specs(shared, "LocalQueue").items()}
    assert local == {"pretrain": "fleet", "spot": "fleet", "nlp": "nlp", "vision": "vision"}
    assert list(specs(shared, "Cohort")) == ["fleet"]
    assert set(specs(shared, "WorkloadPriorityClass")) == {"low", "normal", "high"}


def test_kueue_knows_of_gangs_and_shares_fairly(shared: Recorder) -> None:
    said = config(shared)
    assert said["integrations"]["frameworks"] == ["batch/job", "jobset.x-k8s.io/jobset"]
    assert said["fairSharing"]["preemptionStrategies"] == ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]
    assert any(r.name.endswith("-jobset") for r in shared.of("kubernetes:helm.sh/v3:Release"))


def test_jobset_is_built_in_the_version_that_the_catalogue_names() -> None:
    recipe = recipes.load().modules["jobset"]
    assert catalog.load().addons.entries["jobset"].version == recipe.version


def test_without_teams_nothing_of_it_is_made() -> None:
    alone = build_spec(TEXT, NOW)
    for kind in ("Cohort", "WorkloadPriorityClass"):
        assert specs(alone, kind) == {}
    (queue,) = specs(alone, "ClusterQueue").values()
    assert set(queue) == {"namespaceSelector", "preemption", "resourceGroups"}
    assert queue["preemption"] == {"withinClusterQueue": "LowerPriority"}
    assert config(alone)["integrations"] == {"frameworks": ["batch/job"]}
    assert "fairSharing" not in config(alone)
