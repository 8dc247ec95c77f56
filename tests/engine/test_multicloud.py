"""Every kind of site in one fleet: AWS, Google Cloud and a cluster that was there, each with cards and a volume."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENV = "multicloud"


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose environment multicloud is up."""
    project = Project(tmp_path_factory.mktemp("multicloud") / "project")
    try:
        project.fleet("up", "--env", ENV, timeout=500)
        yield project
    finally:
        stop(project)


def test_every_pool_has_its_cards(everywhere: Project) -> None:
    found = json.loads(everywhere.fleet("status", "--env", ENV, "--json").stdout)
    assert {s["site"]: s["kind"] for s in found["sites"]} == {"use2": "eks", "usc1": "gke", "byo": "existing"}
    assert {p["pool"]: (p["chip"], p["nodesReady"], p["cardsReady"], p["quota"]) for p in found["pools"]} == {
        "pretrain": ("h100", 2, 16, 16),
        "trn": ("trn1n", 1, 16, 16),
        "tpu": ("tpu-v5e", 4, 16, 16),
        "mi": ("mi300x", 2, 16, 16),
    }


@pytest.mark.parametrize("pool", ["pretrain", "trn", "tpu", "mi"])
def test_a_job_of_all_cards_runs_on_every_chip(everywhere: Project, pool: str) -> None:
    everywhere.fleet("job", "submit", "hello", "--pool", pool, "--name", f"all-{pool}", "--env", ENV)
    lines = everywhere.fleet("job", "list", "--env", ENV).stdout.splitlines()
    (line,) = [line for line in lines if line.startswith(f"all-{pool} ")]
    assert "running" in line.split(), lines
    everywhere.fleet("job", "delete", f"all-{pool}", "--env", ENV)


def test_a_second_preview_is_all_same(everywhere: Project) -> None:
    assert everywhere.preview(ENV) == []


def test_everything_goes(everywhere: Project) -> None:
    everywhere.fleet("down", "--env", ENV, timeout=500)
