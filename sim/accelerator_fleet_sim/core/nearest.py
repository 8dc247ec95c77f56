"""The nearest valid word to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable


def _distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The closest of the words, None when none is close (more than half of it differs)."""
    folded = word.lower().replace("_", "")
    best = min(words, key=lambda w: (_distance(folded, w.lower()), w), default=None)
    if best is None or _distance(folded, best.lower()) > max(2, len(word) // 2):
        return None
    return best
