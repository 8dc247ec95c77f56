"""A prepared shell is exactly what was promised, whatever characters the paths have."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from accelerator_fleet_engine import embedded, environment
from accelerator_fleet_engine.errors import EngineError
from accelerator_fleet_engine.layout import Layout, find_project, layout

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def unprepared(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PULUMI_", "ACCELERATOR_FLEET_")):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("folder", ["plain", "with space", 'it\'s; $(touch pwned) `x` "q"', "back\\slash", "new\nline"])
def test_eval_gives_every_value_back_unharmed(tmp_path: Path, folder: str) -> None:
    project = tmp_path / folder
    project.mkdir()
    wanted = environment.shell_env("dev", project)
    script = environment.exports(wanted) + "\0".join(f'printf "%s\\0" "${name}"' for name in wanted).replace("\0", "\n")
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split("\0")[:-1] == list(wanted.values())
    assert not (tmp_path / "pwned").exists()
    assert str(project) in wanted["PULUMI_HOME"]


def test_everything_lies_under_fleet_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = environment.shell_env("dev", tmp_path)
    assert variables["PULUMI_HOME"] == str(tmp_path / ".fleet" / "pulumi")
    assert variables["PULUMI_BACKEND_URL"] == f"file://{tmp_path}/.fleet/state?metadata=skip"
    assert variables["ACCELERATOR_FLEET_SIM"] == str(tmp_path / ".fleet" / "sim")
    monkeypatch.setenv("ACCELERATOR_FLEET_HOME", str(tmp_path / "elsewhere"))
    assert environment.shell_env("dev", tmp_path)["ACCELERATOR_FLEET_SIM"] == str(tmp_path / "elsewhere" / "sim")


def test_a_shell_prepared_in_another_clone_does_not_lend_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "Pulumi.yaml").touch()
    monkeypatch.setenv("ACCELERATOR_FLEET_HOME", str(tmp_path / "one" / ".fleet"))
    assert layout(tmp_path / "one").home == tmp_path / "one" / ".fleet"
    assert layout(tmp_path / "two").home == tmp_path / "two" / ".fleet"


def test_preparing_twice_does_not_grow_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = environment.shell_env("dev", tmp_path)["PATH"]
    monkeypatch.setenv("PATH", once)
    assert environment.shell_env("dev", tmp_path)["PATH"] == once
    assert once.split(os.pathsep)[1] == str(tmp_path / ".fleet" / "bin")


def test_real_accounts_are_refused_in_words_that_help() -> None:
    with pytest.raises(EngineError) as refused:
        embedded.require(Layout(ROOT, ROOT / ".fleet"), "staging")
    text = str(refused.value)
    assert "use2 (111122223333)" in text
    assert "own Pulumi, backend and credentials" in text
    assert text.endswith("pulumi preview --stack staging")
    embedded.require(Layout(ROOT, ROOT / ".fleet"), "dev")
    embedded.require(Layout(ROOT, ROOT / ".fleet"), "prod-embedded")


@pytest.mark.parametrize(
    ("site", "foreign"),
    [
        ("{name: a, kind: gke, project: embedded-x, region: us-central1, cidr: 10.20.0.0/14}", []),
        ("{name: a, kind: gke, project: research, region: us-central1, cidr: 10.20.0.0/14}", ["a (research)"]),
        ("{name: a, kind: existing, kubeconfig: {context: lab}}", []),
        ("{name: a, kind: existing, kubeconfig: {context: prod}}", ["a (context prod)"]),
    ],
)
def test_sites_of_other_kinds(tmp_path: Path, site: str, foreign: list[str]) -> None:
    (tmp_path / "stacks" / "fleets").mkdir(parents=True)
    (tmp_path / "stacks" / "Pulumi.x.yaml").write_text("config:\n  fleet:spec: fleets/x.yaml\n")
    (tmp_path / "stacks" / "fleets" / "x.yaml").write_text(
        f"fleet: a\ntags: {{owner: a, cost-center: b}}\nsites:\n  - {site}\n"
    )
    place = Layout(tmp_path, tmp_path / ".fleet")
    assert embedded.foreign_sites(place, "x") == foreign
    assert embedded.contexts(place, "x") == (["lab"] if "lab" in site else [])


def test_a_mistyped_environment_lists_those_there_are() -> None:
    with pytest.raises(EngineError, match=r"no environment 'prodd': .*; there are: dev, prod-base, "):
        embedded.require(layout(ROOT), "prodd")


@pytest.mark.parametrize("env", ["dev", "prod-embedded"])
def test_embedded_stacks_carry_a_salt_so_that_no_run_edits_them(env: str) -> None:
    settings = (ROOT / "stacks" / f"Pulumi.{env}.yaml").read_text()
    assert "\nencryptionsalt: v1:" in settings


def test_the_project_is_found_from_below_and_not_from_outside(tmp_path: Path) -> None:
    assert find_project(ROOT / "stacks" / "fleets") == ROOT
    with pytest.raises(EngineError, match="not inside a clone of accelerator-fleet"):
        find_project(tmp_path)
