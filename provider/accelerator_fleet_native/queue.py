"""What is done with a queued resource: asked for, waited for, read, changed on its nodes, deleted with them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from threading import Event
from typing import Any, Final

from accelerator_fleet_native import fields, messages

WAITING: Final = ("CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING")
ENDED: Final = ("FAILED", "SUSPENDING", "SUSPENDED")
LIMIT: Final = 60 * 60.0  # seconds that a create or delete waits when the program says nothing (customTimeouts)
UNSEEN: Final = 30.0  # seconds for which reads may miss what was just made
FIRST, LONGEST = 0.5, 10.0  # seconds between two looks
ASKS: Final = 5  # times that a create is sent when its answer is lost
AGAIN: Final = (
    "A {state} one stays, and uses quota, until it is deleted; it is asked for again on request only: "
    "`fleet up --retry {name}`, or `pulumi destroy --target URN` and then `pulumi up`"
)


class Unfinished(Exception):
    """It is there and is not as asked: the engine remembers it with this text, and the next `up` looks again."""


class Queue:
    """Cloud TPU's API of one project. `cancelled` ends every wait."""

    def __init__(self, client: Any, cancelled: Event) -> None:
        self._client, self._cancelled = client, cancelled

    # -- calls ------------------------------------------------------------------------------------------------------
    def create(self, inputs: dict[str, Any]) -> None:
        """Ask for it. One request id for all tries: an answer that is lost does not make it twice."""
        from google.api_core import exceptions
        from google.cloud import tpu_v2

        asked = tpu_v2.CreateQueuedResourceRequest(
            parent=messages.parent(inputs), queued_resource_id=inputs["queuedResourceId"],
            queued_resource=messages.request(inputs), request_id=str(uuid.uuid4()),
        )  # fmt: skip
        for attempt in range(ASKS):
            try:
                self._client.create_queued_resource(asked, timeout=60)
                return
            except exceptions.AlreadyExists:
                if attempt == 0:  # else an earlier try of this very call made it, and its answer was lost
                    raise
                return
            except (exceptions.ServiceUnavailable, exceptions.DeadlineExceeded, exceptions.TooManyRequests) as lost:
                quota = isinstance(lost, exceptions.TooManyRequests) and "Quota limit" in str(lost)
                if quota or attempt == ASKS - 1 or self._cancelled.wait(FIRST * 2**attempt):
                    raise

    def find(self, name: str) -> tuple[Any, list[Any]] | None:
        """The queued resource and its nodes; None when it is gone."""
        from google.api_core import exceptions

        try:
            found = self._client.get_queued_resource(name=name, timeout=60)
        except exceptions.NotFound:
            return None
        return found, self._nodes(found)

    def _nodes(self, found: Any) -> list[Any]:
        if found.state.state.name in WAITING[:3]:
            return []
        place = "/".join(found.name.split("/")[:4])
        there = [n for n in self._client.list_nodes(parent=place, timeout=60) if n.queued_resource == found.name]
        return sorted(there, key=lambda n: n.name)

    def update(self, inputs: dict[str, Any], keys: list[str], nodes: list[Any], limit: float) -> None:
        """Change on every node what UpdateNode takes."""
        from google.cloud import tpu_v2
        from google.protobuf.field_mask_pb2 import FieldMask

        paths = [p for k in keys if (p := fields.inputs()[k].in_place)]
        started = []
        for one in nodes:
            wanted = messages.node(inputs)
            wanted.name = one.name
            asked = tpu_v2.UpdateNodeRequest(node=wanted, update_mask=FieldMask(paths=paths))
            started.append(self._client.update_node(asked, timeout=60))
        for operation in started:
            self._end(operation, limit)

    def delete(self, name: str, limit: float) -> None:
        """Delete it with its nodes; one that is gone is deleted."""
        from google.api_core import exceptions
        from google.cloud import tpu_v2

        try:
            asked = tpu_v2.DeleteQueuedResourceRequest(name=name, force=True, request_id=str(uuid.uuid4()))
            operation = self._client.delete_queued_resource(asked, timeout=60)
        except exceptions.NotFound:
            return
        self._end(operation, limit)

    # -- waiting ----------------------------------------------------------------------------------------------------
    def _end(self, operation: Any, limit: float) -> None:
        """Wait for a long-running operation; raises what it ended with."""
        self._until(operation.done, limit)
        if operation.done():
            operation.result(timeout=60)

    def _until(self, test: Callable[[], bool], limit: float) -> None:
        """Look until it is so, with growing pauses; gives up at the limit or when the engine cancels."""
        end, pause = time.monotonic() + limit, FIRST
        while not test():
            if time.monotonic() > end or self._cancelled.wait(pause):
                return
            pause = min(pause * 1.3, LONGEST)

    def settle(self, inputs: dict[str, Any], name: str, pool: str, limit: float) -> tuple[Any, list[Any]]:
        """The queued resource once it is in the queue, or once it is ACTIVE. Raises Unfinished with what it is.

        `pool`: what the program calls it, for the advice.
        """
        missing = time.monotonic() + UNSEEN
        last: list[tuple[Any, list[Any]] | None] = [None]

        def rests() -> bool:
            last[0] = self.find(name)
            if last[0] is None:
                return time.monotonic() > missing
            state = last[0][0].state.state.name
            return state in ENDED or state == "ACTIVE" or (inputs["wait"] == "accepted" and state != "CREATING")

        self._until(rests, limit)
        if last[0] is None:
            raise Unfinished(f"{name} was asked for and is not found; `fleet recover` says whether it is there")
        problem = trouble(inputs, last[0][0], pool, self._cancelled.is_set())
        if problem:
            raise Unfinished(problem)
        return last[0]


def trouble(inputs: dict[str, Any], found: Any, pool: str, stopped: bool = False) -> str:
    """Why a queued resource is not what `wait` asks for, and what to try; empty when it is."""
    state, where = found.state.state.name, f"queued resource {inputs['queuedResourceId']} in {inputs['zone']}"
    if state in ENDED:
        said = found.state.failed_data.error.message if state == "FAILED" else _who(inputs, found)
        again = AGAIN.format(state=state, name=pool)
        return f"{where} is {state}: {said or 'the API says no reason'}\n{again}. {_instead(inputs, state)}"
    if inputs["wait"] == "active" and state != "ACTIVE":
        why = "the run was stopped" if stopped else "the wait is over"
        return f"{where} is {state}: {why}. It stays in the queue; the next `up` waits on"
    return ""


def _who(inputs: dict[str, Any], found: Any) -> str:
    by = found.state.state_initiator.name
    if by == "SERVICE" and inputs.get("provision") == "spot":
        return "the service took the spot capacity back"
    return {"SERVICE": "the service took its nodes away", "USER": "its nodes were deleted by somebody"}.get(by, "")


def _instead(inputs: dict[str, Any], state: str) -> str:
    """What else would work."""
    if state == "FAILED" and inputs.get("validUntil"):
        return "Or with a later valid_until, in another zone, or from a reservation"
    if inputs.get("provision") == "spot":
        return "Or with provision on-demand or reserved, which are not taken away"
    return "Or in another zone, or from a reservation"
