"""Operations that are served: which parameters each understands, and the table that finds them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ...aws.control import ControlPlane
from ...aws.errors import AwsError
from ...aws.scope import Scope
from ...daemon.server import HttpError
from ...daemon.store import Resource

Params = dict[str, Any]


@dataclass(frozen=True)
class Call:
    """One request: its parameters, where it looks, and the control plane that carries out what changes something."""

    scope: Scope
    params: Params
    control: ControlPlane

    def delete(self, resource: Resource) -> None:
        """What the plugin's delete does, with its refusals; nothing more when it is on its way already."""
        if resource.state == "deleting":
            return
        self.carry_out("delete", {"type": resource.type, "id": resource.id})

    def carry_out(self, verb: str, call: dict[str, Any]) -> None:
        """A verb of the control plane; its error as the API has it."""
        try:
            getattr(self.control, verb)({**call, "account": self.scope.account, "region": self.scope.region})
        except HttpError as error:
            raise AwsError(error.body["code"], error.body["message"], error.status) from error


Handler = Callable[[Call], dict[str, Any]]


@dataclass(frozen=True)
class Served:
    """An operation: what answers it, and the parameters that it understands."""

    handler: Handler
    parameters: frozenset[str]


OPERATIONS: dict[tuple[str, str], Served] = {}


def served(service: str, operation: str, *parameters: str) -> Callable[[Handler], Handler]:
    """Serve an operation of a service (botocore's names); a parameter that is not named here is refused."""

    def enter(handler: Handler) -> Handler:
        OPERATIONS[service, operation] = Served(handler, frozenset(parameters))
        return handler

    return enter


def refuse_unknown(service: str, operation: str, params: Params) -> Served:
    """The served operation; AwsError naming what is not served: never an answer that only looks empty."""
    found = OPERATIONS.get((service, operation))
    if found is None:
        known = ", ".join(sorted(o for s, o in OPERATIONS if s == service))
        raise AwsError("NotServed", f"{service} {operation} is not served by the embedded datacentre; it serves "
                       f"{known}", 501)  # fmt: skip
    unknown = sorted(k for k, v in params.items() if k not in found.parameters and v not in (None, False, [], {}))
    if unknown:
        raise AwsError("NotServed", f"{service} {operation} is served without the parameter {unknown[0]}; it has "
                       f"{', '.join(sorted(found.parameters)) or 'none'}", 501)  # fmt: skip
    return found


# -- what all services share -----------------------------------------------------------------------------------------
def moment(text: str | float | None) -> datetime | None:
    """A time of the database as the models want it."""
    if text in (None, ""):
        return None
    if isinstance(text, (int, float)):
        return datetime.fromtimestamp(int(text), UTC)
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def tags_of(resource: Resource) -> dict[str, str]:
    """A resource's tags as the cloud has them."""
    tags = resource.outputs.get("tagsAll") or resource.outputs.get("tags") or {}
    return {str(k): str(v) for k, v in tags.items()}


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    """Tags as most services list them."""
    return [{"Key": k, "Value": v} for k, v in sorted(tags.items())]


def page(
    items: list[Any], size: int | None, token: str | None, most: int, error: Callable[[str], AwsError]
) -> tuple[list[Any], str | None]:
    """One page of a list and the token of the next. Tokens are opaque and good for one list only."""
    start = 0
    if token:
        try:
            start = int(json.loads(base64.urlsafe_b64decode(token.encode()))["after"])
        except (ValueError, KeyError, TypeError):
            raise error(token) from None
    count = min(size or most, most)
    rest = items[start : start + count]
    more = start + count < len(items)
    after = base64.urlsafe_b64encode(json.dumps({"after": start + count}).encode()).decode() if more else None
    return rest, after
