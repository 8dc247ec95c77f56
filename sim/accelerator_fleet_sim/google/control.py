"""The simulated Google control plane: create, read, update, delete and invoke over the behaviours of all types."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from ..aws.control import INSTANT
from ..core.plan import Refused
from ..core.rules import Rules
from ..daemon.faultrules import duration
from ..daemon.faults import Fault
from ..daemon.operations import Operations, describe
from ..daemon.server import HttpError
from ..daemon.store import Operation, Resource
from ..daemon.unreliable import stale_seconds, target_of
from . import imports
from .behaviour import Behaviour
from .errors import GoogleError, Later, Unhealthy, body
from .functions import PREFIX
from .queued.service import QueuedResources
from .reads import FUNCTIONS, NotFound
from .scope import (
    ACCOUNT,
    ADDRESS,
    CLOUD,
    CLUSTER,
    CONNECTION,
    FILESTORE,
    FIREWALL,
    LUSTRE,
    MEMBER,
    NAT,
    NETWORK,
    NODE_POOL,
    POLICY,
    RESERVATION,
    ROUTER,
    SUBNETWORK,
    Scope,
    World,
)
from .services import capacity, clusters, iam, network, nodepools, storage

DATA = Path(__file__).parent / "data"

CLASSES: dict[str, type[Behaviour]] = {
    NETWORK: network.Network,
    SUBNETWORK: network.Subnetwork,
    ROUTER: network.OfNetwork,
    NAT: network.RouterNat,
    FIREWALL: network.OfNetwork,
    ADDRESS: network.GlobalAddress,
    CONNECTION: network.Connection,
    POLICY: capacity.ResourcePolicy,
    RESERVATION: capacity.Reservation,
    ACCOUNT: iam.Account,
    MEMBER: iam.ProjectMember,
    CLUSTER: clusters.Cluster,
    NODE_POOL: nodepools.NodePool,
    FILESTORE: storage.Filestore,
    LUSTRE: storage.Lustre,
}
DOING = {"create": "creating", "update": "updating", "delete": "deleting"}


class ControlPlane:
    """All of Google Cloud for one datacentre. Verbs take the request's body and raise HttpError."""

    def __init__(self, world: World, operations: Operations) -> None:
        self.world, self.operations = world, operations
        rules = Rules.load(DATA / "rules.json")
        self.behaviours: dict[str, Behaviour] = {}
        for token, row in json.loads((DATA / "behaviour.json").read_text())["types"].items():
            own = rules.get(token)
            assert own is not None, token
            self.behaviours[token] = CLASSES[token](token, row, own)
        self.fault_rules = world.fault_rules
        operations.clouds[CLOUD] = self.finish
        self.queued = QueuedResources(world, operations)

    # -- verbs ------------------------------------------------------------------------------------------------------
    def create(self, call: dict[str, Any]) -> dict[str, Any]:
        """Start making a resource."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        try:
            with scope.store.transaction():
                resource = behaviour.create(scope, call["inputs"])
                resource.state = "creating"
                scope.store.put(resource)
                seconds = behaviour.seconds(scope, "create", resource)
                operation = self._operation("create", scope, resource, seconds, call)
        except (GoogleError, Refused) as error:
            raise self._error(error, behaviour, "create") from error
        return self._go(operation)

    def update(self, call: dict[str, Any]) -> dict[str, Any]:
        """Start changing a resource."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        resource = scope.find(behaviour.token, call["id"])
        if resource is None:
            raise self._error(GoogleError(404, "notFound", f"The resource '{call['id']}' was not found"), behaviour,
                              "update")  # fmt: skip
        try:
            with scope.store.transaction():
                before = behaviour.change(scope, resource, call["inputs"])
                scope.store.put(resource)
                seconds = behaviour.seconds(scope, "update", resource, before)
                operation = self._operation("update", scope, resource, seconds, call)
        except (GoogleError, Refused) as error:
            raise self._error(error, behaviour, "update") from error
        return self._go(operation)

    def delete(self, call: dict[str, Any]) -> dict[str, Any]:
        """Start deleting a resource; one that is gone already is deleted."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        state = call.get("state") or {}
        resource = scope.find(behaviour.token, call["id"])
        done = {"operation": "", "status": "done", "id": call["id"], "result": {}}
        if resource is None:
            return done
        if state.get("deletionPolicy") == "ABANDON":
            resource.owner = "account"  # the engine forgets it, the cloud does not
            scope.store.put(resource)
            return done
        try:
            with scope.store.transaction():
                behaviour.check_delete(scope, resource, state)
                resource.state = "deleting"
                scope.store.put(resource)
                seconds = behaviour.seconds(scope, "delete", resource)
                operation = self._operation("delete", scope, resource, seconds, call)
        except GoogleError as error:
            raise self._error(error, behaviour, "delete") from error
        return self._go(operation)

    def read(self, call: dict[str, Any]) -> Any:
        """A resource as it is; None when it is gone. What only the engine's state holds comes back from there."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        if call.get("state", True):
            found = scope.find(behaviour.token, call["id"])
            return None if found is None else {"id": found.id, "outputs": found.outputs}
        found = scope.find(behaviour.token, imports.state_id(behaviour.token, call["id"]))
        return None if found is None else {"id": found.id, "outputs": imports.outputs(found.type, found.outputs)}

    def invoke(self, call: dict[str, Any]) -> Any:
        """Answer a function."""
        token = call["function"]
        if token not in FUNCTIONS:
            raise HttpError(404, {"code": "NoSuchFunction", "message": token, "text": f"{token} is not simulated"})
        scope = self._scope(call)
        try:
            with scope.store.lock:
                return FUNCTIONS[token](scope, call["args"])
        except (NotFound, GoogleError) as error:
            raise HttpError(404, {"code": "notFound", "message": str(error), "text": str(error)}) from error

    # -- the end of an operation ------------------------------------------------------------------------------------
    def finish(self, operation: Operation) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """End an operation whose time is over; also after a restart."""
        behaviour = self.behaviours[operation.type]
        scope = Scope(self.world, operation.account, operation.request["settings"])
        resource = scope.find(operation.type, operation.resource)
        if resource is None:
            return {}, None
        settle = {"create": behaviour.settle, "update": behaviour.settle_update, "delete": behaviour.deleted}
        if operation.kind == "create" and self._struck("hang", resource) is not None:
            raise Later(60)
        try:
            settle[operation.kind](scope, resource)
        except (Unhealthy, GoogleError) as problem:
            resource.state = "failed"
            resource.hidden |= {"status": "ERROR", "status_message": str(problem)}
            scope.store.put(resource)
            text = self._waited(operation, behaviour, str(problem))
            code = problem.code if isinstance(problem, Unhealthy) else problem.reason
            return None, {"code": code, "message": str(problem), "text": text, **self._kept(operation, resource)}
        if operation.kind == "delete":
            scope.store.remove(resource)
            return {}, None
        resource.state = "active"
        for key in ("status", "status_message"):
            resource.hidden.pop(key, None)
        scope.store.put(resource)
        missed = self._missed(operation, resource)
        return (None, missed) if missed else (resource.outputs, None)

    # -- faults -----------------------------------------------------------------------------------------------------
    @staticmethod
    def service(kind: str) -> str:
        """The API that a type belongs to: `container`, `compute`."""
        return kind.partition(":")[2].partition("/")[0]

    def failed_call(self, call: dict[str, Any], verb: str, row: dict[str, Any], given_up: bool) -> dict[str, Any]:
        """The error of a call that the cloud did not answer."""
        error = GoogleError(row["status"], row["code"], row["message"])
        if "function" in call:
            return body(error, "")
        behaviour = self.behaviours[call["type"]]
        if verb == "read":
            return body(error, f'Error when reading or editing {behaviour.noun} "{call.get("id")}"')
        return dict(self._error(error, behaviour, verb).body)

    def late(self, operation: Operation) -> dict[str, Any]:
        """The error of a provider that waits no longer."""
        behaviour = self.behaviours[operation.type]
        scope = Scope(self.world, operation.account, operation.request["settings"])
        resource = scope.find(operation.type, operation.resource)
        text = (
            f"timeout while waiting for state to become 'DONE' (last state: 'RUNNING', timeout: "
            f"{duration(operation.request['limit'])})"
        )
        text = self._waited(operation, behaviour, text)
        if operation.type == NODE_POOL and operation.kind == "create":
            name = resource.outputs["name"] if resource else operation.resource
            text = f'NodePool "{name}" has state "PROVISIONING" with message ""'
        kept = self._kept(operation, resource) if resource else {}
        return {"code": "Timeout", "message": text, "text": text, **kept}

    def _waited(self, operation: Operation, behaviour: Behaviour, problem: str) -> str:
        """What the provider prints when the wait for an operation ends badly."""
        noun, waits = behaviour.noun, behaviour.row.get("waits", behaviour.noun)
        if operation.type == NODE_POOL and operation.kind == "create":
            name = operation.resource.rpartition("/")[2]  # resource_container_node_pool.go:943
            return f'NodePool {name} was created in the error state "ERROR"'
        if operation.kind == "create" and self.fault_rules.state(operation.type, "create") == "nothing":
            return f"Error waiting to create {noun}: Error waiting for Creating {noun}: {problem}"
        return f"Error waiting for {DOING[operation.kind]} {waits}: {problem}"

    def _kept(self, operation: Operation, resource: Resource) -> dict[str, Any]:
        """What the provider leaves in the state after a failed create or update."""
        if operation.kind == "delete":
            return {}
        made = self.fault_rules.state(operation.type, operation.kind)
        return {"id": resource.id, "outputs": resource.outputs, "made": made}

    def _missed(self, operation: Operation, resource: Resource) -> dict[str, Any] | None:
        """A create whose own read does not find what was made: the engine gets nothing to remember."""
        if operation.kind != "create":
            return None
        fault = self._struck("stale-read", resource)
        if fault is None or self.world.clock.now() >= resource.created + stale_seconds(fault):
            return None
        text = self.fault_rules.data["stale"]["text"]
        return {"code": "notFound", "message": text, "text": text}

    def _struck(self, kind: str, resource: Resource) -> Fault | None:
        target = target_of(CLOUD, self.world.store, resource.type, resource.outputs, resource.id)
        return self.world.faults.strike(kind, target, key=f"{resource.type} {resource.id}")

    # -- inside -----------------------------------------------------------------------------------------------------
    def _go(self, operation: Operation) -> dict[str, Any]:
        if operation.due - operation.started < INSTANT:
            self.operations.end(operation.id)
            ended = self.world.store.operation(operation.id)
            assert ended is not None
            return describe(ended)
        self.operations.add(operation)
        return describe(operation)

    def _operation(
        self, kind: str, scope: Scope, resource: Resource, seconds: float, call: dict[str, Any]
    ) -> Operation:
        now = self.world.clock.now()
        limit = self.fault_rules.timeout(resource.type, kind, call.get("timeout"))
        if resource.type == NODE_POOL and kind == "create":
            limit *= 2  # once for the operation, once for the pool to rest (resource_container_node_pool.go:937)
        request = {"settings": scope.settings, "limit": limit}
        made = Operation(f"operation-{secrets.token_hex(8)}", CLOUD, kind, scope.project, "", resource.type,
                         resource.id, request, started=now, due=now + seconds)  # fmt: skip
        scope.store.put_operation(made)
        return made

    def _behaviour(self, call: dict[str, Any]) -> Behaviour:
        found = self.behaviours.get(call["type"])
        if found is None:
            text = (
                f"{call['type']}: its rules are known (Check, Diff), its control plane is not simulated; refused "
                "rather than guessed"
            )
            raise HttpError(404, {"code": "NotSimulated", "message": text, "text": text})
        return found

    def _scope(self, call: dict[str, Any]) -> Scope:
        given = call.get("inputs") or call.get("state") or {}
        project = str(given.get("project") or call.get("project") or "")
        if not project.startswith(PREFIX):
            text = (
                f"googleapis: Error 403: Permission denied on resource project {project or '(none)'}: the projects of "
                f"this embedded datacentre are named {PREFIX}*, forbidden"
            )
            raise HttpError(403, {"code": "forbidden", "message": text, "text": text})
        settings = {k: call.get(k) for k in ("region", "zone", "labels", "attribution", "strategy")}
        return Scope(self.world, project, settings)

    @staticmethod
    def _error(error: Exception, behaviour: Behaviour, kind: str) -> HttpError:
        if isinstance(error, Refused):
            return HttpError(400, {"code": "refused", "message": str(error), "text": str(error)})
        assert isinstance(error, GoogleError)
        lead = f"{'error' if behaviour.token == NODE_POOL else 'Error'} {DOING[kind]} {behaviour.noun}"
        plain = "" if not error.reason or behaviour.token in (CLUSTER,) else lead
        return HttpError(error.status, body(error, plain))
