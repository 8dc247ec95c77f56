"""The first promise: dev comes up on every kind of site, the table is true, a second preview is all same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import ROOT, Project

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose environment dev is up: AWS, Google Cloud and a cluster that was there."""
    project = Project(tmp_path_factory.mktemp("dev") / "project")
    try:
        project.fleet("up", "--env", "dev")
        yield project
    finally:
        stop(project)


def test_every_value_of_the_table_is_true(dev: Project) -> None:
    checker = ROOT / "tests" / "checker" / "check_table.py"
    done = subprocess.run(
        [sys.executable, "-S", str(checker), "dev"],
        cwd=dev.folder,
        env=dev.shell("dev"),
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 wrong" in done.stdout


def test_every_pool_has_its_cards_and_every_volume_its_claim(dev: Project) -> None:
    found = json.loads(dev.fleet("status", "--json").stdout)
    assert {s["site"]: s["kind"] for s in found["sites"]} == {"use2": "eks", "usc1": "gke", "byo": "existing"}
    assert {p["pool"]: (p["chip"], p["nodesReady"], p["cardsReady"], p["quota"]) for p in found["pools"]} == {
        "pretrain": ("h100", 2, 16, 16),
        "trn": ("trn1n", 1, 16, 16),
        "tpu": ("tpu-v5e", 4, 16, 16),
        "mi": ("mi300x", 2, 16, 16),
    }
    assert {v["volume"]: (v["service"], v["phase"]) for v in found["volumes"]} == {
        "shared": ("efs", "Bound"),
        "shared-usc1": ("filestore", "Bound"),
        "shared-byo": ("nfs", "Bound"),
    }


@pytest.mark.parametrize("pool", ["pretrain", "trn", "tpu", "mi"])
def test_a_job_of_all_cards_runs_on_every_chip(dev: Project, pool: str) -> None:
    dev.fleet("job", "submit", "hello", "--pool", pool, "--name", f"all-{pool}")
    lines = dev.fleet("job", "list").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith(f"all-{pool} ")]
    assert "running" in line.split(), lines
    dev.fleet("job", "delete", f"all-{pool}")


def test_a_second_preview_is_all_same(dev: Project) -> None:
    done = dev.pulumi("preview", "--json", env="dev")
    summary = json.loads(done.stdout)["changeSummary"]
    print(summary)
    assert set(summary) == {"same"}
    assert summary["same"] > 100


def test_a_refresh_finds_nothing_and_up_by_hand_changes_nothing(dev: Project) -> None:
    dev.pulumi("refresh", "--yes", "--expect-no-changes", env="dev")
    done = dev.pulumi("up", "--yes", "--expect-no-changes", env="dev")
    assert "unchanged" in done.stdout


def test_other_stacks_are_refused_in_a_prepared_shell(dev: Project) -> None:
    done = dev.pulumi("preview", env="prod-base", shell="dev", ok=False)
    assert done.returncode != 0
    assert "no stack named 'prod-base' found" in done.stderr + done.stdout
    dev.run_in("dev", "pulumi", "stack", "init", "prod-base")
    try:
        refused = dev.pulumi("preview", env="prod-base", shell="dev", ok=False)
        print(refused.stdout[-1500:])
        assert refused.returncode != 0
        assert "embedded" in refused.stdout + refused.stderr
        assert "444455556666" in refused.stdout + refused.stderr
    finally:
        dev.run_in("dev", "pulumi", "stack", "rm", "prod-base", "--yes")


def test_everything_goes(dev: Project) -> None:
    dev.fleet("down")
