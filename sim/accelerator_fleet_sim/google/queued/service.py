"""The queue: requests wait for machines, become nodes, fail, are suspended and deleted, whoever still looks."""

from __future__ import annotations

import secrets
from typing import Any

from ...daemon.faultkinds import CAPACITY
from ...daemon.faults import Fault, Target
from ...daemon.operations import Later, Operations
from ...daemon.store import Operation, Resource
from ..scope import CLOUD, Scope, World
from . import nodes
from .checks import NODE, QUEUED, bad, check, check_editable, window
from .slices import TpuError, seconds

OPERATIONS = "gcp-tpu"  # under this name the datacentre's operations end here
LIFE = "life"  # the queue's own work; the others are what callers wait for
# What a delete without force takes (DeleteQueuedResourceRequest.force); nothing else has nodes for sure.
DELETABLE = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES", "FAILED", "SUSPENDED")
FAILED = (13, "The queued resource could not be provisioned: an internal error has occurred.")
EXPIRED = (4, "The queued resource could not be provisioned before the end of its validity interval.")


class QueuedResources:
    """Cloud TPU's queued resources of all embedded projects."""

    def __init__(self, world: World, operations: Operations) -> None:
        self.world, self.operations = world, operations
        operations.clouds[OPERATIONS] = self.finish

    # -- calls ------------------------------------------------------------------------------------------------------
    def create(self, project: str, zone: str, identity: str, asked: dict[str, Any], request: str) -> Operation:
        """Take a request into the queue; what is wrong with it is a TpuError, and nothing is there."""
        scope = Scope(self.world, project)
        identity = identity or f"qr-{secrets.token_hex(8)}"
        path = f"projects/{project}/locations/{zone}/queuedResources/{identity}"
        self._quota_fault(path, zone)  # before the transaction, which a refusal undoes
        with scope.store.transaction():
            key = f"tpu request:{project}:{request}"
            known = scope.store.operation(str(scope.store.meta(key))) if request else None
            if known is not None:
                return known
            if scope.find(QUEUED, path) is not None:
                raise TpuError("ALREADY_EXISTS", f"Resource '{path}' already exists")
            found, names = check(scope, zone, identity, asked)
            now = self.world.clock.now()
            since, until = window(asked.get("queueingPolicy") or {}, now)
            outputs = {k: v for k, v in asked.items() if k not in ("name", "createTime", "state")}
            outputs |= {"name": path, "zone": zone, "createTime": scope.zulu()}
            hidden = {
                "state": "CREATING", "since": since, "until": until, "nodes": names, "count": found.count * len(names),
                "generation": found.generation, "machine": found.machine, "hosts": found.hosts, "type": found.type,
                "topology": found.topology, "holds": 0,
            }  # fmt: skip
            made = Resource(CLOUD, project, "", QUEUED, path, state="creating", inputs=asked, outputs=outputs,
                            hidden=hidden, created=now)  # fmt: skip
            scope.store.put(made)
            operation = self._operation("create", made, seconds("create"))
            if request:
                scope.store.set_meta(key, operation.id)
        self.operations.add(operation)
        return operation

    def delete(self, scope: Scope, path: str, force: bool) -> Operation:
        """Start deleting; without force only what has no nodes."""
        with scope.store.transaction():
            queued = self._there(scope, QUEUED, path)
            state = queued.hidden["state"]
            if not force and state not in DELETABLE and nodes.of(scope, queued):
                raise TpuError(
                    "FAILED_PRECONDITION",
                    f"Queued resource '{path}' is in state {state}: delete its nodes first, or use force.",
                )
            self._become(scope, queued, "DELETING")
            nodes.marked(scope, queued, "DELETING")
            operation = self._operation("delete", queued, seconds("delete"))
        self.operations.add(operation)
        return operation

    def update_node(self, scope: Scope, path: str, paths: list[str], news: dict[str, Any]) -> Operation:
        """Start changing a node that runs."""
        with scope.store.transaction():
            node = nodes.editable(scope.find(NODE, path), path)
            check_editable(news)
            operation = self._operation("update", node, seconds("update"), paths=paths, news=news)
        self.operations.add(operation)
        return operation

    def delete_node(self, scope: Scope, path: str) -> Operation:
        """Start deleting a node; with it its queued resource is suspended, at its user's wish."""
        with scope.store.transaction():
            node = self._there(scope, NODE, path)
            queued = self._there(scope, QUEUED, node.outputs["queuedResource"])
            if len(queued.hidden["nodes"]) > 1:
                raise TpuError("UNIMPLEMENTED", "what becomes of a multislice queued resource that loses one node was "
                               "not read; delete the queued resource with force")  # fmt: skip
            self._become(scope, queued, "SUSPENDING", initiator="USER")
            nodes.marked(scope, queued, "DELETING")
            operation = self._operation("delete", node, seconds("delete_node"))
        self.operations.add(operation)
        return operation

    def look(self, fault: Fault) -> None:
        """A fault that ends running slices was added: look at them when it begins to hold."""
        for queued in self.world.store.resources(cloud=CLOUD, type=QUEUED):
            if queued.hidden["state"] == "ACTIVE" and fault.fits(self.target(queued)):
                wait = max(0.0, fault.start - self.world.clock.now())
                self.operations.add(self._operation(LIFE, queued, wait))

    # -- the end of an operation ------------------------------------------------------------------------------------
    def finish(self, operation: Operation) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """End what is due; Later when the queue's work goes on."""
        scope = Scope(self.world, operation.account)
        with scope.store.transaction():
            found = scope.find(operation.type, operation.resource)
            if found is None:
                return {}, None
            wait = self._step(scope, found) if operation.kind == LIFE else None
            more = None if operation.kind == LIFE else self._settle(scope, operation, found)
        if wait is not None:
            raise Later(wait)
        if more is not None:  # not inside the transaction: who waits for operations reads the store
            self.operations.add(more)
        return {}, None

    def _settle(self, scope: Scope, operation: Operation, found: Resource) -> Operation | None:
        """What a caller asked for is done; the operation that goes on with it."""
        if operation.type == NODE:
            if operation.kind == "update":
                nodes.change(scope, found, operation.request["paths"], operation.request["news"])
                return None
            queued = self._there(scope, QUEUED, found.outputs["queuedResource"])
            nodes.remove(scope, queued)
            if queued.hidden["state"] == "SUSPENDING":
                self._become(scope, queued, "SUSPENDED", initiator="USER")
            scope.store.put(queued)
        elif operation.kind == "delete":
            nodes.remove(scope, found)
            scope.store.remove(found)
        elif found.hidden["state"] == "CREATING":
            self._become(scope, found, "ACCEPTED")
            return self._operation(LIFE, found, seconds("accepted"))
        return None

    # -- the life of a request --------------------------------------------------------------------------------------
    def _step(self, scope: Scope, queued: Resource) -> float | None:
        """One step further; simulated seconds until the next look, None when nothing more happens by itself."""
        state = queued.hidden["state"]
        if state in ("ACCEPTED", "WAITING_FOR_RESOURCES"):
            return self._turn(scope, queued)
        if state == "PROVISIONING":
            if self._struck("hang", queued):
                return seconds("ask_again")
            nodes.ready(scope, queued)
            self._become(scope, queued, "ACTIVE")
            return seconds("watch")
        if state == "ACTIVE" and ((spot := self._preempted(queued)) or self._struck("suspended", queued)):
            nodes.marked(scope, queued, "PREEMPTED" if spot else "DELETING")
            self._become(scope, queued, "SUSPENDING", initiator="SERVICE")
            return seconds("suspend")
        if state == "SUSPENDING" and queued.hidden.get("initiator") == "SERVICE":
            nodes.remove(scope, queued)
            self._become(scope, queued, "SUSPENDED", initiator="SERVICE")
        return None

    def _turn(self, scope: Scope, queued: Resource) -> float | None:
        """Its turn in the queue, if it has come."""
        now, hidden = self.world.clock.now(), queued.hidden
        if self._struck("failed", queued):
            self._failed(scope, queued, FAILED)
            return None
        if hidden["until"] is not None and now >= hidden["until"]:
            self._failed(scope, queued, EXPIRED)
            return None
        reserved = queued.outputs.get("reservationName")
        none = now < hidden["since"] or nodes.short(scope, queued) or (not reserved and self._struck(CAPACITY, queued))
        if none:
            if hidden["state"] != "WAITING_FOR_RESOURCES":
                self._become(scope, queued, "WAITING_FOR_RESOURCES")
            ends = [t - now for t in (hidden["until"], hidden["since"]) if t is not None and t > now]
            return float(min([seconds("ask_again"), *ends]))
        nodes.make(scope, queued)
        self._become(scope, queued, "PROVISIONING")
        return seconds("provision")

    def _failed(self, scope: Scope, queued: Resource, error: tuple[int, str]) -> None:
        queued.hidden["error"] = {"code": error[0], "message": error[1]}
        self._become(scope, queued, "FAILED")

    def _become(self, scope: Scope, queued: Resource, state: str, initiator: str = "") -> None:
        queued.hidden |= {"state": state, "initiator": initiator}
        queued.state = {"ACTIVE": "active", "FAILED": "failed", "SUSPENDED": "failed"}.get(state, state.lower())
        scope.store.put(queued)

    # -- faults -----------------------------------------------------------------------------------------------------
    @staticmethod
    def target(resource: Resource) -> Target:
        """What faults' patterns are held against."""
        names = (resource.id, resource.id.rpartition("/")[2])
        return Target(CLOUD, resource.type, names, (str(resource.outputs["zone"]),))

    def _struck(self, kind: str | tuple[str, ...], queued: Resource) -> bool:
        key = f"{queued.type} {queued.id}"
        return self.world.faults.strike(kind, self.target(queued), key=key) is not None

    def _preempted(self, queued: Resource) -> bool:
        return "spot" in queued.outputs and self._struck("preempted", queued)

    def _quota_fault(self, path: str, zone: str) -> None:
        target = Target(CLOUD, QUEUED, (path, path.rpartition("/")[2]), (zone,))
        if self.world.faults.strike("quota", target):
            raise TpuError(
                "RESOURCE_EXHAUSTED", f"Quota limit of the project has been exceeded. Limit: 0 in zone {zone}."
            )

    # -- inside -----------------------------------------------------------------------------------------------------
    def _operation(self, kind: str, about: Resource, wait: float, **request: Any) -> Operation:
        now = self.world.clock.now()
        name = f"operation-{secrets.token_hex(12)}"
        made = Operation(name, OPERATIONS, kind, about.account, "", about.type, about.id, request, started=now,
                         due=now + wait)  # fmt: skip
        self.world.store.put_operation(made)
        return made

    @staticmethod
    def _there(scope: Scope, kind: str, path: str) -> Resource:
        found = scope.find(kind, path)
        if found is None:
            raise TpuError("NOT_FOUND", f"Resource '{path}' was not found")
        return found


__all__ = ["NODE", "OPERATIONS", "QUEUED", "QueuedResources", "bad"]
