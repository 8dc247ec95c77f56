"""Child processes of the datacentre: started, recorded, watched, and surely ended."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from accelerator_fleet_sim.cluster.model import ClusterError, Json, Log

# Runs between fork and the program: asks the kernel to kill the child when its parent dies (the daemon may be
# SIGKILLed), then becomes the program. A fork hook in a process with threads could deadlock; this cannot.
_LAUNCH = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]): sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""
_LOG_LIMIT = 8 << 20
_LOG_KEEP = 1 << 20
_SPAWN_S = 60.0
_TICK_S = 0.5
_LOG_EVERY_TICKS = 10
_MAX_BACKOFF_S = 30.0


def start_time(pid: int) -> str | None:
    """The kernel's start time of a process: with the pid it names one process for ever. None: no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def resident_bytes(pid: int) -> int:
    """Resident memory of a process, 0 when it has gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def end_pid(pid: int, started: str, grace_s: float) -> None:
    """End a process that is not our child: ask, wait, kill. Nothing happens when the pid now names another one."""
    for signum, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10.0)):
        deadline = time.monotonic() + wait_s
        if start_time(pid) != started:
            return
        try:
            os.kill(pid, signum)
        except ProcessLookupError:
            return
        while start_time(pid) == started and time.monotonic() < deadline:
            time.sleep(0.05)


@dataclass
class Process:
    """One program and the way to start it again."""

    key: str  # unique in the runtime: "<cluster>.kube-apiserver"
    argv: Sequence[str]
    cwd: Path
    log_file: Path
    env: Mapping[str, str]
    restart: bool
    child: subprocess.Popen[bytes] | None = None
    wanted: bool = True
    failures: int = 0
    started_at: float = 0.0
    retry_at: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def pid(self) -> int:
        return self.child.pid if self.child is not None else 0

    @property
    def running(self) -> bool:
        return self.child is not None and self.child.poll() is None

    @property
    def exit_code(self) -> int | None:
        return None if self.child is None else self.child.poll()

    def log_tail(self, size: int = 2000) -> str:
        return tail(self.log_file, size)


def tail(path: Path, size: int) -> str:
    """The last `size` bytes of a text file, from a line's beginning."""
    try:
        with path.open("rb") as stream:
            end = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, end - size))
            data = stream.read()
    except OSError:
        return ""
    if end > size:
        data = data.partition(b"\n")[2]
    return data.decode(errors="replace")


class Supervisor:
    """Starts programs from one thread that lives as long as they do, restarts what dies, bounds their logs."""

    def __init__(self, folder: Path, log: Log) -> None:
        self._records = folder
        self._log = log
        self._processes: dict[str, Process] = {}
        self._lock = threading.Lock()
        self._jobs: queue.Queue[tuple[Process, Future[None]] | None] = queue.Queue()
        self._closed = threading.Event()
        folder.mkdir(parents=True, exist_ok=True)
        # The kernel's death signal is bound to the thread that forked: this one never ends before the daemon.
        self._spawner = threading.Thread(target=self._spawn_loop, name="cluster-spawner", daemon=True)
        self._spawner.start()
        threading.Thread(target=self._watch_loop, name="cluster-watch", daemon=True).start()

    def sweep(self) -> int:
        """End what an earlier daemon left; returns how many processes that were."""
        left = 0
        for record in sorted(self._records.glob("*.json")):
            try:
                data = json.loads(record.read_text())
                pid, started = int(data["pid"]), str(data["started"])
            except (OSError, ValueError, KeyError):
                record.unlink(missing_ok=True)
                continue
            if start_time(pid) == started:
                left += 1
                end_pid(pid, started, grace_s=5.0)
            record.unlink(missing_ok=True)
        return left

    def start(
        self,
        key: str,
        argv: Sequence[str],
        *,
        cwd: Path,
        log_file: Path,
        env: Mapping[str, str],
        restart: bool = True,
    ) -> Process:
        process = Process(key, list(argv), cwd, log_file, dict(env), restart)
        with self._lock:
            if key in self._processes:
                raise ClusterError(f"{key} runs already")
            self._processes[key] = process
        self._spawn(process)
        return process

    def _spawn(self, process: Process) -> None:
        if self._closed.is_set():
            raise ClusterError(f"{process.key} is not started: the datacentre stops")
        done: Future[None] = Future()
        self._jobs.put((process, done))
        done.result(_SPAWN_S)

    def _spawn_loop(self) -> None:
        while (job := self._jobs.get()) is not None:
            process, done = job
            try:
                self._spawn_here(process)
                done.set_result(None)
            except Exception as error:
                done.set_exception(ClusterError(f"{process.key} cannot be started: {error}"))

    def _spawn_here(self, process: Process) -> None:
        command = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), *process.argv]
        with process.log_file.open("ab") as output:
            process.child = subprocess.Popen(
                command,
                cwd=process.cwd,
                env=dict(process.env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a Ctrl-C at the daemon's terminal is for the daemon, which stops us in order
            )
        process.started_at = time.monotonic()
        record = {"pid": process.pid, "started": start_time(process.pid), "program": process.argv[0]}
        self._record(process.key).write_text(json.dumps(record) + "\n")

    def _record(self, key: str) -> Path:
        return self._records / f"{key}.json"

    def end(self, process: Process, grace_s: float = 10.0) -> None:
        """Ask, wait for the process (not for a time), then kill."""
        process.wanted = False
        with process.lock:
            child = process.child
            if child is not None and child.poll() is None:
                child.terminate()
                try:
                    child.wait(grace_s)
                except subprocess.TimeoutExpired:
                    self._log(f"{process.key} did not end within {grace_s:.0f} s, killed")
                    child.kill()
                    child.wait()
        with self._lock:
            self._processes.pop(process.key, None)
        self._record(process.key).unlink(missing_ok=True)

    def close(self) -> None:
        """End whatever still runs, and the threads."""
        self._closed.set()
        with self._lock:
            left = list(self._processes.values())
        for process in left:
            self.end(process)
        self._jobs.put(None)

    def snapshot(self, prefix: str) -> list[Json]:
        with self._lock:
            found = [p for k, p in sorted(self._processes.items()) if k.startswith(prefix)]
        return [
            {"name": p.key.rpartition(".")[2], "pid": p.pid, "rss": resident_bytes(p.pid)} for p in found if p.running
        ]

    def _watch_loop(self) -> None:
        ticks = 0
        while not self._closed.wait(_TICK_S):
            ticks += 1
            with self._lock:
                processes = list(self._processes.values())
            for process in processes:
                self._guard(lambda p=process: self._revive(p))  # type: ignore[misc]
                if ticks % _LOG_EVERY_TICKS == 0:
                    self._guard(lambda p=process: bound_log(p.log_file))  # type: ignore[misc]

    def _guard(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:
            self._log(f"watching processes: {error}")

    def _revive(self, process: Process) -> None:
        now = time.monotonic()
        with process.lock:
            if process.child is None or not (process.wanted and process.restart):
                return
            if process.running or now < process.retry_at:
                return
            if process.retry_at == 0.0:  # just seen dead: wait, longer each time it dies young
                process.failures = process.failures + 1 if now - process.started_at < 60 else 1
                wait = min(_MAX_BACKOFF_S, 2.0 ** (process.failures - 1))
                process.retry_at = now + wait
                self._log(f"{process.key} ended with code {process.exit_code}, again in {wait:.0f} s")
                return
            process.retry_at = 0.0
            self._spawn(process)


def bound_log(path: Path) -> None:
    """Keep a log that a program holds open for appending under its limit: its tail moves to `.1`, it starts anew."""
    try:
        if path.stat().st_size <= _LOG_LIMIT:
            return
    except OSError:
        return
    path.with_name(path.name + ".1").write_text(tail(path, _LOG_KEEP))
    os.truncate(path, 0)
