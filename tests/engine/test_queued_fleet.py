"""A fleet whose TPU pool is a queued resource beside a GKE cluster: up, its table, what is refused, and the move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]
POOL = "{name: tpu, site: usc1, chip: tpu-v5e, topology: 4x4, capacity: {mode: queued-resource, wait: active}}"
SPEC = f"""fleet: accel
tags: {{owner: ml, cost-center: "1"}}
defaults: {{protect: false}}
sites:
  - {{name: usc1, kind: gke, project: embedded-tpus, region: us-central1, cidr: 10.20.0.0/14}}
pools:
  - {POOL}
"""
KIND = "accelerator-fleet-native:index:QueuedResource"


@pytest.fixture(scope="module")
def tpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The fleet, up."""
    project = Project(tmp_path_factory.mktemp("tpus") / "project")
    project.add("tpus", SPEC)
    try:
        said = project.fleet("up", "--env", "tpus").stdout
        assert "warning" not in said
        assert "none: queued resource ACTIVE" in said
        assert "fleet job submit" not in said
        yield project
    finally:
        stop(project)


def test_the_table_and_jobs_say_that_it_is_beside_the_cluster(tpus: Project) -> None:
    (row,) = [x for x in tpus.fleet("status", "--env", "tpus").stdout.splitlines() if x.startswith("tpu ")]
    assert row.split()[4:] == ["v5litepod-16", "4/4", "16/16", "-", "none:", "queued", "resource", "ACTIVE"]
    refused = tpus.fleet("job", "submit", "hello", "--pool", "tpu", "--env", "tpus", ok=False)
    assert refused.returncode == 2
    assert "--pool: tpu is a Cloud TPU queued resource beside the cluster: it has no queue" in refused.stderr
    assert tpus.preview("tpus") == []


def test_a_direct_edit_of_the_mode_is_refused_and_the_move_is_two_steps(tpus: Project) -> None:
    nodes = POOL.replace("capacity: {mode: queued-resource, wait: active}", "capacity: {mode: on-demand}")
    tpus.edit("fleets/tpus.yaml", POOL, nodes)
    refused = tpus.pulumi("preview", env="tpus", ok=False)
    assert refused.returncode != 0
    text = "tpu is up as a Cloud TPU queued resource and does not become nodes of the cluster in place"
    assert text in refused.stdout + refused.stderr
    tpus.edit("fleets/tpus.yaml", nodes, POOL)
    said = tpus.fleet("move", "tpu", "--to", "usc1", "--mode", "on-demand", "--env", "tpus").stdout
    added = next(line.strip().removeprefix("+ ") for line in said.splitlines() if line.strip().startswith("+ -"))
    tpus.edit("fleets/tpus.yaml", f"  - {POOL}\n", f"  - {POOL}\n  {added}\n")
    steps = {(s["op"], s["urn"].split("::")[2].rpartition("$")[2]) for s in tpus.preview("tpus")}
    assert ("create", "gcp:container/nodePool:NodePool") in steps
    assert not {op for op, kind in steps if kind == KIND or op in ("delete", "replace")}
    tpus.edit("fleets/tpus.yaml", f"  - {POOL}\n  {added}\n", f"  {added}\n")
    steps = {(s["op"], s["urn"].split("::")[2].rpartition("$")[2]) for s in tpus.preview("tpus")}
    assert ("delete", KIND) in steps
    tpus.edit("fleets/tpus.yaml", f"  {added}\n", f"  - {POOL}\n")


def test_another_shape_comes_before_the_old_one_goes(tpus: Project) -> None:
    tpus.edit("fleets/tpus.yaml", "topology: 4x4", "topology: 2x4")
    tpus.pulumi("up", "--yes", "--skip-preview", env="tpus")
    (row,) = [x for x in tpus.fleet("status", "--env", "tpus").stdout.splitlines() if x.startswith("tpu ")]
    assert row.split()[4:7] == ["v5litepod-8", "1/1", "8/8"]
    down = tpus.fleet("down", "--env", "tpus").stdout
    assert "datacentre: stopped" in down
