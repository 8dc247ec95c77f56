"""Scaling a pool: the preview names two counts and nothing else, and a larger gang lands after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.project import Project

pytestmark = pytest.mark.engine

POOL = "{name: pretrain, site: use2, chip: h100, cards: 16, runtime: pytorch}"


@pytest.fixture(scope="module")
def scaled(single: Project) -> Iterator[tuple[Project, list[dict[str, Any]]]]:
    """single with its pool at 32 cards, and the steps that the preview had announced."""
    single.edit("fleets/single.yaml", POOL, POOL.replace("16", "32"))
    steps = single.preview()
    single.pulumi("up", "--yes")
    yield single, steps
    single.edit("fleets/single.yaml", POOL.replace("16", "32"), POOL)
    single.pulumi("up", "--yes")
    nodes = single.kubectl("use2", "/api/v1/nodes?labelSelector=accelerator-fleet.dev%2Fpool%3Dpretrain")["items"]
    assert len(nodes) == 2


def test_the_preview_shows_two_counts_and_nothing_else(scaled: tuple[Project, list[dict[str, Any]]]) -> None:
    _, steps = scaled
    seen = {}
    for step in steps:
        urn = str(step["urn"]).split("::")
        if urn[2].endswith("pulumi:Stack") or ("$" not in urn[2] and urn[2].startswith("accelerator-fleet:")):
            continue  # the stack's own outputs
        detail = step.get("detailedDiff") or {}
        seen[urn[2].split("$")[-1]] = (step["op"], sorted(detail))
    print(seen)
    quota = "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"
    group = sorted(f"scalingConfig.{key}" for key in ("desiredSize", "maxSize", "minSize"))
    assert seen == {
        "aws:eks/nodeGroup:NodeGroup": ("update", group),
        "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue": ("update", [quota]),
    }


def test_a_gang_of_32_cards_lands_on_four_nodes(scaled: tuple[Project, list[dict[str, Any]]]) -> None:
    project, _ = scaled
    nodes = project.kubectl("use2", "/api/v1/nodes?labelSelector=accelerator-fleet.dev%2Fpool%3Dpretrain")["items"]
    assert len(nodes) == 4
    assert [n["status"]["allocatable"]["nvidia.com/gpu"] for n in nodes] == ["8"] * 4
    done = project.fleet("job", "submit", "pytorch", "--pool", "pretrain", "--name", "gang32", "--env", "single")
    print(done.stdout)
    try:
        pods = project.kubectl("use2", "/api/v1/namespaces/jobs/pods?labelSelector=job-name%3Dgang32")["items"]
        assert len({p["spec"]["nodeName"] for p in pods}) == 4
        assert {p["status"]["phase"] for p in pods} == {"Running"}
        workloads = project.kubectl("use2", "/apis/kueue.x-k8s.io/v1beta2/namespaces/jobs/workloads")["items"]
        admitted = {c["type"]: c["status"] for c in workloads[0]["status"]["conditions"]}
        assert admitted["Admitted"] == "True"
        assert "kwok" in done.stdout
        listed = project.fleet("job", "list", "--env", "single").stdout
        assert "running" in listed
        assert "kwok" in project.fleet("job", "logs", "gang32", "--env", "single").stdout
    finally:
        project.fleet("job", "delete", "gang32", "--env", "single")
    assert "no jobs" in project.fleet("job", "list", "--env", "single").stdout
