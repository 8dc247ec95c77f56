"""Every capacity mode of Google Cloud once, through the engine: pools on one cluster, some of which jobs fill."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from accelerator_fleet_sim.client import Client
from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENV, ZONE, PROJECT = "capacity", "us-east5-a", "embedded-research"
BLOCK = f"projects/{PROJECT}/reservations/train-h200/reservationBlocks/train-h200-block-0001"
SHARED = "projects/embedded-owner/reservations/pooled-h200"
H200 = "site: use5, zone: us-east5-a, chip: h200, cards: 8"
TPU = "site: use5, chip: tpu-v6e, runtime: jax"
DATES = 'starts: "2027-01-04T08:00:00Z", ends: "2027-01-18T08:00:00Z"'
SPEC = f"""extends: base
defaults: {{protect: false}}
sites:
  - {{name: use5, kind: gke, project: {PROJECT}, region: us-east5, cidr: 10.20.0.0/14}}
pools:
  - {{name: plain, {TPU}, topology: 1x1}}
  - {{name: spot, {TPU}, topology: 2x2, capacity: {{mode: spot}}}}
  - {{name: own, {H200}, capacity: {{mode: reserved, reservation: train-h200}}}}
  - {{name: shared, {H200}, capacity: {{mode: reserved, reservation: {SHARED}}}}}
  - {{name: block, {H200}, capacity: {{mode: reserved, reservation: {BLOCK}}}}}
  - {{name: placed, {H200}, capacity: {{mode: reserved, reservation: train-h200, placement_group: near}}}}
  - {{name: flex, site: use5, chip: h200, cards: 16, capacity: {{mode: flex-start, max_run: 6h}}}}
  - {{name: queued, {TPU}, topology: 4x4, capacity: {{mode: queued-provisioning, max_run: 6h}}}}
  - {{name: dated, {H200}, capacity: {{mode: calendar, reservation: exam, {DATES}}}}}
"""
POLICY = {
    "type": "gcp:compute/resourcePolicy:ResourcePolicy",
    "project": PROJECT,
    "region": "us-east5",
    "inputs": {"name": "near", "project": PROJECT, "region": "us-east5",
               "groupPlacementPolicy": {"collocation": "COLLOCATED"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("capacity") / "project")
    project.add(ENV, SPEC)
    try:
        project.fleet("sim", "start")
        # The policy that somebody made with the reservation.
        Client(project.folder / ".fleet" / "sim").post("/gcp/create", POLICY)
        project.fleet("up", "--env", ENV)
        yield project
    finally:
        stop(project)


def ready(project: Project) -> dict[str, int]:
    """Pool -> nodes that are ready."""
    found = json.loads(project.fleet("status", "--env", ENV, "--json").stdout)["pools"]
    return {p["pool"]: p["nodesReady"] for p in found}


def until(what: Callable[[], Any], seconds: float = 120) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(1)
    raise AssertionError(f"not within {seconds} s")


def submit(project: Project, pool: str) -> None:
    project.fleet(
        "job", "submit", "hello", "--env", ENV, "--pool", pool, "--name", f"on-{pool}", "--wait", "1", ok=False
    )


def test_every_mode_comes_up_and_those_that_jobs_fill_have_no_node(site: Project) -> None:
    counts = ready(site)
    assert counts == {
        "plain": 1, "spot": 1, "own": 1, "shared": 1, "block": 1, "placed": 1, "flex": 0, "queued": 0, "dated": 0
    }  # fmt: skip
    assert site.preview(ENV) == []


def test_a_job_brings_flex_start_nodes(site: Project) -> None:
    submit(site, "flex")
    until(lambda: ready(site)["flex"] == 2)
    assert site.preview(ENV) == []  # the count is the autoscaler's


def test_a_job_waits_in_googles_queue_until_its_slice_is_there(site: Project) -> None:
    submit(site, "queued")
    until(lambda: ready(site)["queued"] == 4)


def test_a_calendar_pool_has_nodes_while_its_reservation_lasts(site: Project) -> None:
    submit(site, "dated")
    time.sleep(5)
    assert ready(site)["dated"] == 0
    place = ("--project", PROJECT, "--zone", ZONE, "--machine", "a3-ultragpu-8g", "--count", "1")
    site.fleet("sim", "console", "reserve", "exam", *place, "--ends-in", "3600")
    until(lambda: ready(site)["dated"] == 1)
    until(lambda: ready(site)["dated"] == 0)


def test_another_version_recycles_a_pools_nodes_and_replaces_nothing(site: Project) -> None:
    before = nodes(site)
    site.edit(f"fleets/{ENV}.yaml", "topology: 2x2,", "topology: 2x2, version: 1.35.8-gke.1439001,")
    steps = [(s["op"], s["urn"].rpartition("::")[2], sorted(s["detailedDiff"])) for s in site.preview(ENV)]
    assert steps == [("update", "spot", ["version"])]
    site.fleet("up", "--env", ENV)
    after = nodes(site)
    assert ready(site)["spot"] == 1
    assert not before["spot"] & after["spot"]
    assert before["own"] == after["own"]
    assert site.preview(ENV) == []


def nodes(project: Project) -> dict[str, set[str]]:
    """Pool -> names of its nodes."""
    rows = Client(project.folder / ".fleet" / "sim").get("/gcp/resources?type=gcp:container/nodePool:NodePool")
    return {r["outputs"]["name"].rpartition("-")[0]: {n["name"] for n in r["hidden"]["nodes"]} for r in rows}
