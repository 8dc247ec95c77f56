"""A Pulumi resource provider over a simulated cloud: Check and Diff from rules, everything else from the daemon."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

import grpc

from ..client import Client, CloudError, NotRunning
from . import protos
from .check import check
from .diff import UnknownRule, diff
from .inputs import Namer, checked_inputs, read_inputs
from .naming import Autonaming
from .plan import Refused, planned_create
from .provider import Cloud, Config
from .rules import TypeRules
from .values import UNKNOWN, from_struct, has_unknown, mark_secrets, plain, to_struct, without_unknown

pb, pb_grpc, plugin_pb = protos.load()
States = Callable[[], dict[str, dict[str, Any]]]
DOING = {"create": "creating", "update": "updating"}
KINDS = {"add": 0, "delete": 2, "update": 4}  # PropertyDiff.Kind; the value above each replaces


class Servicer(pb_grpc.ResourceProviderServicer):  # type: ignore[misc,name-defined]
    """The gRPC service of one plugin process."""

    def __init__(self, cloud: Cloud, client: Client) -> None:
        self.cloud, self.client = cloud, client
        self.config = Config()
        self.cancelled = threading.Event()

    # -- the plugin itself ------------------------------------------------------------------------------------------
    def Handshake(self, request: Any, context: Any) -> Any:
        return pb.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=False, accept_outputs=False, supports_autonaming_configuration=True
        )

    def Attach(self, request: Any, context: Any) -> Any:
        return _empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        self.cancelled.set()
        return _empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb.PluginInfo(version=self.cloud.version)

    def GetSchema(self, request: Any, context: Any) -> Any:
        return pb.GetSchemaResponse(schema=f'{{"name": "{self.cloud.name}", "version": "{self.cloud.version}"}}')

    def CheckConfig(self, request: Any, context: Any) -> Any:
        news = from_struct(request.news)
        failures = self.cloud.check_config(plain(news), request.urn)
        response = pb.CheckResponse(failures=[pb.CheckFailure(property=p, reason=r) for p, r in failures])
        to_struct(news, response.inputs)
        return response

    def DiffConfig(self, request: Any, context: Any) -> Any:
        old, new = from_struct(request.old_inputs or request.olds), from_struct(request.news)
        changed = sorted(k for k in old.keys() | new.keys() if plain(old.get(k)) != plain(new.get(k)))
        return pb.DiffResponse(changes=2 if changed else 1, diffs=changed)

    def Configure(self, request: Any, context: Any) -> Any:
        try:
            self.config = self.cloud.configure(plain(from_struct(request.args)))
        except ValueError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        return pb.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=False, acceptOutputs=False,
            supports_autonaming_configuration=True,
        )  # fmt: skip

    # -- without the cloud ------------------------------------------------------------------------------------------
    def Check(self, request: Any, context: Any) -> Any:
        rules = self._rules(request.urn, context)
        olds, news = from_struct(request.olds), from_struct(request.news)
        autonaming = None
        if request.HasField("autonaming"):
            autonaming = Autonaming(request.autonaming.mode, request.autonaming.proposedName)
        namer = Namer(_name(request.urn), bytes(request.randomSeed), autonaming)
        response = pb.CheckResponse()
        try:
            inputs = checked_inputs(rules, olds, news, namer)
        except ValueError as error:
            response.failures.add(reason=str(error))
            to_struct(news, response.inputs)
            return response
        if rules.has_tags:
            inputs["tagsAll"] = self.cloud.all_tags(self.config, inputs)
        for failure in check(rules, inputs):
            response.failures.add(reason=f"{failure.reason}. Examine values at '{_name(request.urn)}.{failure.path}'.")
        to_struct(inputs, response.inputs)
        return response

    def Diff(self, request: Any, context: Any) -> Any:
        rules = self._rules(request.urn, context)
        found, _ = self._difference(rules, request, context)
        response = pb.DiffResponse(
            changes=2 if found.changes else 1,
            hasDetailedDiff=True,
            deleteBeforeReplace=found.delete_before_replace,
            diffs=sorted({p.partition(".")[0].partition("[")[0] for p in found.changes}),
            replaces=sorted({p.partition(".")[0].partition("[")[0] for p in found.replaces}),
        )
        for path, (kind, replaces) in found.changes.items():
            response.detailedDiff[path].kind = KINDS[kind] + (1 if replaces else 0)
        return response

    def _difference(self, rules: TypeRules, request: Any, context: Any) -> Any:
        old = from_struct(request.olds)
        old_inputs = from_struct(request.old_inputs) if request.HasField("old_inputs") else old
        try:
            news = from_struct(request.news)
            return diff(rules, old, old_inputs, news, self.config.region, self.cloud.customize(self.config))
        except (UnknownRule, Refused) as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def _planned(self, rules: TypeRules, inputs: dict[str, Any], context: Any) -> dict[str, Any]:
        try:
            return planned_create(rules, inputs, self.config.region, self.cloud.customize(self.config))
        except Refused as error:
            context.abort(grpc.StatusCode.UNKNOWN, _as_bridge(error))
        raise AssertionError

    # -- with the cloud ---------------------------------------------------------------------------------------------
    def Create(self, request: Any, context: Any) -> Any:
        rules = self._rules(request.urn, context)
        inputs = from_struct(request.properties)
        if request.preview:
            planned = self._planned(rules, inputs, context)
            response = pb.CreateResponse()
            to_struct(planned, response.properties)
            return response
        planned = self._planned(rules, inputs, context)  # the provider plans before it creates, and may refuse
        call = {"type": rules.token, "inputs": _wire(inputs), **self._about(request)}
        record = self._carry_out(context, "create", call, inputs, lambda: {"planned": planned})
        response = pb.CreateResponse(id=record["id"])
        to_struct(mark_secrets(record["result"], inputs), response.properties)
        return response

    def Update(self, request: Any, context: Any) -> Any:
        rules = self._rules(request.urn, context)
        news = from_struct(request.news)
        response = pb.UpdateResponse()
        found, planned = self._difference(rules, request, context)
        if request.preview:
            to_struct(mark_secrets(planned, news), response.properties)
            return response
        if not found.changes:  # after a failure the engine updates what has not changed: nothing is called but a read
            answer = self._ask(context, "read", {"type": rules.token, "id": request.id, **self._about(request)})
            now = answer["outputs"] if answer else from_struct(request.olds)
            to_struct(mark_secrets(now, news), response.properties)
            return response
        call = {"type": rules.token, "id": request.id, "inputs": _wire(news), **self._about(request)}

        def states() -> dict[str, dict[str, Any]]:
            before = from_struct(request.olds)
            known = {k: v for k, v in planned.items() if not has_unknown(v)}
            return {"before": before, "planned": {**before, **known}}

        record = self._carry_out(context, "update", call, news, states)
        to_struct(mark_secrets(record["result"], news), response.properties)
        return response

    def Delete(self, request: Any, context: Any) -> Any:
        rules = self._rules(request.urn, context)
        state = plain(from_struct(request.properties))
        call = {"type": rules.token, "id": request.id, "state": state, **self._about(request)}
        self._carry_out(context, "delete", call, {}, dict)
        return _empty()

    def Read(self, request: Any, context: Any) -> Any:
        rules = self._rules(request.urn, context)
        inputs = from_struct(request.inputs)
        state = plain(from_struct(request.properties))
        call = {"type": rules.token, "id": request.id, "state": state, **self.config.scope}
        answer = self._ask(context, "read", call)
        response = pb.ReadResponse()
        if answer is None:
            return response  # gone: the engine takes it out of the state
        response.id = answer["id"]
        to_struct(mark_secrets(answer["outputs"], inputs), response.properties)
        to_struct(read_inputs(rules, inputs, answer["outputs"]), response.inputs)
        return response

    def Invoke(self, request: Any, context: Any) -> Any:
        if request.tok not in self.cloud.functions():
            known = ", ".join(sorted(self.cloud.functions()))
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"function {request.tok} is not simulated by the embedded datacentre; these are: {known}",
            )
        args = from_struct(request.args)
        response = pb.InvokeResponse()
        if has_unknown(args):
            to_struct({"id": UNKNOWN}, getattr(response, "return"))
            return response
        call = {"function": request.tok, "args": plain(args), **self.config.scope}
        to_struct(self._ask(context, "invoke", call), getattr(response, "return"))
        return response

    # -- shared -----------------------------------------------------------------------------------------------------
    def _rules(self, urn: str, context: Any) -> TypeRules:
        token = urn.split("::")[2].split("$")[-1]
        rules = self.cloud.rules.get(token)
        if rules is None:
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"{token} is not simulated: the embedded datacentre has rules for {len(self.cloud.rules.tokens)} types "
                "and refuses all others rather than guess what they do",
            )
            raise AssertionError
        return rules

    def _about(self, request: Any) -> dict[str, Any]:
        """What goes with every change: whose it is, how long the program waits for it (0: the type's own time)."""
        return {"token": request.urn, "timeout": request.timeout or None, **self.config.scope}

    def _request(self, verb: str, call: dict[str, Any]) -> Any:
        """One API request, repeated as the provider repeats it. `request` is its client token, the same each time."""
        call = {**call, "request": secrets.token_hex(8)}
        while True:
            try:
                return self.client.post(f"/{self.cloud.name}/{verb}", call)
            except CloudError as error:
                again = error.body.get("again")
                if again is None or self.cancelled.wait(again["wait"]):
                    raise
                call |= {"attempt": again["attempt"], "began": again["began"]}

    def _ask(self, context: Any, verb: str, call: dict[str, Any]) -> Any:
        try:
            return self._request(verb, call)
        except CloudError as error:
            context.abort(grpc.StatusCode.UNKNOWN, _as_bridge(error))
        except NotRunning as error:
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    def _carry_out(self, context: Any, verb: str, call: dict[str, Any], inputs: dict[str, Any], states: States) -> Any:
        """Create, update or delete and wait for the end; `states`: what may be in the state if it fails halfway."""
        try:
            operation = self._request(verb, call)
            if operation["status"] == "done":
                return operation
            if operation["status"] == "failed":
                raise CloudError(operation["error"])
            return self.client.finish(operation["operation"])
        except CloudError as error:
            if error.body.get("made") not in (None, "nothing"):
                self._half_made(context, verb, call["token"], error, inputs, states())
            context.abort(grpc.StatusCode.UNKNOWN, _as_bridge(error).replace("{urn}", call["token"]))
        except NotRunning as error:
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    @staticmethod
    def _half_made(
        context: Any, verb: str, urn: str, error: CloudError, inputs: dict[str, Any], states: dict[str, dict[str, Any]]
    ) -> None:
        """Something is there that is not as it should be: the engine must remember it (ErrorResourceInitFailed)."""
        from google.protobuf import any_pb2

        status_pb = protos.submodule("status_pb2")
        made = error.body["made"]
        outputs = states[made] if made in states else mark_secrets(error.body["outputs"], inputs)
        reason = f"{DOING[verb]} {urn}: {_as_bridge(error)}"
        detail = pb.ErrorResourceInitFailed(id=error.body["id"], reasons=[reason])
        to_struct({k: v for k, v in without_unknown(outputs).items() if not k.startswith("__")}, detail.properties)
        to_struct(inputs, detail.inputs)
        packed = any_pb2.Any()
        packed.Pack(detail)
        status = status_pb.Status(code=2, message=reason, details=[packed])
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, reason)


def _wire(inputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs as the cloud gets them: no marks, no engine keys. Unknowns do not reach a cloud."""
    return {k: v for k, v in plain(inputs).items() if not k.startswith("__")}


def _as_bridge(error: Exception) -> str:
    return f"1 error occurred:\n\t* {error}\n\n"


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _empty() -> Any:
    from google.protobuf import empty_pb2

    return empty_pb2.Empty()
