"""What `fleet sim fault` and `fleet sim console` ask of a datacentre: faults on and off, somebody else's hand."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..google.scope import Scope
from ..google.services.capacity import seed_calendar
from .faultkinds import AT_ONCE, QUEUED
from .faults import Fault, Faults, Target
from .server import HttpError, Route
from .store import Resource, Store

NODE_GROUP, NODE_POOL = "aws:eks/nodeGroup:NodeGroup", "gcp:container/nodePool:NodePool"


def _bad(text: str) -> HttpError:
    return HttpError(400, {"code": "BadFault", "message": text, "text": text})


class FaultDesk:
    """Routes of faults and of the console. `aws` and `google` are the control planes, without faults before them."""

    def __init__(
        self, store: Store, faults: Faults, clusters: Any, aws: Any, google: Any, log: Callable[[str], None]
    ) -> None:
        self.store, self.faults, self.clusters, self.log = store, faults, clusters, log
        self.aws, self.google = aws, google

    def routes(self) -> dict[tuple[str, str], Route]:
        """All routes."""
        return {
            ("GET", "/faults"): lambda q, b: self.faults.rows(),
            ("POST", "/faults"): self._add,
            ("POST", "/faults/clear"): self._clear,
            ("POST", "/console/scale"): self._scale,
            ("POST", "/console/reserve"): self._reserve,
            ("POST", "/console/terminate"): self._terminate,
        }

    # -- faults -----------------------------------------------------------------------------------------------------
    def _add(self, query: dict[str, str], body: Any) -> Any:
        try:
            fault = self.faults.add(body)
        except ValueError as error:
            raise _bad(str(error)) from error
        if fault.kind in AT_ONCE:
            self._real(fault, float(body.get("after") or 0))
        if fault.kind in QUEUED:
            self.google.queued.look(fault)
        return next(row for row in self.faults.rows() if row["id"] == fault.id)

    def _clear(self, query: dict[str, str], body: Any) -> Any:
        gone = self.faults.clear(body.get("id"))
        if any(f.kind == "disk-full" for f in gone):
            self.clusters.full(False)
        for fault in gone:
            if fault.kind == "apiserver-restart":
                for name in self._named(fault):
                    self.clusters.end_outage(name)
        return {"cleared": [f.id for f in gone]}

    def _named(self, fault: Fault) -> list[str]:
        """Clusters of the runtime that a fault means: by the cloud's name, or by that of the context."""
        cloud_names = {
            r.hidden["runtime"]: str(r.outputs.get("name") or r.id)
            for r in self.store.resources()
            if r.type.endswith("luster:Cluster") and r.hidden.get("runtime")
        }
        return [n for n in self.clusters.names() if fault.fits(Target("", "", (), (), cloud_names.get(n, n)))]

    def _real(self, fault: Fault, after: float) -> None:
        """Faults of the real control planes happen by themselves, once."""
        if fault.kind == "apiserver-restart" and not self._named(fault):
            self.faults.clear(fault.id)
            raise _bad(f"no cluster fits {fault.cluster or 'this'}; there are: {', '.join(self.clusters.names())}")
        timer = threading.Timer(after, self._happen, args=(fault,))
        timer.daemon = True
        timer.start()
        if not after and fault.kind == "disk-full":
            timer.join()

    def _happen(self, fault: Fault) -> None:
        try:
            if fault.kind == "disk-full":
                self.clusters.full(True)
                self.faults.note(fault.id, "etcd")
                return
            for name in self._named(fault):
                self.faults.note(fault.id, name)
                self.log(f"fault {fault.id}: API server of {name} away for {fault.seconds or 0:g} s")
                threading.Thread(
                    target=self.clusters.outage, args=(name, float(fault.seconds or 0)), daemon=True
                ).start()
        except Exception as problem:
            self.log(f"fault {fault.id} ({fault.kind}): {problem!r}")

    # -- the console ------------------------------------------------------------------------------------------------
    def _scale(self, query: dict[str, str], body: Any) -> Any:
        """Somebody scales a pool by hand, past every program; waits until the cloud has done it."""
        found = self._pool(str(body["name"]))
        nodes = int(body["nodes"])
        if found.type == NODE_GROUP:
            size = {**found.outputs["scalingConfig"], "desiredSize": nodes}
            size = {**size, "maxSize": max(size["maxSize"], nodes), "minSize": min(size["minSize"], nodes)}
            control: Any = self.aws
            call = {"region": found.region, "inputs": {**found.inputs, "scalingConfig": size}}
        else:
            control = self.google
            call = {"project": found.account, "inputs": {**found.inputs, "nodeCount": nodes}}
        answer = control.update({"type": found.type, "id": found.id, "account": found.account, **call})
        if answer["operation"]:
            control.operations.wait(answer["operation"], 60)
        return {"id": found.id, "nodes": nodes}

    def _reserve(self, query: dict[str, str], body: Any) -> Any:
        """A calendar reservation is delivered: `project`, `zone`, `name`, `machine`, `count`, and when it starts and
        ends, in simulated seconds from now."""
        scope = Scope(self.google.world, str(body["project"]))
        now = scope.world.clock.now()
        times = {"starts": now + float(body["starts_in"]), "ends": now + float(body["ends_in"])}
        row = {k: body[k] for k in ("name", "machine", "count", "blocks", "shared") if k in body}
        return {"id": seed_calendar(scope, str(body["zone"]), {**row, **times}), **times}

    def _terminate(self, query: dict[str, str], body: Any) -> Any:
        """A node's machine ends; the cloud starts another."""
        from ..nodeloss import lose

        done = lose(self.aws, self.google, str(body["node"]))
        if done is None:
            raise _bad(f"no machine has a node '{body['node']}'; see: kubectl get nodes")
        return done

    def _pool(self, name: str) -> Resource:
        pools = self.store.resources(type=NODE_GROUP) + self.store.resources(type=NODE_POOL)
        found = [p for p in pools if Fault(0, "", name=name).fits(Target(p.cloud, p.type, (p.id,)))]
        if len(found) != 1:
            there = ", ".join(p.id for p in found or pools) or "none"
            raise _bad(f"{len(found)} node groups and pools fit '{name}'; {'those' if found else 'there are'}: {there}")
        return found[0]
