"""Built once a machine: a second clone builds nothing, two builders do not collide, no network is needed twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

ENSURE = "from accelerator_fleet_engine import binaries; print(binaries.ensure(['etcd'])['etcd'])"


def environment(cache: Path, **more: str) -> dict[str, str]:
    """A user cache of its own; Go's caches stay where they are, and Go may not ask its proxy."""
    go = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True, check=True).stdout.strip()
    return {**os.environ, "XDG_CACHE_HOME": str(cache), "GOCACHE": go, **more}


def start(env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", ENSURE], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """The module must be in Go's own caches once; afterwards nothing may be fetched."""
    subprocess.run([sys.executable, "-c", ENSURE], check=True, capture_output=True)


def test_two_builders_at_once_build_once_and_offline(tmp_path: Path) -> None:
    env = environment(tmp_path, GOPROXY="off")
    both = [start(env), start(env)]
    outputs = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    paths = {out.strip() for out, _ in outputs}
    assert len(paths) == 1
    path = Path(paths.pop())
    assert "3.6.16" in subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    errors = "".join(err for _, err in outputs)
    assert "another process is building it; waiting" in errors
    folders = [p.name for p in (tmp_path / "accelerator-fleet" / "engine").iterdir() if not p.name.startswith(".")]
    assert folders == [path.parent.name]

    # A second clone: same content, so nothing is built, and no Go is needed at all.
    before = path.stat()
    began = time.monotonic()
    second = start(environment(tmp_path, PATH="/usr/bin:/bin", GOPROXY="off"))
    out, err = second.communicate(timeout=60)
    assert (second.returncode, out.strip(), err) == (0, str(path), "")
    assert time.monotonic() - began < 5
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_build_that_fails_shows_gos_own_words_and_leaves_nothing(tmp_path: Path) -> None:
    env = environment(tmp_path, GOPROXY="off", GOMODCACHE=str(tmp_path / "empty"), GOFLAGS="")
    done = start(env)
    _, err = done.communicate(timeout=120)
    assert done.returncode != 0
    assert "module lookup disabled by GOPROXY=off" in err
    engine = tmp_path / "accelerator-fleet" / "engine"
    assert [p.name for p in engine.iterdir() if not p.name.endswith(".lock")] == []
