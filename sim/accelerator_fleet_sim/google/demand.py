"""What jobs ask of a pool without a count: which pods are its, how many nodes they fill, which nodes are idle."""

from __future__ import annotations

import math
from typing import Any

from ..daemon.store import Resource
from . import nodes as shapes
from .scope import Scope
from .services.poolchecks import named_reservation
from .services.poolmodes import flex, queued

Json = dict[str, Any]
RESOURCES = ("nvidia.com/gpu", "google.com/tpu")


def by_jobs(pool: Resource) -> bool:
    """Whether the pool's nodes come when jobs ask for them.

    The autoscaler of other pools is not simulated: their count is what people, or a test, make it.
    """
    config = pool.outputs.get("nodeConfig") or {}
    bounds = pool.outputs.get("autoscaling") or {}
    waits = named_reservation(config) is not None and bounds.get("minNodeCount") in (0, None) and bool(bounds)
    one_zone = len(pool.outputs.get("nodeLocations") or []) == 1
    return one_zone and (flex(config) or queued(pool.outputs) or waits)


class Form:
    """What a node of the pool would be: labels, taints, cards."""

    def __init__(self, scope: Scope, pool: Resource) -> None:
        config = pool.outputs.get("nodeConfig") or {}
        figures = scope.catalog.machine(config["machineType"])
        assert figures is not None
        zone = pool.outputs["nodeLocations"][0]
        node = {"zone": zone, "machine": config["machineType"], "slot": 0}
        self.labels = shapes.labels(scope, pool, node, figures)
        self.taints = shapes.taints(figures, config, pool.outputs)
        found = shapes.devices(figures, config)
        self.resource, self.cards = next(((k, int(v)) for k, v in found.items()), ("", 0))
        bounds = pool.outputs.get("autoscaling") or {}
        self.most = int(bounds.get("maxNodeCount") or bounds.get("totalMaxNodeCount") or 0)
        # A slice of several hosts is whole or absent.
        self.whole = figures.get("kind") == "tpu" and bool(
            (pool.outputs.get("placementPolicy") or {}).get("tpuTopology")
        )

    def takes(self, spec: Json) -> bool:
        """Whether a pod would run on such a node: it asks for its cards, selects it and tolerates it."""
        selector = spec.get("nodeSelector") or {}
        asks = cards_of(spec, self.resource)
        return (
            0 < asks <= self.cards
            and all(self.labels.get(k) == v for k, v in selector.items())
            and all(any(tolerates(t, taint) for t in spec.get("tolerations") or []) for taint in self.taints)
        )

    def nodes_for(self, pods: list[int]) -> int:
        """Nodes that pods of so many cards each fill, at most the pool's."""
        if not pods:
            return 0
        if self.whole:
            return self.most
        number = sum(math.ceil(pods.count(size) / (self.cards // size)) for size in set(pods))
        return min(self.most, number)


def cards_of(spec: Json, resource: str) -> int:
    """Cards that a pod asks for."""
    rows = [(c.get("resources") or {}) for c in spec.get("containers") or []]
    return sum(int((r.get("limits") or {}).get(resource) or (r.get("requests") or {}).get(resource) or 0) for r in rows)


def tolerates(toleration: Json, taint: dict[str, str]) -> bool:
    """Kubernetes' rule."""
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") in (None, ""):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or (toleration.get("value") or "") == taint["value"]


def waiting(pod: Json) -> bool:
    """Whether the scheduler looked for a place and found none."""
    status = pod.get("status") or {}
    told = [c for c in status.get("conditions") or [] if c["type"] == "PodScheduled" and c["status"] == "False"]
    pending = status.get("phase") == "Pending" and "deletionTimestamp" not in pod["metadata"]
    return pending and any(c.get("reason") == "Unschedulable" for c in told)


def on_nodes(pods: list[Json], names: set[str]) -> list[Json]:
    """Pods with cards that are bound to these nodes and not over."""
    return [
        p
        for p in pods
        if p["spec"].get("nodeName") in names
        and (p.get("status") or {}).get("phase") in ("Pending", "Running")
        and any(cards_of(p["spec"], r) for r in RESOURCES)
    ]
