"""How urgent a job is: the words, and what they weigh. Kueue's priorities, which leave those of pods alone."""

from __future__ import annotations

from typing import Final

PRIORITIES: Final[dict[str, tuple[int, str]]] = {
    "low": (100, "gives way to every other job"),
    "normal": (1000, "the usual"),
    "high": (10000, "takes the cards of low and normal jobs of its own queue"),
}
LABEL: Final = "kueue.x-k8s.io/priority-class"
