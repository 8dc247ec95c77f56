"""The processes a language host started: each in a session of its own, ended with SIGTERM, never left behind."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence

GRACE = 5.0  # seconds between SIGTERM and SIGKILL


class Children:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def start(
        self, command: Sequence[str], env: Mapping[str, str], cwd: str | None, *, piped: bool = False
    ) -> subprocess.Popen[bytes]:
        """Starts a process. Raises RuntimeError once the engine has cancelled."""
        pipe = subprocess.PIPE if piped else None
        with self._lock:
            if self._closed:
                raise RuntimeError("cancelled")
            process = subprocess.Popen(
                command, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, start_new_session=True
            )
            self._running.add(process)
            return process

    def finished(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._running.discard(process)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        """Ends the whole session of `process`: a program may have started processes itself."""
        _signal(process, signal.SIGTERM)
        try:
            process.wait(GRACE)
        except subprocess.TimeoutExpired:
            _signal(process, signal.SIGKILL)
            process.wait()

    def stop_all(self) -> None:
        """Ends everything and lets nothing start any more."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            self.stop(process)


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
