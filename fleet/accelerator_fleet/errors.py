"""Errors for people: where in the spec, what is wrong, and the nearest thing that would work."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Final

FEW: Final = 10  # as many known words as a reader takes in at a glance


class FleetError(Exception):
    """One mistake in what a person wrote; commands print it and end with 2, without a traceback.

    `path` is the place inside the spec (`pools[1].cards`), `file` and `line` where it stands, when known.
    Rendered `fleets/dev.yaml:7 · pools[1].cards: 12 h100 cards do not fill nodes of 8; …`.
    """

    def __init__(self, path: str, message: str, *, file: str | None = None, line: int | None = None) -> None:
        self.path = path
        self.message = message
        self.file = file
        self.line = line
        super().__init__(path, message)

    @property
    def errors(self) -> tuple[FleetError, ...]:
        """This error alone; `FleetErrors` overrides it."""
        return (self,)

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file or ""
        where = " · ".join(p for p in (place, self.path) if p)
        return f"{where}: {self.message}" if where else self.message


class FleetErrors(FleetError):
    """Several mistakes found in one pass, one line each, in the order of the file."""

    def __init__(self, errors: Iterable[FleetError]) -> None:
        self._errors = tuple(errors)
        first = self._errors[0]
        super().__init__(first.path, first.message, file=first.file, line=first.line)

    @property
    def errors(self) -> tuple[FleetError, ...]:
        return self._errors

    def __str__(self) -> str:
        return "\n".join(str(e) for e in self._errors)


def raise_all(errors: Sequence[FleetError]) -> None:
    """Raises nothing, the one error, or all of them together."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise FleetErrors(errors)


def nearest(word: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known words most like `word`, best first; empty when none is alike."""
    by_lower = {k.lower(): k for k in sorted(known)}
    found = difflib.get_close_matches(word.lower(), list(by_lower), n=count, cutoff=0.5)
    return [by_lower[f] for f in found]


def unknown(kind: str, word: str, known: Iterable[str]) -> str:
    """`unknown chip 'h10'; nearest: h100, b200` — the text every unknown word gets.

    All known words follow where they are few, or where none is alike.
    """
    words = sorted(known)
    close = nearest(word, words, count=3)
    head = f"unknown {kind} '{word}'"
    if close:
        head += f"; nearest: {', '.join(close)}"
    return f"{head}; known: {', '.join(words)}" if words and (len(words) <= FEW or not close) else head
