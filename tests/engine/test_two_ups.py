"""Two `up` at once: one works, the other is told who does and since when, and changes nothing."""

from __future__ import annotations

import getpass
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engine.project import FLEET, Project

pytestmark = pytest.mark.engine

POOL = "{name: pretrain, site: use2, chip: h100, cards: 16, runtime: pytorch}"


def begin(project: Project, *command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=project.folder, env=project.shell("single"), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)  # fmt: skip


def locks(project: Project) -> list[Path]:
    return list((project.folder / ".fleet" / "state").glob(".pulumi/locks/**/single/*.json"))


def test_two_at_once(single: Project) -> None:
    """A change that takes a while: the literal CLI holds the lock, then both kinds of `up` come along."""
    single.run_in("single", "fleet", "sim", "clock", "--speed", "4")  # scaling: 40 simulated seconds
    single.edit("fleets/single.yaml", POOL, POOL.replace("16", "32"))
    try:
        first = begin(single, "pulumi", "up", "--yes", "--skip-preview", "--stack", "single", "--non-interactive")
        until = time.monotonic() + 60
        while not locks(single):
            assert time.monotonic() < until
            assert first.poll() is None
            time.sleep(0.05)
        began = time.time()
        second = single.fleet("up", "--env", "single", ok=False)
        third = single.pulumi("up", "--yes", "--skip-preview", ok=False)
        print(second.stderr)
        assert first.poll() is None, "it still works on it"
        assert second.returncode == 2
        who = f"{getpass.getuser()} on {socket.gethostname()}, process {first.pid}, since "
        assert f"single is locked: another pulumi works on it ({who}" in second.stderr
        since = re.search(r"since (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) \(0 min ago\)", second.stderr)
        assert since is not None
        assert abs(time.mktime(time.strptime(since.group(1), "%Y-%m-%d %H:%M:%S")) - began) < 30
        assert "updating" not in second.stdout
        assert third.returncode != 0, "the lock is Pulumi's own"
        assert f"(pid {first.pid})" in third.stdout + third.stderr
        out, err = first.communicate(timeout=120)
        assert first.returncode == 0, out + err
        assert locks(single) == []
    finally:
        single.run_in("single", "fleet", "sim", "clock", "--speed", "60")
        single.edit("fleets/single.yaml", POOL.replace("16", "32"), POOL)
        single.pulumi("up", "--yes", "--skip-preview")


@pytest.mark.slow
def test_two_that_begin_together(single: Project) -> None:
    """Neither sees the other's lock at its start: one gets it, the other ends with the same sentence."""
    single.run_in("single", "fleet", "sim", "clock", "--speed", "4")
    single.edit("fleets/single.yaml", POOL, POOL.replace("16", "32"))
    try:
        both = [begin(single, str(FLEET), "up", "--env", "single") for _ in range(2)]
        ends = [p.communicate(timeout=180) for p in both]
        codes = [p.returncode for p in both]
        told = ends[codes.index(max(codes))][1]
        print(codes, told, file=sys.stderr)
        assert sorted(codes)[0] == 0
        assert sorted(codes)[1] in (1, 2)
        assert f"single is locked: another pulumi works on it ({getpass.getuser()} on {socket.gethostname()}, " in told
    finally:
        single.run_in("single", "fleet", "sim", "clock", "--speed", "60")
        single.edit("fleets/single.yaml", POOL.replace("16", "32"), POOL)
        single.pulumi("up", "--yes", "--skip-preview")
