"""What a plan collects on the way: facts it relied on and reasons for its choices."""

from __future__ import annotations

from typing import TypeVar

from accelerator_fleet.catalog.model import Entry, Table
from accelerator_fleet.plan.model import Fact, Reason

E = TypeVar("E", bound=Entry)


class Notes:
    """Facts and reasons of one plan, each once, in the order they came up."""

    def __init__(self) -> None:
        self._facts: dict[str, Fact] = {}
        self._reasons: list[Reason] = []
        self._warnings: list[Reason] = []

    def rely(self, table: Table[E], name: str, field: str) -> Fact:
        """Notes a figure as relied on, and returns it."""
        fact = table.fact(name, field)
        self._facts.setdefault(fact.subject, fact)
        return fact

    def given(self, subject: str, value: int, unit: str, path: str) -> None:
        """Notes a figure that the spec itself gave."""
        fact = Fact(subject=subject, value=value, unit=unit, status="verified", source=f"the spec, {path}", date="")
        self._facts.setdefault(subject, fact)

    def because(self, path: str, choice: str, why: str) -> None:
        """Notes why something was chosen."""
        self._reasons.append(Reason(path=path, choice=choice, why=why))

    def warn(self, path: str, choice: str, what: str) -> None:
        """Notes what people should know before they bring a change up."""
        self._warnings.append(Reason(path=path, choice=choice, why=what))

    def take(self, other: Notes) -> None:
        """Adds what a trial collected, now that it is the one used."""
        self._facts = {**other._facts, **self._facts}
        self._reasons += other._reasons
        self._warnings += other._warnings

    @property
    def facts(self) -> tuple[Fact, ...]:
        """By subject, so that the order of entries in the spec does not show."""
        return tuple(self._facts[k] for k in sorted(self._facts))

    @property
    def warnings(self) -> tuple[Reason, ...]:
        return tuple(self._warnings)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return tuple(self._reasons)
