"""What is served at which path, and what all Google APIs share: parameters, pages, filters, errors, operations."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ...daemon.server import HttpError
from ...daemon.store import Operation, Resource
from ...google.control import ControlPlane
from ...google.errors import GoogleError
from ...google.scope import Scope, World
from .shapes import Item, shapes

STATUS = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
          409: "ALREADY_EXISTS", 412: "FAILED_PRECONDITION", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
          501: "UNIMPLEMENTED", 503: "UNAVAILABLE"}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One request: path words, query, body, and the control plane that carries out what changes something."""

    api: str
    scope: Scope
    words: dict[str, str]
    query: dict[str, str]
    body: Any
    control: ControlPlane

    @property
    def world(self) -> World:
        """What all calls share."""
        return self.scope.world

    def delete(self, resource: Resource) -> Operation | None:
        """What the plugin's delete does, with its refusals; protections that only the provider has do not hold here."""
        state = {"deletionProtection": False, "deletionPolicy": "DELETE"}
        call = {"type": resource.type, "id": resource.id, "project": self.scope.project, "state": state}
        if resource.state == "deleting":
            return None
        try:
            answer = self.control.delete(call)
        except HttpError as error:
            reason = error.body["code"]
            raise GoogleError(error.status, reason, error.body["message"]) from error
        found = self.scope.store.operation(answer["operation"]) if answer.get("operation") else None
        return found


@dataclass(frozen=True)
class Route:
    """A method and a path of one API; `kind` is the answer's type in the API's document."""

    api: str
    method: str
    path: re.Pattern[str]
    kind: str
    handler: Callable[[Call], Item]
    query: frozenset[str] = field(default_factory=frozenset)


ROUTES: list[Route] = []
ALWAYS = {"alt", "prettyPrint", "$alt", "quotaUser"}


def serves(api: str, method: str, path: str, kind: str, *query: str) -> Callable[[Any], Any]:
    """Serve a path such as `projects/{project}/global/networks/{name}`; other query parameters are refused."""
    pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/:]+)", re.escape(path))

    def enter(handler: Callable[[Call], Item]) -> Callable[[Call], Item]:
        ROUTES.append(Route(api, method, re.compile(pattern), f"#{kind}", handler, frozenset(query)))
        return handler

    return enter


# -- pages and filters -----------------------------------------------------------------------------------------------
def page(call: Call, items: list[Any], size: str, most: int) -> tuple[list[Any], Item]:
    """One page, and what tells of the next; `size` is the API's parameter for it."""
    start = 0
    token = call.query.get("pageToken")
    if token:
        try:
            start = int(json.loads(base64.urlsafe_b64decode(token.encode()))["after"])
        except (ValueError, KeyError, TypeError):
            raise GoogleError(400, "invalid", f"Invalid value for field 'pageToken': '{token}'.") from None
    text = call.query.get(size) or str(most)
    if not text.isdigit():
        raise GoogleError(400, "invalid", f"Invalid value for field '{size}': '{text}'.")
    count = min(int(text) or most, most)
    if start + count >= len(items):
        return items[start:], {}
    after = base64.urlsafe_b64encode(json.dumps({"after": start + count}).encode()).decode()
    return items[start : start + count], {"nextPageToken": after}


TERM = re.compile(r'\(?\s*([A-Za-z][\w.]*(?:\."[^"]+")?(?:[\w./-]*))\s*(=|!=)\s*("[^"]*"|[^\s()*]+)\s*\)?')


def filtered(call: Call, items: list[Item], schema: str) -> list[Item]:
    """`filter=labels.fleet=accel`, several terms joined by AND or put in brackets one after the other."""
    text = call.query.get("filter", "").strip()
    if not text:
        return items
    for part in re.split(r"\s+AND\s+|(?<=\))\s*(?=\()", text):
        found = TERM.fullmatch(part.strip())
        if found is None:
            raise GoogleError(400, "invalid", f"Invalid value for field 'filter': '{text}'. The embedded datacentre "
                              "serves FIELD=VALUE and FIELD!=VALUE, joined by AND.")  # fmt: skip
        path, equal, wanted = found[1].replace('"', ""), found[2] == "=", found[3].strip('"')
        if path.partition(".")[0] not in shapes()[call.api][schema]:
            raise GoogleError(400, "invalid", f"Invalid value for field 'filter': '{text}'. Unknown field '{path}'.")
        items = [i for i in items if (_value(i, path) == wanted) == equal]
    return items


def _value(item: Item, path: str) -> str | None:
    head, _, rest = path.partition(".")
    value = item.get(head)
    if rest and isinstance(value, dict):
        return _value(value, rest) if rest not in value else str(value[rest])
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


# -- numbers, times, names -------------------------------------------------------------------------------------------
def number(text: str) -> str:
    """A numeric id for what the database keeps none of: always the same for the same resource."""
    return str(10**18 + int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"))


def when(seconds: float, compute: bool = False) -> str:
    """A time of the database as the APIs print it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000-00:00" if compute else "%Y-%m-%dT%H:%M:%SZ")


def label(resource: Resource) -> dict[str, str]:
    """A resource's labels as the cloud has them."""
    found = resource.outputs.get("effectiveLabels") or resource.outputs.get("labels") or {}
    return {str(k): str(v) for k, v in found.items()}
