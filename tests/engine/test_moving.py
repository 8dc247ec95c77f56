"""A pool moves by one word of the spec on its own site: new nodes before old ones go, and its work finds its data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project
from tests.engine.steps import claim, naming, new_before_old, replacement_steps, runs

pytestmark = pytest.mark.engine
ENV = "moving"
# Both h100, and only the first where trn1n is sold too.
SPEC = """extends: base
defaults: {protect: false}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
volumes:
  - {name: shared, site: use2, size: 10TiB}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 16, runtime: pytorch}
  - {name: debug, site: use2, zone: us-east-2a, chip: h100, cards: 8, runtime: pytorch}
"""
POOL_LABEL = "accelerator-fleet.dev/pool"
PLACED = (
    "aws:eks/nodeGroup:NodeGroup",
    "aws:ec2/launchTemplate:LaunchTemplate",
    "aws:ec2/placementGroup:PlacementGroup",
)


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose environment `moving` is up."""
    project = Project(tmp_path_factory.mktemp("moving") / "project")
    project.add(ENV, SPEC)
    try:
        project.fleet("up", "--env", ENV)
        yield project
    finally:
        stop(project)


def nodes(project: Project) -> dict[str, dict[str, str]]:
    """Pool -> its nodes with their machines."""
    found: dict[str, dict[str, str]] = {}
    for node in project.kubectl("use2", "/api/v1/nodes", ENV)["items"]:
        labels = node["metadata"]["labels"]
        machine = labels["node.kubernetes.io/instance-type"]
        found.setdefault(labels[POOL_LABEL], {})[node["metadata"]["name"]] = machine
    return found


def claimed_by(project: Project, job: str) -> list[str]:
    """The claims that a job's pods mount."""
    pod = project.kubectl("use2", f"/apis/batch/v1/namespaces/jobs/jobs/{job}", ENV)["spec"]["template"]["spec"]
    return [v["persistentVolumeClaim"]["claimName"] for v in pod.get("volumes", []) if "persistentVolumeClaim" in v]


def test_a_chip_that_the_pools_zone_has_not_is_refused_and_nothing_is_made(moving: Project) -> None:
    before = moving.pulumi("stack", "export", env=ENV).stdout
    old, new = ("zone: us-east-2a, chip: h100, cards: 8", "zone: us-east-2a, chip: trn1n, cards: 16")
    moving.edit(f"fleets/{ENV}.yaml", old, new)
    refused = moving.pulumi("up", "--yes", env=ENV, ok=False)
    moving.edit(f"fleets/{ENV}.yaml", new, old)
    assert refused.returncode != 0
    text = "pools[1].zone: us-east-2a has no trn1n.32xlarge; zones that have it: us-east-2c"
    assert text in refused.stdout + refused.stderr
    assert moving.pulumi("stack", "export", env=ENV).stdout == before


def test_one_word_moves_a_pool_and_its_work_finds_its_data(moving: Project) -> None:
    claimed, there = claim(moving, ENV), nodes(moving)
    runs(moving, ENV, "pretrain", "train")
    assert claimed_by(moving, "train") == ["shared"]

    moving.edit(f"fleets/{ENV}.yaml", "us-east-2c, chip: h100", "us-east-2c, chip: trn1n")
    steps = replacement_steps(moving, ENV)
    for op in ("create-replacement", "delete-replaced"):
        assert {what for done, what in naming(steps, *PLACED) if done == op} == {f"{k}::pretrain" for k in PLACED}, (
            steps
        )
    assert new_before_old(steps), steps
    assert naming(steps, "shared", "olume", "efs", "debug") == []

    moving.pulumi("up", "--yes", "--skip-preview", env=ENV)
    now = nodes(moving)
    assert list(now["pretrain"].values()) == ["trn1n.32xlarge"]
    assert {k: v for k, v in now.items() if k != "pretrain"} == {k: v for k, v in there.items() if k != "pretrain"}
    moving.fleet("job", "delete", "train", "--env", ENV)
    runs(moving, ENV, "pretrain", "train")
    assert claimed_by(moving, "train") == ["shared"]
    assert claim(moving, ENV) == claimed
    assert claimed["phase"] == "Bound"
    assert moving.preview(ENV) == []
