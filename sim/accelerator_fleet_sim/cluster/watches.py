"""Whether this machine lets one more cluster watch its files: inotify instances are few by default."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from accelerator_fleet_sim.cluster.model import ClusterError

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
# Counted on running clusters: API server 6, controller manager and scheduler 5 each, Kueue and JobSet 3 each.
EACH = 24


def taken(processes: Path = Path("/proc")) -> int:
    """inotify instances of this user's processes, as far as they may be looked into."""
    count = 0
    for entry in processes.iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):  # it ended, or is another user's
            if entry.stat().st_uid == os.getuid():
                for handle in (entry / "fd").iterdir():
                    with contextlib.suppress(OSError):
                        count += os.readlink(handle) == "anon_inode:inotify"
    return count


def check(limit: Path = LIMIT, processes: Path = Path("/proc")) -> None:
    """Raises ClusterError where a cluster would die of "too many open files" in its first seconds."""
    try:
        most = int(limit.read_text())
    except (OSError, ValueError):  # not Linux, or no inotify
        return
    used = taken(processes)
    if used + EACH > most:
        text = f"this machine lets a user have {most} inotify instances (fs.inotify.max_user_instances); {used} are "
        text += f"taken, and a cluster needs about {EACH}. End another environment (`fleet sim stop` in its project), "
        raise ClusterError(text + "or as root: sysctl -w fs.inotify.max_user_instances=1024")
