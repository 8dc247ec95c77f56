"""Runs the literal Pulumi CLI, shows its progress in one line and keeps its whole output in a log file."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.status import Status

from accelerator_fleet_engine.events import Follower, Watch

POLL = 0.2  # seconds between two looks at the event stream
PLAIN_EVERY = 15.0  # seconds between two progress lines where there is no terminal
KEEP_LOGS = 20


@dataclass(frozen=True)
class Outcome:
    code: int
    watch: Watch
    log: Path
    seconds: float
    interrupted: bool


class Interrupts:
    """Passes Ctrl-C on to the engine: the first lets it finish what it started, the second ends it at once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.count = 0
        self.process: subprocess.Popen[bytes] | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count == 1:
            self._console.print("stopping: the engine finishes what it has started (Ctrl-C again ends it at once)")
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)


@contextmanager
def _passing_on(console: Console) -> Iterator[Interrupts]:
    handler = Interrupts(console)
    if threading.current_thread() is not threading.main_thread():
        yield handler
        return
    old = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield handler
    finally:
        for number, previous in old.items():
            signal.signal(number, previous)


def _new_log(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.log"))[:-KEEP_LOGS]:
        old.unlink(missing_ok=True)
    return folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{name}.log"


def run(
    arguments: list[str],
    *,
    project: Path,
    variables: Mapping[str, str],
    logs: Path,
    name: str,
    verb: str,
    total: int | None,
    console: Console,
) -> Outcome:
    """Runs `pulumi ARGUMENTS` in `project` and waits for it.

    `verb` begins the progress line (`updating`), `total` is how many resources will change, where it is known.
    """
    log = _new_log(logs, name)
    events = log.with_suffix(".events")
    command = ["pulumi", *arguments, "--non-interactive", "--color", "never", "--event-log", str(events)]
    # `--event-log` is there for tools like this one; the CLI shows it only with this variable set.
    env = {**os.environ, **variables, "PULUMI_DEBUG_COMMANDS": "true"}
    watch, follower, started = Watch(), Follower(events), time.monotonic()
    with open(log, "wb") as output, _passing_on(console) as interrupts:
        output.write(f"$ {' '.join(command)}\n".encode())
        output.flush()
        # In a session of its own: Ctrl-C reaches it once, through us, however we were started.
        process = subprocess.Popen(
            [_found("pulumi", env["PATH"]), *command[1:]],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        interrupts.process = process
        show = _Line(console, verb, total)
        with show:
            while process.poll() is None:
                follower.read(watch)
                show.update(watch, time.monotonic() - started)
                time.sleep(POLL)
        follower.read(watch)
        follower.close()
    events.unlink(missing_ok=True)  # the log has what people need; this one repeats every input
    return Outcome(process.returncode, watch, log, time.monotonic() - started, interrupts.count > 0)


def _found(name: str, path: str) -> str:
    for entry in path.split(os.pathsep):
        if os.access(Path(entry) / name, os.X_OK):
            return str(Path(entry) / name)
    return name


class _Line:
    """One line that changes in place on a terminal; elsewhere a line now and then."""

    def __init__(self, console: Console, verb: str, total: int | None) -> None:
        self._console, self._verb, self._total = console, verb, total
        self._status = Status(verb, console=console) if console.is_terminal else None
        self._last = 0.0

    def __enter__(self) -> None:
        if self._status:
            self._status.start()

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def update(self, watch: Watch, seconds: float) -> None:
        count = f"{watch.seen} resources" if self._total is None else f"{watch.done} of {self._total} resources"
        failed = f" · {watch.failed} failed" if watch.failed else ""
        current = f" · {watch.current}" if watch.current and self._total is not None else ""
        text = f"{self._verb}: {count}{failed} · {round(seconds)} s{current}"
        if self._status:
            self._status.update(text)
        elif seconds - self._last >= PLAIN_EVERY:
            self._last = seconds
            self._console.print(f"  {text}", markup=False, highlight=False, soft_wrap=True)
