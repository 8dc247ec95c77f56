"""Faults that somebody asked for: what goes wrong, with what, from when on and how often. They lie in the store."""

from __future__ import annotations

import fnmatch
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from .clock import Clock
from .faultkinds import KINDS
from .store import Store


@dataclass(frozen=True)
class Target:
    """What a call or a launch is about; a fault's patterns are held against it."""

    cloud: str
    type: str
    names: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    cluster: str = ""


@dataclass
class Fault:
    """One fault. Patterns are shell patterns, empty: any. `hits`: what it has struck, a call or a resource each."""

    id: int
    kind: str
    cloud: str = ""
    type: str = ""
    name: str = ""
    zone: str = ""
    cluster: str = ""
    start: float = 0.0  # simulated time from which it holds
    times: int | None = None
    seconds: float | None = None
    hits: list[str] = field(default_factory=list)

    def fits(self, target: Target) -> bool:
        """Whether all patterns match."""
        kind = target.type.lower()
        return (
            (not self.cloud or self.cloud == target.cloud)
            and (not self.type or fnmatch.fnmatch(kind, self.type.lower()) or kind.endswith(f":{self.type.lower()}"))
            and _any(self.name, target.names)
            and _any(self.zone, target.zones)
            and _any(self.cluster, (target.cluster,))
        )


def _any(pattern: str, values: tuple[str, ...]) -> bool:
    """Whether a shell pattern, or a word between hyphens, fits one of the values."""
    if not pattern:
        return True
    words = [v.replace(":", "-").replace("/", "-") for v in values]
    return any(fnmatch.fnmatch(v, pattern) for v in values) or any(f"-{pattern}-" in f"-{w}-" for w in words)


class Faults:
    """All faults of a datacentre. Each change is written before it is used."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock

    def all(self) -> list[Fault]:
        """Every fault, oldest first, those that are used up too."""
        known = {f.name for f in fields(Fault)}
        return [Fault(**{k: v for k, v in row.items() if k in known}) for row in self._store.meta("faults") or []]

    def add(self, body: dict[str, Any]) -> Fault:
        """Take one up; ValueError says what is wrong with it."""
        if body.get("kind") not in KINDS:
            raise ValueError(f"no fault {body.get('kind')!r}; there are: {', '.join(KINDS)}")
        times = body.get("times")
        if times is not None and int(times) < 1:
            raise ValueError(f"times {times}: at least 1")
        with self._store.lock:
            found = self.all()
            start = self._clock.now() + float(body.get("after") or 0)
            keys = ("kind", "cloud", "type", "name", "zone", "cluster", "seconds")
            given = {k: body[k] for k in keys if body.get(k) is not None}
            made = Fault(id=max([f.id for f in found], default=0) + 1, start=start, times=times, **given)
            self._save([*found, made])
        return made

    def clear(self, identity: int | None = None) -> list[Fault]:
        """Forget one, or all; those forgotten."""
        with self._store.lock:
            found = self.all()
            gone = [f for f in found if identity is None or f.id == identity]
            self._save([f for f in found if f not in gone])
        return gone

    def strike(self, kinds: str | tuple[str, ...], target: Target, key: str = "") -> Fault | None:
        """The fault that this call or resource runs into, noted as a hit. A `key` that was hit stays hit."""
        wanted = (kinds,) if isinstance(kinds, str) else kinds
        with self._store.lock:
            found = self.all()
            for fault in found:
                if fault.kind not in wanted or fault.start > self._clock.now() or not fault.fits(target):
                    continue
                if key and key in fault.hits:
                    return fault
                if fault.times is not None and len(fault.hits) >= fault.times:
                    continue
                if fault.times is not None or key:
                    fault.hits.append(key or f"call {len(fault.hits) + 1}")
                    self._save(found)
                return fault
        return None

    def note(self, identity: int, key: str) -> None:
        """Remember a hit of a fault that was found by other means."""
        with self._store.lock:
            found = self.all()
            for fault in found:
                if fault.id == identity:
                    fault.hits.append(key)
            self._save(found)

    def rows(self) -> list[dict[str, Any]]:
        """What `fleet sim fault list` prints."""
        now = self._clock.now()
        return [{**asdict(f), "in": max(0.0, f.start - now), "left": None if f.times is None else
                 max(0, f.times - len(f.hits))} for f in self.all()]  # fmt: skip

    def _save(self, faults: list[Fault]) -> None:
        self._store.set_meta("faults", [asdict(f) for f in faults])
