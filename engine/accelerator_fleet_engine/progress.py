"""Progress of long work on the terminal: a bar with the remaining time, or plain lines where there is no terminal."""

import sys
import time
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

PLAIN_EVERY = 30.0  # seconds between two plain lines of one step


def minutes(seconds: float) -> str:
    """A duration as people say it: `40 s`, `about 7 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min"


class Estimate:
    """Remaining time of weighted steps: the weights until something is measured, then the measured pace."""

    def __init__(self, total: float) -> None:
        self.total = total
        self.started = time.monotonic()

    def remaining(self, done: float, now: float | None = None) -> float:
        """Seconds left when `done` of `total` weight is behind us. Early on the measured pace counts for little."""
        elapsed = (time.monotonic() if now is None else now) - self.started
        trust = min(1.0, done / self.total * 10) if self.total else 1.0
        pace = elapsed / done if done > 0 else 1.0
        return (self.total - done) * (trust * pace + (1 - trust) * 1.0)


class Steps:
    """Shows weighted steps one after another. Everything goes to standard error: standard output stays for results."""

    def __init__(self, total: float, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._console = Console(file=self._stream, highlight=False)
        self._estimate = Estimate(total)
        self._done = 0.0
        self._step = 0.0
        self._label = ""
        self._last_line = 0.0
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def __enter__(self) -> "Steps":
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f} %"),
                TextColumn("{task.fields[left]}"),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=self._estimate.total, left="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def say(self, text: str) -> None:
        """One line that stays."""
        self._console.print(text, markup=False, soft_wrap=True)

    def begin(self, label: str, weight: float) -> None:
        self._label, self._step, self._last_line = label, weight, 0.0
        self.update(0.0, "")

    def update(self, fraction: float, detail: str) -> None:
        """`fraction` (0 to 1) of the present step is done."""
        done = self._done + self._step * min(1.0, fraction)
        left = minutes(self._estimate.remaining(done)) + " left"
        text = f"{self._label}  {detail}".rstrip()
        if self._bar:
            self._bar.update(self._task, completed=done, description=text, left=left)
        elif time.monotonic() - self._last_line >= PLAIN_EVERY:
            self._last_line = time.monotonic()
            self.say(f"{text} ({left})")

    def end(self, text: str) -> None:
        """The present step is complete; `text` stays."""
        self._done += self._step
        self._step = 0.0
        self.say(text)
