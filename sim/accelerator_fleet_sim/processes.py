"""Processes known by pid and start time, so that a recycled pid is never taken for one of ours."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; None when there is none, or only a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def rss_mib(pid: int) -> float:
    """Resident memory of a process in MiB, 0 when it is gone."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def record(folder: Path, name: str, pid: int) -> Path:
    """Note a process as `<name>-<pid>` with its start time."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{pid}"
    path.write_text(str(start_ticks(pid) or 0))
    return path


def recorded(folder: Path) -> list[tuple[str, int]]:
    """(name, pid) of recorded processes that still run; notes of others are removed."""
    alive = []
    for path in sorted(folder.glob("*-*")) if folder.is_dir() else []:
        name, _, pid = path.name.rpartition("-")
        with contextlib.suppress(OSError, ValueError):
            if start_ticks(int(pid)) == int(path.read_text() or 0):
                alive.append((name, int(pid)))
                continue
        path.unlink(missing_ok=True)
    return alive


def end(pid: int, patience: float = 5.0) -> None:
    """Ask a process to end and, after a while, make it end. Returns when it is gone."""
    began = start_ticks(pid)
    if began is None:
        return
    for sign, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, sign)
        until = time.monotonic() + wait
        while time.monotonic() < until:
            if start_ticks(pid) != began:
                return
            time.sleep(0.02)
