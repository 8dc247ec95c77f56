"""Cloud TPU's gRPC API (google.cloud.tpu.v2): queued resources, their nodes, and operations.

Messages are google-cloud-tpu's own protobuf types, read when the first call comes. What is not served answers
UNIMPLEMENTED: nodes are made by queued resources only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import grpc

from ...daemon.faults import Target
from ...daemon.store import Operation, Resource
from ...google.functions import PREFIX
from ...google.queued.checks import NODE, QUEUED, UPDATABLE, bad
from ...google.queued.service import QueuedResources
from ...google.queued.slices import TpuError
from ...google.scope import CLOUD, Scope, World
from ..faults import hiding, struck, unseen
from . import tpu_messages as messages
from .access import Access

SERVICE, OPERATIONS = "google.cloud.tpu.v2.Tpu", "google.longrunning.Operations"
METHODS: Final = (
    "CreateQueuedResource", "GetQueuedResource", "ListQueuedResources", "DeleteQueuedResource",
    "GetNode", "ListNodes", "UpdateNode", "DeleteNode",
)  # fmt: skip
NAME: Final = re.compile(r"projects/([^/]+)/locations/([^/]+)(?:/(queuedResources|nodes|operations)/([^/]+))?")


class TpuServer:
    """Answers on a loopback port, without TLS."""

    def __init__(
        self, port: int, world: World, access: Access, log: Callable[[str], None], queued: QueuedResources
    ) -> None:
        self._world, self._access, self._log, self._queued = world, access, log, queued
        self._server = grpc.server(ThreadPoolExecutor(max_workers=8, thread_name_prefix="tpu"),
                                   options=[("grpc.so_reuseport", 0)])  # fmt: skip
        methods = {m: self._method(m) for m in METHODS}
        waits = {"GetOperation": self._method("GetOperation")}
        self._server.add_generic_rpc_handlers((
            grpc.method_handlers_generic_handler(SERVICE, methods),
            grpc.method_handlers_generic_handler(OPERATIONS, waits),
        ))  # fmt: skip
        self.port: int = self._server.add_insecure_port(f"127.0.0.1:{port}")

    def start(self) -> None:
        """Answer from now on."""
        self._server.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.stop(grace=None)

    # -- one call ---------------------------------------------------------------------------------------------------
    def _method(self, name: str) -> Any:
        answer = {
            "CreateQueuedResource": self._create, "GetQueuedResource": self._get, "GetNode": self._get,
            "ListQueuedResources": self._list, "ListNodes": self._list, "DeleteQueuedResource": self._delete,
            "UpdateNode": self._update, "DeleteNode": self._delete, "GetOperation": self._operation,
        }[name]  # fmt: skip

        def call(data: bytes, context: Any) -> bytes:
            asked = messages.request(name, data)
            path = asked.node.name if name == "UpdateNode" else getattr(asked, "name", "") or asked.parent
            try:
                scope, zone = self._about(path, context)
                self._weather(name, path, zone)
                made: bytes = answer(scope, zone, asked)
            except TpuError as error:
                context.abort(grpc.StatusCode[error.code], error.message)
            except Exception as problem:  # a defect must reach who asked
                self._log(f"tpu {name} {path}: {problem!r}")
                context.abort(grpc.StatusCode.INTERNAL, f"the embedded datacentre failed: {problem!r} (a defect)")
            return made

        return grpc.unary_unary_rpc_method_handler(call)

    def _about(self, path: str, context: Any) -> tuple[Scope, str]:
        """A token where one is sent, a project of this datacentre, a zone that exists."""
        sent = {k.lower(): v for k, v in context.invocation_metadata()}
        if "authorization" in sent and not self._access.valid(str(sent["authorization"])):
            raise TpuError("UNAUTHENTICATED", "Request had invalid authentication credentials.")
        match = NAME.fullmatch(path)
        if match is None:
            raise TpuError("INVALID_ARGUMENT", f"Invalid resource name: '{path}'")
        project, zone = match[1], match[2]
        if not project.startswith(PREFIX):
            raise TpuError("PERMISSION_DENIED", f"Permission denied on resource project {project}: the projects of "
                           f"this embedded datacentre are named {PREFIX}*")  # fmt: skip
        if zone != "-" and not self._world.catalog.is_zone(zone):
            raise TpuError("PERMISSION_DENIED", f"Location {zone} is not found or access is unauthorized.")
        return Scope(self._world, project), zone

    def _weather(self, name: str, path: str, zone: str) -> None:
        """Raises what a fault makes of the call."""
        kind = NODE if "Node" in name else QUEUED
        fault = struck(self._world.faults, CLOUD, kind, {"name": path, "id": path.rpartition("/")[2], "zone": zone})
        if fault is not None:
            code = "RESOURCE_EXHAUSTED" if fault == "throttling" else "UNAVAILABLE"
            row = self._world.fault_rules.answer(fault, "tpu")
            raise TpuError(code, str(row["message"]))

    # -- queued resources and nodes ---------------------------------------------------------------------------------
    def _create(self, scope: Scope, zone: str, asked: Any) -> bytes:
        if zone == "-":
            raise bad("A queued resource is created in one zone.")
        told = messages.as_json(asked.queued_resource)
        made = self._queued.create(scope.project, zone, asked.queued_resource_id, told, asked.request_id)
        target = Target(CLOUD, QUEUED, (made.resource, made.resource.rpartition("/")[2]), (zone,))
        if self._world.faults.strike("timeout-after-create", target):
            raise TpuError("UNAVAILABLE", str(self._world.fault_rules.data["lost"]["message"]).format(service="tpu"))
        return self._packed(scope, made)

    def _get(self, scope: Scope, zone: str, asked: Any) -> bytes:
        found = self._seen(scope, scope.find(self._kind(asked.name), asked.name))
        if found is None:
            raise TpuError("NOT_FOUND", f"Resource '{asked.name}' was not found")
        return messages.resource(found)

    def _list(self, scope: Scope, zone: str, asked: Any) -> bytes:
        kind = NODE if messages.lists_nodes(asked) else QUEUED
        found = [r for r in scope.all(kind) if zone in ("-", r.outputs["zone"]) and self._seen(scope, r)]
        return messages.page(kind == NODE, found, int(asked.page_size), str(asked.page_token))

    def _delete(self, scope: Scope, zone: str, asked: Any) -> bytes:
        if self._kind(asked.name) == QUEUED:
            return self._packed(scope, self._queued.delete(scope, asked.name, bool(asked.force)))
        return self._packed(scope, self._queued.delete_node(scope, asked.name))

    def _update(self, scope: Scope, zone: str, asked: Any) -> bytes:
        paths = list(asked.update_mask.paths)
        unknown = [p for p in paths if p not in UPDATABLE]
        if unknown or not paths:
            raise bad(f"update_mask: {', '.join(unknown) or 'empty'}; supported fields: {', '.join(UPDATABLE)}.")
        news = messages.as_json(asked.node)
        return self._packed(scope, self._queued.update_node(scope, asked.node.name, paths, news))

    def _operation(self, scope: Scope, zone: str, asked: Any) -> bytes:
        found = self._world.store.operation(asked.name.rpartition("/")[2])
        if found is None or found.account != scope.project:
            raise TpuError("NOT_FOUND", f"Operation '{asked.name}' was not found")
        return self._packed(scope, found)

    # -- inside -----------------------------------------------------------------------------------------------------
    @staticmethod
    def _kind(path: str) -> str:
        match = NAME.fullmatch(path)
        return NODE if match is not None and match[3] == "nodes" else QUEUED

    def _seen(self, scope: Scope, found: Resource | None) -> Resource | None:
        """The resource, unless reads miss what is so new."""
        stale = hiding(self._world.faults, self._world.clock)
        late = found is not None and unseen(stale, self._world.clock, found, self._queued.target(found))
        return None if late else found

    def _packed(self, scope: Scope, operation: Operation) -> bytes:
        """An operation, with what it made once it is done."""
        made = None if operation.kind == "delete" else scope.find(operation.type, operation.resource)
        return messages.operation(operation, made)
