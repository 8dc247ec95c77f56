"""Cloud TPU's gRPC API (google.cloud.tpu.v2): nodes and queued resources. None can be made here, so lists are empty.

Messages are google-cloud-tpu's own protobuf types, read when the first call comes.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc

from ...google.functions import PREFIX
from ...google.scope import World
from .access import Access

SERVICE = "google.cloud.tpu.v2.Tpu"
# method -> (request, answer, field of the answer's list, what a list holds)
LISTS = {
    "ListNodes": ("ListNodesRequest", "ListNodesResponse"),
    "ListQueuedResources": ("ListQueuedResourcesRequest", "ListQueuedResourcesResponse"),
}
GETS = {
    "GetNode": ("GetNodeRequest", "Node"),
    "GetQueuedResource": ("GetQueuedResourceRequest", "QueuedResource"),
}


class TpuServer:
    """Answers on a loopback port, without TLS."""

    def __init__(self, port: int, world: World, access: Access, log: Callable[[str], None]) -> None:
        self._world, self._access, self._log = world, access, log
        self._server = grpc.server(ThreadPoolExecutor(max_workers=4, thread_name_prefix="tpu"),
                                   options=[("grpc.so_reuseport", 0)])  # fmt: skip
        methods = {m: self._method(m, *names) for m, names in {**LISTS, **GETS}.items()}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        self.port: int = self._server.add_insecure_port(f"127.0.0.1:{port}")

    def start(self) -> None:
        """Answer from now on."""
        self._server.start()

    def close(self) -> None:
        """Answer no more."""
        self._server.stop(grace=None)

    def _method(self, name: str, request: str, answer: str) -> Any:
        def call(data: bytes, context: Any) -> bytes:
            from google.cloud import tpu_v2

            asked: Any = getattr(tpu_v2, request).deserialize(data)
            self._check(asked.name if name in GETS else asked.parent, context)
            if name in GETS:
                context.abort(grpc.StatusCode.NOT_FOUND, f"Resource '{asked.name}' was not found")
            made: Any = getattr(tpu_v2, answer)
            return bytes(made.serialize(made()))

        return grpc.unary_unary_rpc_method_handler(call)

    def _check(self, path: str, context: Any) -> None:
        """A token where one is sent, a project of this datacentre, a zone that exists."""
        sent = {k.lower(): v for k, v in context.invocation_metadata()}
        if "authorization" in sent and not self._access.valid(str(sent["authorization"])):
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "Request had invalid authentication credentials.")
        parts = path.split("/")
        if len(parts) < 4 or parts[0] != "projects" or parts[2] != "locations":
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"Invalid resource name: '{path}'")
        if not parts[1].startswith(PREFIX):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, f"Permission denied on resource project {parts[1]}: the "
                          f"projects of this embedded datacentre are named {PREFIX}*")  # fmt: skip
        if parts[3] != "-" and not self._world.catalog.is_zone(parts[3]):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, f"Location {parts[3]} is not found or access is "
                          "unauthorized.")  # fmt: skip
