"""`make setup` names the one command when it may not install Debian packages itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A clone without sources but the setup, and a PATH on which `ip` is missing and the user is not root."""
    clone = tmp_path / "clone"
    (clone / "engine").mkdir(parents=True)
    for name in ("setup.sh", "debian-packages.txt"):
        shutil.copy(ROOT / "engine" / name, clone / "engine")
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("sh", "sed", "tr", "cat", "dirname", "git", "unshare", "rm", "mv"):
        found = shutil.which(name)
        assert found, name
        (path / name).symlink_to(found)
    script(path / "id", "echo 1000")
    script(path / "python3", "true")  # it has venv and ensurepip
    script(path / "apt-get", "echo apt-get $* >> $HOME/installed")
    script(path / "uv", "echo uv $* >> $HOME/installed")
    return tmp_path


def script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def setup(machine: Path) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(machine / "bin"), "HOME": str(machine)}
    return subprocess.run(
        [str(machine / "bin" / "sh"), str(machine / "clone" / "engine" / "setup.sh")],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_another_user_is_told_the_one_command_and_goes_on(machine: Path) -> None:
    done = setup(machine)
    assert done.returncode == 0, done.stderr
    assert "as root, once:  apt-get install -y --no-install-recommends iproute2" in done.stderr
    assert (machine / "installed").read_text().splitlines() == ["uv sync --frozen --inexact --offline --quiet"]


def test_root_gets_the_packages_installed(machine: Path) -> None:
    script(machine / "bin" / "id", "echo 0")
    done = setup(machine)
    assert done.returncode == 0, done.stderr
    installed = (machine / "installed").read_text().splitlines()
    assert installed[0] == "apt-get install -y -q --no-install-recommends iproute2"


def test_without_venv_and_uv_it_stops_with_that_command(machine: Path) -> None:
    script(machine / "bin" / "python3", "exit 1")
    (machine / "bin" / "uv").unlink()
    done = setup(machine)
    assert done.returncode == 1
    assert "apt-get install -y --no-install-recommends python3-venv iproute2" in done.stderr.splitlines()[-1]


def test_with_everything_there_nothing_is_said(machine: Path) -> None:
    script(machine / "bin" / "ip", "true")
    (machine / "clone" / ".venv" / "bin").mkdir(parents=True)
    script(machine / "clone" / ".venv" / "bin" / "python", "true")
    done = setup(machine)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
