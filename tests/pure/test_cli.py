"""The command `fleet`: fast, no traceback, one hint outside a prepared shell, the same plan for people and programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def fleet(*words: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    shell = {k: v for k, v in os.environ.items() if k != "ACCELERATOR_FLEET_HOME"}
    command = [sys.executable, "-m", "accelerator_fleet.cli.main", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**shell, **(env or {})}, check=False)


def test_the_plan_for_people() -> None:
    done = fleet("plan", "--env", "prod")
    assert done.returncode == 0
    row = next(line.split() for line in done.stdout.splitlines() if line.startswith("pretrain"))
    assert row[:7] == ["pretrain", "use2", "us-east-2a", "h100", "p5.48xlarge", "32", "256"]
    assert done.stdout.startswith("accel · prod · 1 site, 2 pools, 272 cards\n")
    assert "≥" in done.stdout
    assert "list price" in done.stdout


def test_the_plan_for_programs_is_the_whole_plan() -> None:
    from accelerator_fleet.plan.model import FleetPlan

    done = fleet("plan", "--env", "prod", "--json")
    read = FleetPlan.model_validate_json(done.stdout)
    assert read.cards == 272
    assert done.stderr == ""


def test_explain_gives_reasons_and_facts_with_status_and_source() -> None:
    text = fleet("plan", "--env", "staging", "--explain").stdout
    assert "pools[0].zone = us-east-2a: first of the zones of us-east-2 that offer p5.48xlarge" in text
    assert "p5.48xlarge.efa_max = 32 interfaces [verified]" in text


def test_a_mistake_is_one_line_and_code_2() -> None:
    done = fleet("plan", "--file", "tests/bad/twelve-cards.yaml", env={"ACCELERATOR_FLEET_HOME": "/nowhere"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (ROOT / "tests/bad/twelve-cards.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["plan", "--env", "pord"], "unknown environment 'pord'; nearest: prod"),
        (["catlog", "chips"], "unknown word 'catlog'; nearest: catalog"),
        (["catalog", "chipz"], "unknown word 'chipz'; nearest: chips"),
        (["catalog", "chips", "h1000"], "unknown chip 'h1000'; nearest: h100"),
    ],
)
def test_a_mistyped_word_names_the_nearest(words: list[str], text: str) -> None:
    done = fleet(*words)
    assert done.returncode == 2
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_the_hint_outside_a_prepared_shell_and_only_there() -> None:
    line = 'hint: eval "$(.venv/bin/fleet env dev)" prepares this shell for pulumi\n'
    bare = {"PATH": "/usr/bin:/bin"}
    assert fleet("plan", env=bare).stderr == line
    assert fleet("plan", env={"ACCELERATOR_FLEET_HOME": "/somewhere"}).stderr == ""
    assert fleet("plan", "--json").stderr == ""


@pytest.mark.parametrize("words", [["plan", "--env", "prod"], ["plan", "--env", "pord"], ["catalog", "zones"]])
def test_no_hint_that_would_not_help(words: list[str]) -> None:
    """`prod` lies in a real account; a mistake or a catalogue is no step towards pulumi."""
    assert "hint:" not in fleet(*words).stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "usage: fleet"),
        (["job"], "fleet job: the following arguments are required: ACTION; see: fleet job --help"),
        (["plan", "dev"], "fleet plan: not understood: dev; see: fleet plan --help"),
        (["status", "--env", "pord"], "unknown environment 'pord'; nearest: prod"),
    ],
)
def test_too_few_or_too_many_words_say_where_to_look(words: list[str], text: str) -> None:
    done = fleet(*words)
    assert done.returncode == 2
    assert text in done.stderr
    assert done.stdout == ""


def test_it_works_from_any_folder_of_the_project_and_says_so_outside(tmp_path: Path) -> None:
    assert fleet("plan", "--env", "dev", cwd=ROOT / "stacks" / "fleets").returncode == 0
    outside = fleet("plan", "--env", "dev", cwd=tmp_path)
    assert outside.returncode == 2
    assert "run this inside the project" in outside.stderr


def test_a_closed_pipe_is_no_mistake() -> None:
    command = f"{sys.executable} -m accelerator_fleet.cli.main catalog zones | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("what", ["chips", "machines", "zones"])
def test_the_catalogue_shows_value_status_source_and_date(what: str) -> None:
    facts = json.loads(fleet("catalog", what, "--json").stdout)
    for fields in facts.values():
        for fact in fields.values():
            assert set(fact) == {"value", "unit", "status", "source", "date"}
            assert fact["source"]


def test_unknown_figures_show_a_question_mark() -> None:
    line = next(x for x in fleet("catalog", "chips", "tpu-v5e").stdout.splitlines() if "tdp_w" in x)
    assert line.split()[1:3] == ["?", "unknown"]
