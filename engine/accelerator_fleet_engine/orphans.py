"""Provider processes that a killed engine left behind: its plugins live on, and nobody else ends them."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

PATIENCE = 5.0  # seconds between SIGTERM and SIGKILL


def _words(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return [""]


def _parent(pid: int) -> int:
    """0 for a process that is gone, or ended and not yet asked about."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[:2]
    except (OSError, ValueError):
        return 0
    return 0 if state == "Z" else int(parent)


def find(home: Path) -> Iterator[int]:
    """Processes started from the plugin folder of `home` (a `.fleet`) whose parent is no engine any more."""
    plugins = f"{home / 'pulumi' / 'plugins'}{os.sep}"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or not _words(int(entry.name))[0].startswith(plugins):
            continue
        parent = _parent(int(entry.name))
        if parent and Path(_words(parent)[0]).name != "pulumi":
            yield int(entry.name)


def end(home: Path) -> int:
    """Ends them; returns how many there were."""
    pids = list(find(home))
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        deadline = time.monotonic() + PATIENCE
        while any(_parent(pid) for pid in pids) and time.monotonic() < deadline:
            time.sleep(0.05)
    return len(pids)
