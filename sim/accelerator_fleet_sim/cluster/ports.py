"""Loopback ports and short socket folders: what the clusters listen on."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import tempfile
import threading
from pathlib import Path

from accelerator_fleet_sim.cluster.model import ClusterError

# Below the kernel's ephemeral range, so that no outgoing connection takes a port while its cluster is stopped.
_FIRST, _LAST = 20_000, 32_000
_SOCKET_LIMIT = 107  # bytes of sun_path without the final zero


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Ports:
    """Hands out loopback ports that nobody else holds, none twice while it is in use."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> int:
        with self._lock:
            for _ in range(1000):
                port = random.randrange(_FIRST, _LAST)
                if port not in self._taken and is_free(port):
                    self._taken.add(port)
                    return port
        raise ClusterError(f"no free port on 127.0.0.1 between {_FIRST} and {_LAST}")

    def keep(self, port: int) -> int:
        """A port remembered from an earlier run."""
        with self._lock:
            self._taken.add(port)
        return port

    def give_back(self, *ports: int) -> None:
        with self._lock:
            self._taken.difference_update(ports)


class SocketFolder:
    """Where unix sockets lie: the wanted folder, or a short private one when paths there would be too long.

    The short one is named in `note`, so that the next daemon removes it even if this one dies.
    """

    def __init__(self, wanted: Path, note: Path, longest_name: int = 24) -> None:
        self._note = note
        self._short: Path | None = None
        self.remove_left()
        if len(os.fsencode(wanted.resolve())) + 1 + longest_name <= _SOCKET_LIMIT:
            self.path = wanted
            self.path.mkdir(parents=True, exist_ok=True)
            return
        base = os.environ.get("XDG_RUNTIME_DIR") or "/tmp"
        if not os.access(base, os.W_OK):
            base = "/tmp"
        self._short = self.path = Path(tempfile.mkdtemp(prefix="afs-", dir=base))
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{self.path}\n")

    def remove_left(self) -> None:
        if self._note.exists():
            left = Path(self._note.read_text().strip())
            if left.name.startswith("afs-") and left.is_dir() and left.stat().st_uid == os.getuid():
                shutil.rmtree(left, ignore_errors=True)
            self._note.unlink(missing_ok=True)

    def socket(self, name: str) -> Path:
        path = self.path / name
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return path

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self._note.unlink(missing_ok=True)
