"""The simulated AWS control plane: create, read, update, delete and invoke over the behaviours of all types."""

from __future__ import annotations

import json
import secrets
import threading
from pathlib import Path
from typing import Any

from ..core.rules import Rules
from ..daemon.faultrules import duration
from ..daemon.faults import Fault
from ..daemon.operations import Operations, describe
from ..daemon.server import HttpError
from ..daemon.store import Operation, Resource
from ..daemon.unreliable import stale_seconds, target_of
from .behaviour import Behaviour
from .errors import AwsError, Later, Unhealthy, body
from .functions import ACCOUNT
from .reads import FUNCTIONS, NotFound, invoke
from .scope import CLOUD, Scope, World
from .services import (
    addons,
    blocks,
    capacity,
    eks,
    iam,
    nodegroups,
    routing,
    schedules,
    security,
    storage,
    templates,
    vpc,
)

DATA = Path(__file__).parent / "data"
TICK = "tick"  # an operation that nobody asked for: a time has come
INSTANT = 2.0  # simulated seconds below which an operation ends at once

CLASSES: dict[str, type[Behaviour]] = {
    vpc.VPC: vpc.Vpc,
    vpc.SUBNET: vpc.Subnet,
    vpc.GATEWAY: vpc.InternetGateway,
    vpc.EIP: vpc.Eip,
    vpc.NAT: vpc.NatGateway,
    "aws:ec2/vpcEndpoint:VpcEndpoint": vpc.VpcEndpoint,
    vpc.TABLE: routing.RouteTable,
    routing.ROUTE: routing.Route,
    routing.ASSOCIATION: routing.RouteTableAssociation,
    vpc.GROUP: security.SecurityGroup,
    security.INGRESS: security.SecurityGroupRule,
    security.EGRESS: security.SecurityGroupRule,
    templates.TEMPLATE: templates.LaunchTemplate,
    templates.PLACEMENT: templates.PlacementGroup,
    "aws:ec2/placementGroup:PlacementGroup": capacity.PlacementGroup,
    "aws:ec2/capacityReservation:CapacityReservation": capacity.CapacityReservation,
    "aws:ec2/capacityBlockReservation:CapacityBlockReservation": blocks.CapacityBlockReservation,
    nodegroups.SCHEDULE: schedules.Schedule,
    iam.ROLE: iam.Role,
    iam.POLICY: iam.Policy,
    iam.ATTACHMENT: iam.RolePolicyAttachment,
    "aws:iam/instanceProfile:InstanceProfile": iam.InstanceProfile,
    "aws:iam/openIdConnectProvider:OpenIdConnectProvider": iam.OpenIdConnectProvider,
    eks.CLUSTER: eks.Cluster,
    nodegroups.NODE_GROUP: nodegroups.NodeGroup,
    eks.ADDON: addons.Addon,
    eks.ENTRY: eks.AccessEntry,
    eks.ASSOCIATION: eks.PodIdentityAssociation,
    storage.MOUNT: storage.MountTarget,
}


class ControlPlane:
    """All of AWS for one datacentre. Verbs take the request's body and raise HttpError."""

    def __init__(self, world: World, operations: Operations) -> None:
        self.world, self.operations = world, operations
        rules = Rules.load(DATA / "rules.json")
        table = json.loads((DATA / "behaviour.json").read_text())
        self.behaviours: dict[str, Behaviour] = {}
        for token, row in table["types"].items():
            own = rules.get(token)
            assert own is not None, token
            self.behaviours[token] = CLASSES.get(token, Behaviour)(token, row, own, table["references"])
        actions, groups = self.behaviours[nodegroups.SCHEDULE], self.behaviours[nodegroups.NODE_GROUP]
        assert isinstance(actions, schedules.Schedule)
        assert isinstance(groups, nodegroups.NodeGroup)
        actions.groups = groups
        world.at = self._at
        self.fault_rules = world.fault_rules
        operations.clouds[CLOUD] = self.finish

    # -- verbs ------------------------------------------------------------------------------------------------------
    def create(self, call: dict[str, Any]) -> dict[str, Any]:
        """Start making a resource."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        try:
            with scope.store.transaction():
                self._limit(scope, behaviour)
                resource = behaviour.create(scope, call["inputs"])
                resource.state = "creating"
                scope.store.put(resource)
                seconds = behaviour.seconds(scope, "create", resource)
                operation = self._operation("create", scope, resource, seconds, call)
        except AwsError as error:
            raise self._error(error, behaviour, "creating", 0, call["inputs"]) from error
        return self._go(operation)

    def update(self, call: dict[str, Any]) -> dict[str, Any]:
        """Start changing a resource."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        resource = self._existing(scope, behaviour, call["id"], "updating", 1)
        try:
            with scope.store.transaction():
                before = behaviour.change(scope, resource, call["inputs"])
                scope.store.put(resource)
                seconds = behaviour.seconds(scope, "update", resource, before)
                operation = self._operation("update", scope, resource, seconds, call)
        except AwsError as error:
            raise self._error(error, behaviour, "updating", 1, {**resource.inputs, "__id": resource.id}) from error
        return self._go(operation)

    def delete(self, call: dict[str, Any]) -> dict[str, Any]:
        """Start deleting a resource; one that is gone already is deleted."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        region = "" if behaviour.is_global else scope.region
        resource = scope.store.get(CLOUD, scope.account, region, behaviour.token, call["id"])
        if resource is None:
            return {"operation": "", "status": "done", "id": call["id"], "result": {}}
        try:
            with scope.store.transaction():
                behaviour.check_delete(scope, resource)
                resource.state = "deleting"
                scope.store.put(resource)
                seconds = behaviour.seconds(scope, "delete", resource)
                operation = self._operation("delete", scope, resource, seconds, call)
        except AwsError as error:
            raise self._error(error, behaviour, "deleting", 2, {**resource.inputs, "__id": resource.id}) from error
        return self._go(operation)

    def read(self, call: dict[str, Any]) -> Any:
        """A resource as it is; None when it is gone."""
        behaviour, scope = self._behaviour(call), self._scope(call)
        imports = not call.get("state", True)  # a read that knows the id alone
        try:
            found = scope.find(behaviour.token, behaviour.imported(scope, call["id"]) if imports else call["id"])
        except AwsError as error:
            raise HttpError(400, {"code": error.code, "message": error.message, "text": error.message}) from error
        if found is None:
            return None
        outputs = behaviour.read(scope, found)
        return {"id": found.id, "outputs": behaviour.unread(outputs) if imports else outputs}

    def invoke(self, call: dict[str, Any]) -> Any:
        """Answer a function."""
        token, args = call["function"], call["args"]
        if token not in FUNCTIONS:
            raise HttpError(404, {"code": "NoSuchFunction", "message": token, "text": f"{token} is not simulated"})
        scope = self._scope(call, args.get("region"))
        _, service, name = FUNCTIONS[token]
        try:
            with scope.store.lock:
                return invoke(scope, token, args)
        except NotFound as error:
            raise HttpError(404, {"code": "NotFound", "message": str(error), "text": str(error)}) from error
        except AwsError as error:
            raise HttpError(400, body(error, f"reading {token.rpartition(':')[2]}", service, name)) from error

    # -- the end of an operation ------------------------------------------------------------------------------------
    def finish(self, operation: Operation) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """End an operation whose time is over; also after a restart."""
        behaviour = self.behaviours[operation.type]
        scope = Scope(self.world, operation.account, operation.request["region"])
        region = "" if behaviour.is_global else scope.region
        resource = scope.store.get(CLOUD, operation.account, region, operation.type, operation.resource)
        if resource is None:
            return {}, None
        if operation.kind == TICK:
            behaviour.tick(scope, resource)
            return {}, None
        settle = {"create": behaviour.settle, "update": behaviour.settle_update, "delete": behaviour.deleted}
        verb = {"create": "creating", "update": "updating", "delete": "deleting"}[operation.kind]
        index = {"create": 0, "update": 1, "delete": 2}[operation.kind]
        if operation.kind == "create" and self._struck("hang", resource) is not None:
            raise Later(60)
        try:
            settle[operation.kind](scope, resource)
        except Unhealthy as problem:
            resource.state = problem.state
            scope.store.put(resource)
            doing = problem.doing or operation.kind
            text = f"waiting for {self._title(behaviour, resource.outputs)} {doing}: {problem.message}"
            error = {"code": problem.code, "message": problem.message, "text": text}
            return None, {**error, **self._kept(operation, resource)}
        except AwsError as refused:
            title = self._title(behaviour, resource.outputs)
            resource.state = "failed"
            scope.store.put(resource)
            refusal = body(refused, f"{verb} {title}", behaviour.service, behaviour.row["calls"][index])
            return None, refusal | self._kept(operation, resource)
        if operation.kind == "delete" and behaviour.row.get("kept_on_delete"):
            resource.state, resource.owner = "active", "account"  # bought, whoever forgets it
            scope.store.put(resource)
            return {}, None
        if operation.kind == "delete":
            scope.store.remove(resource)
            return {}, None
        resource.state = "active"
        scope.store.put(resource)
        missed = self._missed(operation, behaviour, resource)
        return (None, missed) if missed else (behaviour.read(scope, resource), None)

    # -- faults -----------------------------------------------------------------------------------------------------
    def service(self, kind: str) -> str:
        """The service that a type belongs to."""
        if kind in FUNCTIONS:
            return FUNCTIONS[kind][1]
        return self.behaviours[kind].service if kind in self.behaviours else ""

    def failed_call(self, call: dict[str, Any], verb: str, row: dict[str, Any], given_up: bool) -> dict[str, Any]:
        """The error of a call that the cloud did not answer; `given_up`: after the last repetition."""
        note = self.fault_rules.data["retries"]["exceeded"] if given_up else ""
        error = AwsError(row["code"], row["message"], row["status"])
        if "function" in call:
            _, service, name = FUNCTIONS[call["function"]]
            return body(error, f"reading {call['function'].rpartition(':')[2]}", service, name, note)
        behaviour = self.behaviours[call["type"]]
        calls = behaviour.row["calls"]
        read = calls[0].replace("Create", "Get" if behaviour.service == "IAM" else "Describe")
        name = {"create": calls[0], "update": calls[1], "delete": calls[2]}.get(verb, read)
        doing = {"create": "creating", "update": "updating", "delete": "deleting"}.get(verb, "reading")
        found = behaviour.with_name(call["inputs"]) if call.get("inputs") else {}
        title = self._title(behaviour, {**found, "__id": call.get("id")})
        return body(error, f"{doing} {title}", behaviour.service, name, note)

    def late(self, operation: Operation) -> dict[str, Any]:
        """The error of a provider that waits no longer."""
        behaviour = self.behaviours[operation.type]
        scope = Scope(self.world, operation.account, operation.request["region"])
        resource = scope.find(operation.type, operation.resource)
        target, pending = self.fault_rules.data["states"][operation.kind]
        wanted = f"state to become '{target}'" if target else "resource to be gone"
        text = (
            f"waiting for {self._title(behaviour, resource.outputs if resource else {})} {operation.kind}: timeout "
            f"while waiting for {wanted} (last state: '{pending}', timeout: {duration(operation.request['limit'])})"
        )
        kept = self._kept(operation, resource) if resource else {}
        return {"code": "Timeout", "message": text, "text": text, **kept}

    def _kept(self, operation: Operation, resource: Resource) -> dict[str, Any]:
        """What the provider leaves in the state after a failed create or update."""
        if operation.kind == "delete":
            return {}
        made = self.fault_rules.state(operation.type, operation.kind)
        return {"id": resource.id, "outputs": resource.outputs, "made": made}

    def _missed(self, operation: Operation, behaviour: Behaviour, resource: Resource) -> dict[str, Any] | None:
        """A create whose own read does not find what was made: the provider waits a while, then fails."""
        if operation.kind != "create":
            return None
        fault = self._struck("stale-read", resource)
        if fault is None:
            return None
        stale = self.fault_rules.data["stale"]
        until = resource.created + stale_seconds(fault) - self.world.clock.now()
        if 0 < until <= stale["patience"]:
            raise Later(until)
        if until <= 0:
            return None
        text = stale["text"].format(title=self._title(behaviour, {**resource.outputs, "__id": resource.id}))
        return {"code": "NotFound", "message": text, "text": text, **self._kept(operation, resource)}

    def _struck(self, kind: str, resource: Resource) -> Fault | None:
        target = target_of(CLOUD, self.world.store, resource.type, resource.outputs, resource.id)
        return self.world.faults.strike(kind, target, key=f"{resource.type} {resource.id}")

    # -- time --------------------------------------------------------------------------------------------------------
    def _at(self, scope: Scope, when: float, resource: Resource) -> None:
        """Have a resource's behaviour look at it at a simulated time; kept over a restart."""
        made = Operation(f"op-{secrets.token_hex(8)}", CLOUD, TICK, scope.account, scope.region, resource.type,
                         resource.id, {"region": scope.region}, started=self.world.clock.now(), due=when)  # fmt: skip
        scope.store.put_operation(made)
        # By a thread of its own: the caller holds the store, and whoever waits for operations looks into it.
        threading.Thread(target=self.operations.add, args=(made,), daemon=True).start()

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
        request = {"region": scope.region, "limit": self.fault_rules.timeout(resource.type, kind, call.get("timeout"))}
        made = Operation(f"op-{secrets.token_hex(8)}", CLOUD, kind, scope.account, scope.region, resource.type,
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

    def _scope(self, call: dict[str, Any], region: str | None = None) -> Scope:
        if call.get("account") != ACCOUNT:
            text = f"account {call.get('account')} is not this datacentre's ({ACCOUNT})"
            raise HttpError(403, {"code": "AccessDenied", "message": text, "text": text})
        wanted = region or (call.get("inputs") or call.get("state") or {}).get("region") or call["region"]
        if not self.world.catalog.zones(wanted):
            text = f"invalid AWS Region: {wanted}"
            raise HttpError(400, {"code": "InvalidRegion", "message": text, "text": text})
        return Scope(self.world, ACCOUNT, wanted)

    def _existing(self, scope: Scope, behaviour: Behaviour, identity: str, doing: str, index: int) -> Resource:
        found = scope.find(behaviour.token, identity)
        if found is None:
            code = "ResourceNotFoundException" if behaviour.service == "EKS" else "NotFound"
            error = AwsError(code, f"{behaviour.noun} {identity} does not exist", 404)
            raise self._error(error, behaviour, doing, index, {"__id": identity})
        return found

    @staticmethod
    def _limit(scope: Scope, behaviour: Behaviour) -> None:
        limit = behaviour.row.get("limit")
        if limit:
            have = sum(1 for r in scope.all(behaviour.token) if r.owner == "program")
            if have >= scope.catalog.account["quotas"][limit["quota"]]["value"]:
                raise AwsError(limit["code"], limit["message"])

    @staticmethod
    def _title(behaviour: Behaviour, inputs: dict[str, Any]) -> str:
        if behaviour.token == nodegroups.NODE_GROUP:
            return f"{behaviour.noun} ({inputs.get('clusterName')}:{inputs.get('nodeGroupName')})"
        if behaviour.token == eks.ADDON:
            return f"{behaviour.noun} ({inputs.get('clusterName')}:{inputs.get('addonName')})"
        name = inputs.get(behaviour.row.get("named", "__id")) or inputs.get("__id")
        return f"{behaviour.noun} ({name})" if name else behaviour.noun

    def _error(
        self, error: AwsError, behaviour: Behaviour, doing: str, index: int, inputs: dict[str, Any]
    ) -> HttpError:
        doing = f"{doing} {self._title(behaviour, inputs)}"
        return HttpError(error.status, body(error, doing, behaviour.service, behaviour.row["calls"][index]))


__all__ = ["ControlPlane", "describe"]
