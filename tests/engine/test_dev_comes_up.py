"""The first promise: dev comes up, what is printed is true, and a second preview changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.engine.project import ROOT, Project

pytestmark = pytest.mark.engine


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


def test_a_second_preview_is_all_same(dev: Project) -> None:
    done = dev.pulumi("preview", "--json")
    summary = json.loads(done.stdout)["changeSummary"]
    print(summary)
    assert set(summary) == {"same"}
    assert summary["same"] > 40


def test_a_refresh_finds_nothing_and_up_by_hand_changes_nothing(dev: Project) -> None:
    dev.pulumi("refresh", "--yes", "--expect-no-changes")
    done = dev.pulumi("up", "--yes", "--expect-no-changes")
    assert "unchanged" in done.stdout


def test_up_prints_a_table_and_what_to_try_next(dev: Project) -> None:
    done = dev.fleet("up", "--env", "dev")
    print(done.stdout)
    lines = done.stdout.splitlines()
    assert len(lines) < 40
    assert any(line.startswith("pretrain") for line in lines)
    assert sum("fleet " in line or "pulumi " in line for line in lines[-6:]) >= 3  # what to try next


def test_other_stacks_are_refused_in_a_prepared_shell(dev: Project) -> None:
    known = dev.pulumi("preview", env="dev", ok=False)
    assert known.returncode == 0
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
