"""A cloud's verbs with faults before them: calls refused, answers lost, reads that do not find what was just made."""

from __future__ import annotations

from typing import Any, Protocol

from ..core.suppress import last
from .clock import Clock
from .faultrules import FaultRules
from .faults import Fault, Faults, Target
from .operations import describe
from .server import HttpError, Route
from .store import Operation, Resource, Store

NAMES = ("nodeGroupName", "nodeGroupNamePrefix", "name", "namePrefix", "addonName", "id", "bucket")
STALE_SECONDS = 60.0
VERBS = ("create", "update", "delete", "read", "invoke")


class Control(Protocol):
    """What both control planes have."""

    fault_rules: FaultRules

    def create(self, call: dict[str, Any]) -> dict[str, Any]: ...
    def update(self, call: dict[str, Any]) -> dict[str, Any]: ...
    def delete(self, call: dict[str, Any]) -> dict[str, Any]: ...
    def read(self, call: dict[str, Any]) -> Any: ...
    def invoke(self, call: dict[str, Any]) -> Any: ...
    def service(self, kind: str) -> str: ...
    def failed_call(self, call: dict[str, Any], verb: str, row: dict[str, Any], given_up: bool) -> dict[str, Any]: ...


def target_of(cloud: str, store: Store, kind: str, inputs: dict[str, Any], *names: str) -> Target:
    """What a resource with these inputs (or outputs) is, for the patterns of faults."""
    found = [str(inputs[k]) for k in NAMES if isinstance(inputs.get(k), str)]
    zones = [str(inputs[k]) for k in ("availabilityZone", "zone") if isinstance(inputs.get(k), str)]
    zones += [str(z) for z in inputs.get("nodeLocations") or []]
    subnets = set(inputs.get("subnetIds") or []) if kind.endswith(":NodeGroup") else set()
    if subnets:
        there = store.resources(cloud=cloud, type="aws:ec2/subnet:Subnet")
        zones += [str(s.outputs["availabilityZone"]) for s in there if s.id in subnets]
    cluster = inputs.get("clusterName") or inputs.get("cluster") or (inputs.get("name") if "luster" in kind else "")
    return Target(cloud, kind, (*names, *found), tuple(zones), last(str(cluster or "")))


class Unreliable:
    """One cloud. Each verb takes what the control plane's takes, and `attempt`, `began`, `request` of the provider."""

    def __init__(self, cloud: str, control: Control, faults: Faults, store: Store, clock: Clock) -> None:
        self.cloud, self.control, self.faults, self.store, self.clock = cloud, control, faults, store, clock

    def routes(self) -> dict[tuple[str, str], Route]:
        """The verbs as HTTP has them."""

        def route(verb: str) -> Route:
            return lambda query, body: self.call(verb, body)

        return {("POST", f"/{self.cloud}/{verb}"): route(verb) for verb in VERBS}

    def call(self, verb: str, call: dict[str, Any]) -> Any:
        """Carry out a verb, unless a fault is before it."""
        target = self._target(call)
        for kind in ("throttling", "5xx"):
            if self.faults.strike(kind, target):
                row = self.control.fault_rules.answer(kind, self.control.service(str(call.get("type", ""))))
                raise self._refused(kind, verb, call, row)
        if verb == "create":
            return self._create(call, target)
        if verb == "read" and self._stale(call, target):
            return None
        try:
            return getattr(self.control, verb)(call)
        except HttpError as error:
            if verb == "update" and error.body.get("code") != "NotSimulated":
                made = self.control.fault_rules.state(str(call["type"]), "update")
                error.body |= {"id": call["id"], "made": made}
            raise

    def _target(self, call: dict[str, Any]) -> Target:
        kind = str(call.get("type") or call.get("function") or "")
        names = [str(call["token"]).rpartition("::")[2]] if call.get("token") else []
        inputs = call.get("inputs") or call.get("args") or {}
        if call.get("id"):
            names.append(str(call["id"]))
            found = self._resource(call)
            inputs = {**(found.outputs if found else {}), **inputs}
        return target_of(self.cloud, self.store, kind, inputs, *names)

    def _resource(self, call: dict[str, Any]) -> Resource | None:
        found = self.store.resources(cloud=self.cloud, type=call["type"])
        return next((r for r in found if r.id == call["id"]), None)

    # -- answers that get lost --------------------------------------------------------------------------------------
    def _create(self, call: dict[str, Any], target: Target) -> Any:
        request = str(call.get("request") or "")
        made = self._made(call, request)
        lost = self.faults.strike("timeout-after-create", target)
        if lost is None:
            return describe(made) if made is not None else self.control.create(call)
        if made is None:
            answer = self.control.create(call)
            if request and answer.get("operation"):
                self.store.set_meta(f"request:{request}", answer["operation"])
        words = {"service": self.control.service(call["type"]).lower(), "region": call.get("region") or ""}
        message = self.control.fault_rules.data["lost"]["message"].format(**words)
        raise self._refused("lost", "create", call, {"code": "", "status": 0, "message": message})

    def _made(self, call: dict[str, Any], request: str) -> Operation | None:
        """What the same request made before its answer was lost, where the API knows requests by a token."""
        if not request or call["type"] not in self.control.fault_rules.data["lost"]["same_by_token"]:
            return None
        known = self.store.meta(f"request:{request}")
        return self.store.operation(known) if known else None

    # -- reads too early --------------------------------------------------------------------------------------------
    def _stale(self, call: dict[str, Any], target: Target) -> bool:
        found = self._resource(call)
        if found is None:
            return False
        fault = self.faults.strike("stale-read", target, key=f"{found.type} {found.id}")
        return fault is not None and self.clock.now() < found.created + stale_seconds(fault)

    # -- refusals ---------------------------------------------------------------------------------------------------
    def _refused(self, fault: str, verb: str, call: dict[str, Any], row: dict[str, Any]) -> HttpError:
        rules = self.control.fault_rules
        attempt, now = int(call.get("attempt") or 1), self.clock.now()
        began = float(call.get("began") or now)
        kind = str(call.get("type") or "")
        limit = rules.timeout(kind, verb, call.get("timeout"))
        wait = rules.again(fault, kind, attempt, now - began, limit)
        body = self.control.failed_call(call, verb, row, wait is None)
        if verb == "update":
            body |= {"id": call["id"], "made": rules.state(kind, "update")}
        if wait is not None:
            body["again"] = {"attempt": attempt + 1, "began": began, "wait": wait / self.clock.speed}
        return HttpError(max(int(row["status"]), 400), body)


def stale_seconds(fault: Fault) -> float:
    """Simulated seconds that reads miss what was made."""
    return STALE_SECONDS if fault.seconds is None else float(fault.seconds)
