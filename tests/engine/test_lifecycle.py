"""`fleet up|preview|down` say in plain words what they do, show the engine's own errors, and end cleanly.

The datacentre is left out here (its start and stop are replaced); the engine and the language host are real.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.project import ROOT

pytestmark = pytest.mark.engine

DRIVER = """
import argparse, sys
from accelerator_fleet.cli import status
from accelerator_fleet_engine import commands, datacentre
datacentre.start = lambda place, variables: True
datacentre.stop = lambda place, variables: None
datacentre.seed = lambda place, variables, context: None
status.show = lambda env: print("THE TABLE") or 0
parser = argparse.ArgumentParser()
words = parser.add_subparsers()
for register in (commands.register_up, commands.register_preview, commands.register_down):
    register(words)
arguments = parser.parse_args()
sys.exit(arguments.func(arguments))
"""

PROGRAM = """
import pulumi
one = pulumi.ComponentResource("test:index:Thing", "one")
pulumi.ComponentResource("test:index:Thing", "two", opts=pulumi.ResourceOptions(parent=one))
"""
PROTECTED = PROGRAM.replace("parent=one", "parent=one, protect=True")
BROKEN = PROGRAM + "raise ValueError('twelve cards')\n"
SLOW = PROGRAM + "import pathlib, time; pathlib.Path('runs').touch(); time.sleep(300)\n"


class Life:
    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a project"
        self.folder.mkdir()
        shutil.copy(ROOT / "Pulumi.yaml", self.folder)
        shutil.copytree(ROOT / "stacks", self.folder / "stacks", ignore=shutil.ignore_patterns("__pycache__"))
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PULUMI_", "ACCELERATOR_FLEET_"))}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, *words],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, program: str, *words: str) -> tuple[int, list[str], list[str]]:
        (self.folder / "stacks" / "__main__.py").write_text(program)
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        return process.returncode, out.splitlines(), err.splitlines()


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def test_up_preview_and_down_in_plain_words(life: Life) -> None:
    settings = (life.folder / "stacks" / "Pulumi.dev.yaml").read_text()
    code, out, err = life.run(PROGRAM, "preview", "--env", "dev")
    assert (code, err) == (0, [])
    assert out[0].startswith("engine: ")
    assert out[1].startswith("datacentre: started")
    assert out[2].startswith("preview: 3 to create (")
    assert out[4].split() == ["+", "create", "test:index:Thing", "one"]

    code, out, err = life.run(PROGRAM, "up", "--env", "dev")
    assert (code, err) == (0, [])
    assert [line.split(":")[0] for line in out[:4]] == ["engine", "datacentre", "preview", "up"]
    assert out[3].startswith("up: 3 created (")
    assert "THE TABLE" in out
    assert len(out) < 15
    assert "plan --env dev --explain" in out[-3]
    assert "job submit pytorch --pool pretrain --env dev" in out[-2]
    assert out[-1].startswith('  eval "$(')
    assert out[-1].endswith('env dev)" && pulumi preview --stack dev')

    code, out, _ = life.run(PROGRAM, "up", "--env", "dev")
    assert out[3].startswith("up: 3 the same (")

    code, out, err = life.run(PROGRAM, "down", "--env", "dev")
    assert (code, err) == (0, [])
    assert out[-2].startswith("down: 3 resources removed (")
    assert out[-1] == "datacentre: stopped, its files are removed"
    assert sorted(p.name for p in (life.folder / ".fleet").iterdir()) == ["bin", "charts", "logs", "pulumi"]
    assert (life.folder / "stacks" / "Pulumi.dev.yaml").read_text() == settings
    code, out, _ = life.run(PROGRAM, "down", "--env", "dev")
    assert (code, out) == (0, ["dev: nothing is up"])


def test_an_error_is_the_engines_own_text_and_names_the_log(life: Life) -> None:
    code, _, err = life.run(BROKEN, "up", "--env", "dev")
    assert code == 1
    assert any("ValueError: twelve cards" in line for line in err)
    assert err[-1].startswith("preview failed after ")
    log = Path(err[-1].split("full log: ")[1])
    assert "twelve cards" in log.read_text()
    assert [p.suffix for p in log.parent.iterdir()] == [".log"]  # the event stream repeats every input: it is gone


def test_ctrl_c_ends_everything_and_the_next_run_works(life: Life) -> None:
    (life.folder / "stacks" / "__main__.py").write_text(SLOW)
    process = life.start("up", "--env", "dev")
    runs = life.folder / "stacks" / "runs"
    end = time.monotonic() + 60
    while not runs.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert runs.exists()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "stopping: the engine finishes what it has started" in out
    assert "preview was stopped after" in err
    assert not list((life.folder / ".fleet" / "state").glob(".pulumi/locks/**/*.json"))
    assert life.run(PROGRAM, "up", "--env", "dev")[0] == 0


def lock(life: Life, pid: int) -> Path:
    folder = life.folder / ".fleet/state/.pulumi/locks/organization/accelerator-fleet/dev"
    folder.mkdir(parents=True, exist_ok=True)
    holder = {"pid": pid, "username": "x", "hostname": socket.gethostname(), "timestamp": "2026-01-01T00:00:00Z"}
    path = folder / "0000-lock.json"
    path.write_text(json.dumps(holder))
    return path


def test_the_lock_of_a_killed_run_is_released_and_a_live_one_is_respected(life: Life) -> None:
    assert life.run(PROGRAM, "up", "--env", "dev")[0] == 0
    path = lock(life, os.getpid())
    code, _, err = life.run(PROGRAM, "up", "--env", "dev")
    assert code == 2
    assert len(err) == 1
    assert err[0].startswith(
        f"dev is locked: another pulumi works on it (x on {socket.gethostname()}, process {os.getpid()}, since 20"
    )
    assert err[0].endswith("pulumi cancel --stack dev")
    dead = subprocess.Popen(["true"])
    dead.wait()
    lock(life, dead.pid)
    code, out, _ = life.run(PROGRAM, "up", "--env", "dev")
    assert code == 0, out
    assert f"lock: an earlier run (process {dead.pid}) was killed; `pulumi cancel` releases its lock" in out
    assert not path.exists()


def test_down_lists_what_is_protected_and_removes_nothing(life: Life) -> None:
    assert life.run(PROTECTED, "up", "--env", "prod-embedded")[0] == 0
    state = life.folder / ".fleet/state/.pulumi/stacks/accelerator-fleet/prod-embedded.json"
    before = state.read_text()
    code, out, _ = life.run(PROTECTED, "down", "--env", "prod-embedded")
    assert code == 1
    assert "prod-embedded: 1 resources are protected, so nothing was removed:" in out
    assert any(line.split() == ["test:index:Thing", "two"] for line in out)
    command = next(line for line in out if "pulumi state unprotect" in line)
    assert state.read_text() == before
    # What it prints works as typed.
    command = command.replace(str(Path(sys.prefix) / "bin" / "fleet"), "fleet")
    typed = command.strip().split(" && ", 1)[1]
    from accelerator_fleet_engine import environment

    shell = {
        **life.env,
        **environment.shell_env("prod-embedded", life.folder),
        "ACCELERATOR_FLEET_PYTHON": sys.executable,
    }
    subprocess.run(["sh", "-ec", typed], cwd=life.folder, env=shell, check=True, capture_output=True)
    code, out, err = life.run(PROTECTED, "down", "--env", "prod-embedded")
    assert code == 0, out + err


def test_real_accounts_are_refused_before_anything_is_made(life: Life) -> None:
    code, out, err = life.run(PROGRAM, "up", "--env", "prod-use2")
    assert (code, out) == (2, [])
    assert err[0].startswith("prod-use2: these sites are in real accounts: use2 (444455556666)")
    assert not (life.folder / ".fleet").exists()


# A provider that renders to a folder refuses a kubeconfig, and a prepared shell has one.
RENDER = """
import os, pathlib, time
os.environ.pop("KUBECONFIG", None)
import pulumi
import pulumi_kubernetes as k8s
provider = k8s.Provider("render", render_yaml_to_directory="rendered")
made = k8s.core.v1.ConfigMap("c", metadata={"name": "c"}, opts=pulumi.ResourceOptions(provider=provider))
if not pulumi.runtime.is_dry_run():
    made.id.apply(lambda _: (pathlib.Path("runs").touch(), time.sleep(300)))
"""


def test_a_killed_engine_is_told_and_its_providers_are_ended_by_the_next_run(life: Life) -> None:
    from accelerator_fleet_engine import orphans

    (life.folder / "stacks" / "__main__.py").write_text(RENDER)
    process = life.start("up", "--env", "dev")
    home, runs = life.folder / ".fleet", life.folder / "stacks" / "runs"
    end = time.monotonic() + 60
    while not runs.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert list(orphans.find(home)) == []  # an engine at work has no orphans
    locks = list(home.glob("state/.pulumi/locks/**/*.json"))
    os.kill(json.loads(locks[0].read_text())["pid"], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.startswith("pulumi was killed by signal 9. What it was creating goes on in the cloud")
    assert len(list(orphans.find(home))) == 1
    runs.unlink()
    code, out, _ = life.run(PROGRAM, "up", "--env", "dev")
    assert code == 0
    assert any("was killed; `pulumi cancel` releases its lock" in line for line in out)
    assert list(orphans.find(home)) == []
