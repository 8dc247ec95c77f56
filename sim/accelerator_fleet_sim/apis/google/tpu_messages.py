"""Between the datacentre's JSON and Cloud TPU's own protobuf messages, which are imported when first asked for."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ...daemon.store import Operation, Resource
from ...google.queued.checks import NODE

STATE_DATA = {
    "CREATING": "creatingData", "ACCEPTED": "acceptedData", "PROVISIONING": "provisioningData",
    "FAILED": "failedData", "DELETING": "deletingData", "ACTIVE": "activeData", "SUSPENDING": "suspendingData",
    "SUSPENDED": "suspendedData",
}  # fmt: skip
OURS = ("zone",)  # kept beside a message's own fields
PAGE = 500


def request(name: str, data: bytes) -> Any:
    """The message that a method takes."""
    if name == "GetOperation":
        from google.longrunning import operations_pb2

        return operations_pb2.GetOperationRequest.FromString(data)
    from google.cloud import tpu_v2

    kind: Any = getattr(tpu_v2, f"{name}Request")
    return kind.deserialize(data)


def lists_nodes(asked: Any) -> bool:
    """Whether a list is one of nodes."""
    return type(asked).__name__ == "ListNodesRequest"


def as_json(message: Any) -> dict[str, Any]:
    """A message's set fields, as the API's JSON has them."""
    from google.protobuf.json_format import MessageToDict

    found: dict[str, Any] = MessageToDict(type(message).pb(message))
    return found


def _node(found: Resource) -> dict[str, Any]:
    return {k: v for k, v in found.outputs.items() if k not in OURS}


def _queued(found: Resource) -> dict[str, Any]:
    state = found.hidden["state"]
    told: dict[str, Any] = {"state": state}
    if state in STATE_DATA:
        told[STATE_DATA[state]] = {"error": found.hidden["error"]} if state == "FAILED" else {}
    if found.hidden.get("initiator"):
        told["stateInitiator"] = found.hidden["initiator"]
    return {**{k: v for k, v in found.outputs.items() if k not in OURS}, "state": told}


def _message(found: Resource) -> Any:
    from google.cloud import tpu_v2
    from google.protobuf.json_format import ParseDict

    kind: Any = tpu_v2.Node if found.type == NODE else tpu_v2.QueuedResource
    made = kind.pb(kind())
    ParseDict(_node(found) if found.type == NODE else _queued(found), made)
    return made


def resource(found: Resource) -> bytes:
    """A queued resource or node."""
    return bytes(_message(found).SerializeToString())


def page(of_nodes: bool, found: list[Resource], size: int, token: str) -> bytes:
    """One page of a list."""
    from google.cloud import tpu_v2

    start = int(token) if token.isdigit() else 0
    end = start + (min(size, PAGE) if size > 0 else PAGE)
    kind: Any = tpu_v2.ListNodesResponse if of_nodes else tpu_v2.ListQueuedResourcesResponse
    made = kind.pb(kind())
    (made.nodes if of_nodes else made.queued_resources).extend([_message(r) for r in found[start:end]])
    made.next_page_token = str(end) if end < len(found) else ""
    return bytes(made.SerializeToString())


def operation(found: Operation, made: Resource | None) -> bytes:
    """A long-running operation; `made` is its answer once it is done, None: a delete's."""
    from google.cloud import tpu_v2
    from google.longrunning import operations_pb2
    from google.protobuf import empty_pb2

    parent = "/".join(found.resource.split("/")[:4])
    told = operations_pb2.Operation(name=f"{parent}/operations/{found.id}", done=found.status != "running")
    about = tpu_v2.OperationMetadata(target=found.resource, verb=found.kind, api_version="v2")
    about.create_time = datetime.fromtimestamp(found.started, UTC)
    told.metadata.Pack(tpu_v2.OperationMetadata.pb(about))
    if found.status == "failed":
        told.error.code, told.error.message = 13, str((found.error or {}).get("text"))
    elif told.done:
        told.response.Pack(_message(made) if made is not None else empty_pb2.Empty())
    return bytes(told.SerializeToString())
