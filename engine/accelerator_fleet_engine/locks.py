"""Who works on a stack: the locks of Pulumi's file backend."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Lock:
    """One lock: who took it, where, and since when."""

    path: Path
    user: str
    host: str
    pid: int
    since: str  # RFC 3339, as Pulumi writes it

    @property
    def dead(self) -> bool:
        """Whether its process ran on this machine and is gone. Of another machine nobody here can know."""
        return self.host == socket.gethostname() and not Path(f"/proc/{self.pid}").exists()

    def sentence(self, now: datetime | None = None) -> str:
        """`ann on box1, process 4711, since 14:03:22 (7 min ago)`."""
        try:
            began = datetime.fromisoformat(self.since).astimezone()
        except ValueError:
            return f"{self.user} on {self.host}, process {self.pid}, since {self.since}"
        minutes = max(0, round(((now or datetime.now(UTC)) - began).total_seconds() / 60))
        ago = f"{minutes} min ago" if minutes < 120 else f"{minutes // 60} h ago"
        return f"{self.user} on {self.host}, process {self.pid}, since {began:%Y-%m-%d %H:%M:%S} ({ago})"


def of_stack(state: Path, stack: str) -> Iterator[Lock]:
    """Locks on a stack in a state folder; what cannot be read (written or taken away just now) is passed over."""
    for path in sorted(state.glob(f".pulumi/locks/**/{stack}/*.json")):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            yield Lock(path, str(found["username"]), str(found["hostname"]), int(found["pid"]),
                       str(found.get("timestamp", "?")))  # fmt: skip
        except (OSError, ValueError, KeyError):
            continue
