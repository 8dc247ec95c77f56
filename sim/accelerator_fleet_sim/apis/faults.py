"""Faults on the APIs' side: calls refused (`throttling`, `5xx`), reads that do not find what was just made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..aws.scope import Scope as AwsScope
from ..daemon.clock import Clock
from ..daemon.faults import Fault, Faults, Target
from ..daemon.store import Resource
from ..daemon.unreliable import stale_seconds, target_of
from ..google.scope import Scope as GoogleScope

REFUSALS = ("throttling", "5xx")


def struck(faults: Faults, cloud: str, kind: str, params: dict[str, Any]) -> str | None:
    """The kind of fault that refuses a call about a type with these parameters; None mostly."""
    names = tuple(str(v) for v in params.values() if isinstance(v, str))
    cluster = params.get("clusterName") or params.get("cluster") or ""
    target = Target(cloud, kind, names, (), str(cluster))
    return next((k for k in REFUSALS if faults.strike(k, target)), None)


def type_of(tokens: list[str], words: str, service: str) -> str:
    """The type that a call is about: the one whose name stands in the call's; else the service by itself."""
    text = words.lower()
    named = [t for t in tokens if t.rpartition(":")[2].lower() in text]
    return max(named, key=lambda t: len(t.rpartition(":")[2]), default=service)


def hiding(faults: Faults, clock: Clock) -> list[Fault]:
    """The `stale-read` faults that hold now."""
    return [f for f in faults.all() if f.kind == "stale-read" and f.start <= clock.now()]


def unseen(found: list[Fault], clock: Clock, resource: Resource, target: Target) -> bool:
    """Whether reads miss a resource that is still too new. Looking is no hit: only the provider's reads count."""
    key = f"{resource.type} {resource.id}"
    return any(
        f.fits(target)
        and clock.now() < resource.created + stale_seconds(f)
        and (f.times is None or key in f.hits or len(f.hits) < f.times)
        for f in found
    )


@dataclass
class AwsReads(AwsScope):
    """A call's surroundings as AWS's reads see them."""

    stale: list[Fault] = field(default_factory=list)

    def find(self, kind: str, identity: Any) -> Resource | None:
        found = super().find(kind, identity)
        return None if found is not None and self._late(found) else found

    def all(self, kind: str, **outputs: Any) -> list[Resource]:
        found = super().all(kind, **outputs)
        return [r for r in found if not self._late(r)] if self.stale else found

    def _late(self, resource: Resource) -> bool:
        if not self.stale:
            return False
        target = target_of("aws", self.store, resource.type, resource.outputs, resource.id)
        return unseen(self.stale, self.world.clock, resource, target)


@dataclass
class GoogleReads(GoogleScope):
    """A call's surroundings as Google's reads see them."""

    stale: list[Fault] = field(default_factory=list)

    def find(self, kind: str, identity: str) -> Resource | None:
        found = super().find(kind, identity)
        return None if found is not None and self._late(found) else found

    def all(self, kind: str, **outputs: Any) -> list[Resource]:
        found = super().all(kind, **outputs)
        return [r for r in found if not self._late(r)] if self.stale else found

    def _late(self, resource: Resource) -> bool:
        if not self.stale:
            return False
        target = target_of("gcp", self.store, resource.type, resource.outputs, resource.id)
        return unseen(self.stale, self.world.clock, resource, target)
