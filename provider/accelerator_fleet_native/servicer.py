"""The gRPC service that the engine speaks to: Check, Diff, Create, Read, Update, Delete of queued resources."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

import grpc
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from accelerator_fleet_native import QUEUED_RESOURCE, VERSION, check, fields, messages, schema
from accelerator_fleet_native.client import WrongPlace, check_project, connect, endpoint
from accelerator_fleet_native.differ import differ
from accelerator_fleet_native.queue import ENDED, LIMIT, Queue, Unfinished
from accelerator_fleet_native.values import UNKNOWN, from_struct, has_unknown, to_struct

pb: Any = provider_pb2


@dataclass(frozen=True)
class Config:
    """A provider's settings."""

    project: str = ""
    labels: dict[str, str] = field(default_factory=dict)


class Servicer(provider_pb2_grpc.ResourceProviderServicer):
    """One plugin process. A failure that leaves something in the cloud is told as the engine remembers it."""

    def __init__(self) -> None:
        self.config = Config()
        self.cancelled = threading.Event()

    # -- the plugin itself ------------------------------------------------------------------------------------------
    def Handshake(self, request: Any, context: Any) -> Any:
        return pb.ProviderHandshakeResponse(accept_secrets=False, accept_resources=False, accept_outputs=False)

    def Attach(self, request: Any, context: Any) -> Any:
        return _empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        self.cancelled.set()
        return _empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version=VERSION)

    def GetSchema(self, request: Any, context: Any) -> Any:
        return pb.GetSchemaResponse(schema=schema.schema())

    def CheckConfig(self, request: Any, context: Any) -> Any:
        news = from_struct(request.news)
        response = pb.CheckResponse()
        project = news.get("project")
        try:
            if not project:
                raise WrongPlace("a project is needed")
            if not has_unknown(project):
                check_project(str(project), endpoint())
        except WrongPlace as wrong:
            response.failures.add(property="project", reason=str(wrong))
        to_struct(news, response.inputs)
        return response

    def DiffConfig(self, request: Any, context: Any) -> Any:
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        changed = sorted(k for k in old.keys() | new.keys() if old.get(k) != new.get(k))
        return pb.DiffResponse(changes=2 if changed else 1, diffs=changed,
                               replaces=[k for k in changed if k == "project"])  # fmt: skip

    def Configure(self, request: Any, context: Any) -> Any:
        args = from_struct(request.args)
        labels = args.get("defaultLabels") or {}
        self.config = Config(str(args.get("project") or ""), json.loads(labels) if isinstance(labels, str) else labels)
        return pb.ConfigureResponse(acceptSecrets=False, supportsPreview=True, acceptResources=False,
                                    acceptOutputs=False)  # fmt: skip

    # -- without the cloud ------------------------------------------------------------------------------------------
    def Check(self, request: Any, context: Any) -> Any:
        self._known(request.urn, context)
        olds, news = from_struct(request.olds), from_struct(request.news)
        drawn = bytes(request.randomSeed).hex()[:7] or "0000000"
        inputs = check.with_defaults(news, olds, self.config.project, self.config.labels, _name(request.urn), drawn)
        response = pb.CheckResponse()
        for key, reason in check.failures(inputs, self.config.project):
            response.failures.add(property=key, reason=reason)
        to_struct(inputs, response.inputs)
        return response

    def Diff(self, request: Any, context: Any) -> Any:
        self._known(request.urn, context)
        found = differ(from_struct(request.old_inputs), from_struct(request.news))
        response = pb.DiffResponse(
            changes=2 if found.changed else 1, diffs=found.changed, replaces=found.replaces, hasDetailedDiff=True,
            deleteBeforeReplace=found.old_first,
        )  # fmt: skip
        for key in found.changed:
            response.detailedDiff[key].kind = 5 if key in found.replaces else 4  # UPDATE_REPLACE, UPDATE
            response.detailedDiff[key].inputDiff = True
        return response

    # -- with the cloud ---------------------------------------------------------------------------------------------
    def Create(self, request: Any, context: Any) -> Any:
        self._known(request.urn, context)
        inputs = from_struct(request.properties)
        response = pb.CreateResponse()
        if request.preview:
            unknown = {k: UNKNOWN for k in fields.outputs() if k not in ("error", "stateInitiator")}
            to_struct({**_plain(inputs), **unknown}, response.properties)
            return response
        queue, name = self._queue(inputs["project"], context), messages.path(inputs)
        with _told(context, f"creating {request.urn}"):
            self._create(queue, inputs, request.urn)
        try:
            found, nodes = queue.settle(inputs, name, _name(request.urn), request.timeout or LIMIT)
        except Unfinished as problem:
            self._half(context, queue, name, inputs, f"creating {request.urn}: {problem}", request.urn)
            raise
        except Exception as problem:  # it was asked for: whatever happened to the looks, it must not be forgotten
            self._half(context, queue, name, inputs, f"creating {request.urn}: {_text(problem)}", request.urn)
            raise
        response.id = name
        to_struct(messages.outputs(inputs, found, nodes), response.properties)
        return response

    @staticmethod
    def _create(queue: Queue, inputs: dict[str, Any], urn: str) -> None:
        from google.api_core import exceptions

        try:
            queue.create(inputs)
        except exceptions.AlreadyExists as there:
            raise exceptions.AlreadyExists(
                f"{there.message}. If a run of this stack was killed while it asked for it, `fleet recover --yes` "
                f"adopts it; by hand: pulumi import {QUEUED_RESOURCE} {_name(urn)} {messages.path(inputs)}"
            ) from there

    def Read(self, request: Any, context: Any) -> Any:
        self._known(request.urn, context)
        match = messages.NAME.fullmatch(request.id)
        if match is None:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"'{request.id}' is no queued resource: "
                          "projects/PROJECT/locations/ZONE/queuedResources/ID")  # fmt: skip
        assert match is not None
        inputs, state = from_struct(request.inputs), from_struct(request.properties)
        known = inputs or {k: v for k, v in state.items() if k in fields.inputs()}
        response = pb.ReadResponse()
        queue = self._queue(match[1], context)
        with _told(context, f"reading {request.urn}"):
            found = queue.find(request.id)
        if found is None:
            return response  # gone: the engine takes it out of the state
        given = messages.seen(known, *found)
        response.id = request.id
        to_struct(given, response.inputs)
        to_struct(messages.outputs(given, *found), response.properties)
        return response

    def Update(self, request: Any, context: Any) -> Any:
        self._known(request.urn, context)
        old, new = from_struct(request.old_inputs), from_struct(request.news)
        response = pb.UpdateResponse()
        if request.preview:
            to_struct({**from_struct(request.olds), **_plain(new)}, response.properties)
            return response
        queue = self._queue(new["project"], context)
        keys = [k for k in differ(old, new).changed if fields.inputs()[k].in_place]
        with _told(context, f"updating {request.urn}"):
            found = queue.find(request.id)
            if found is None:
                raise Unfinished(f"{request.id} is gone; `pulumi refresh` takes it out of the state")
            state = found[0].state.state.name
            if keys and state not in (*ENDED, "ACTIVE"):
                raise Unfinished(f"{', '.join(keys)}: {request.id} is {state}, without nodes to change yet, and the "
                                 "request itself cannot be changed; once it is ACTIVE, `up` does it")  # fmt: skip
            if keys and found[1]:
                queue.update(new, keys, found[1], request.timeout or LIMIT)
        try:
            # Labels of what failed are nobody's trouble; without a change the engine asks whether it has come up since.
            ended = state in ENDED and keys
            limit = request.timeout or LIMIT
            now = queue.find(request.id) if ended else queue.settle(new, request.id, _name(request.urn), limit)
            assert now is not None
        except Unfinished as problem:
            self._half(context, queue, request.id, new, f"updating {request.urn}: {problem}", request.urn)
            raise
        to_struct(messages.outputs(new, *now), response.properties)
        return response

    def Delete(self, request: Any, context: Any) -> Any:
        match = messages.NAME.fullmatch(request.id)
        assert match is not None
        queue = self._queue(match[1], context)
        with _told(context, f"deleting {request.urn}"):
            queue.delete(request.id, request.timeout or LIMIT)
        return _empty()

    # -- shared -----------------------------------------------------------------------------------------------------
    @staticmethod
    def _known(urn: str, context: Any) -> None:
        kind = urn.split("::")[2].rpartition("$")[2]
        if kind != QUEUED_RESOURCE:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, f"{kind}: this provider has {QUEUED_RESOURCE} only")

    def _queue(self, project: str, context: Any) -> Queue:
        try:
            if self.config.project and project != self.config.project:
                raise WrongPlace(f"project {project} is not the provider's project {self.config.project}")
            return Queue(connect(project), self.cancelled)
        except WrongPlace as wrong:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(wrong))
        except Exception as problem:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, f"Cloud TPU cannot be asked: {_text(problem)}")
        raise AssertionError

    @staticmethod
    def _half(context: Any, queue: Queue, name: str, inputs: dict[str, Any], reason: str, urn: str) -> None:
        """It is there and not as it should be: the engine must remember it (ErrorResourceInitFailed)."""
        from google.protobuf import any_pb2
        from google.rpc import status_pb2  # not Pulumi's copy: one process takes one google.rpc.Status

        try:
            there = queue.find(name)
        except Exception:
            there = None
        detail = pb.ErrorResourceInitFailed(id=name, reasons=[reason])
        to_struct(messages.outputs(inputs, *there) if there else {**_plain(inputs), "name": name}, detail.properties)
        to_struct(inputs, detail.inputs)
        packed = any_pb2.Any()
        packed.Pack(detail)
        status: Any = status_pb2.Status(code=2, message=reason, details=[packed])
        context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(grpc.StatusCode.UNKNOWN, reason)


class _told:
    """An error of the API, or of ours, as the engine shows it."""

    def __init__(self, context: Any, doing: str) -> None:
        self._context, self._doing = context, doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception):
            self._context.abort(grpc.StatusCode.UNKNOWN, f"{self._doing}: {_text(error)}")


def _text(error: BaseException) -> str:
    """What a person reads of an error: the API's code and message."""
    code, message = getattr(error, "grpc_status_code", None), getattr(error, "message", "")
    return f"{code.name}: {message}" if code is not None and message else str(error) or repr(error)


def _plain(inputs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in inputs.items() if not k.startswith("__")}


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _empty() -> Any:
    from google.protobuf import empty_pb2

    return empty_pb2.Empty()
