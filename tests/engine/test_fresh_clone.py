"""A fresh clone without any network: `make up`, the table, `make down` with nothing left."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.engine.project import ROOT

pytestmark = pytest.mark.engine


def run(clone: Path, *command: str, timeout: float = 400) -> subprocess.CompletedProcess[str]:
    """A command in the clone, with an environment as bare as a new login's and no network but loopback."""
    keep = ("HOME", "PATH", "LANG", "XDG_CACHE_HOME", "GOPATH", "GOMODCACHE")
    bare = {key: os.environ[key] for key in keep if key in os.environ}
    bare["PATH"] = os.pathsep.join(p for p in bare["PATH"].split(os.pathsep) if not p.startswith(str(ROOT)))
    quoted = " ".join(f"'{word}'" for word in command)
    inner = f"ip link set lo up && exec {quoted}"
    return subprocess.run(
        ["unshare", "--net", *(["--map-root-user"] if os.geteuid() else []), "sh", "-c", inner],
        cwd=clone,
        env=bare,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def test_make_up_and_down_in_a_fresh_clone_without_network(tmp_path: Path) -> None:
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        pytest.skip("unshare (util-linux) or ip (iproute2) is not installed: `make setup` says how")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    up = run(clone, "make", "up", "ENV=single")
    try:
        print(up.stdout)
        assert up.returncode == 0, up.stdout[-4000:] + up.stderr[-4000:]
        assert "pretrain" in up.stdout
        assert "16/16" in up.stdout
    finally:
        down = run(clone, "make", "down", "ENV=single")
    print(down.stdout)
    assert down.returncode == 0, down.stdout[-4000:] + down.stderr[-4000:]
    stopped = run(clone, ".venv/bin/fleet", "sim", "stop")
    assert stopped.returncode == 0, stopped.stderr
    assert processes_of(clone) == []
    status = subprocess.run(["git", "status", "--porcelain"], cwd=clone, capture_output=True, text=True, check=True)
    assert status.stdout == ""


def processes_of(folder: Path) -> list[str]:
    """Command lines of live processes that work in or were started from a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or entry.name == str(os.getpid()):
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            there = os.readlink(entry / "cwd")
        except OSError:
            continue
        if str(folder) in line or there.startswith(str(folder)):
            found.append(line)
    return found
