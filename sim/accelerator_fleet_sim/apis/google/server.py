"""Google's endpoint: one for all REST APIs, told apart by the path."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from accelerator_fleet_engine.endpoints import GOOGLE_ROOTS

from ...daemon.server import HttpError
from ...google.control import ControlPlane
from ...google.errors import GoogleError
from ...google.functions import PREFIX
from ...google.scope import World
from ..faults import GoogleReads, hiding, struck, type_of
from ..listener import Answer, Request
from . import compute, container, files, identity
from .access import JSON, TOKEN_PATH, Access
from .routes import ALWAYS, ROUTES, STATUS, Call, Route
from .shapes import checked

PARTS = (compute, container, files, identity)  # each enters its paths


class GoogleApi:
    """Answers requests; everything it knows it asks of the control plane's store."""

    def __init__(self, control: ControlPlane, world: World, access: Access) -> None:
        self.control, self.world, self.access = control, world, access

    def handle(self, request: Request) -> Answer:
        """One request."""
        parts = urlsplit(request.target)
        if parts.path == TOKEN_PATH and request.method == "POST":
            return self.access.token(request)
        api, rest = _api(unquote(parts.path))
        try:
            if not api:
                raise GoogleError(404, "notFound", f"{parts.path} is no API of the embedded datacentre; it has "
                                  f"{', '.join(GOOGLE_ROOTS.values())}")  # fmt: skip
            if not self.access.valid(request.headers.get("authorization", "")):
                raise GoogleError(401, "authError", "Request had invalid authentication credentials. Expected OAuth 2 "
                                  "access token, login cookie or other valid authentication credential.")  # fmt: skip
            route, words = _route(api, request.method, rest)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            answer = self._answer(route, words, query, request)
        except GoogleError as error:
            return refusal(api, error)
        except HttpError as error:
            return refusal(api, GoogleError(error.status, error.body["code"], error.body["message"]))
        return Answer(200, json.dumps(checked(route.api, route.kind, answer)).encode(), JSON)

    def _answer(self, route: Route, words: dict[str, str], query: dict[str, str], request: Request) -> dict[str, Any]:
        unknown = sorted(k for k in query if k not in route.query and k not in ALWAYS)
        if unknown:
            raise GoogleError(400, "badRequest", f"Invalid JSON payload received. Unknown name \"{unknown[0]}\": "
                              f"Cannot bind query parameter. The embedded datacentre serves "
                              f"{', '.join(sorted(route.query)) or 'none'} here.")  # fmt: skip
        project = words.get("project", PREFIX)
        if not project.startswith(PREFIX):
            raise GoogleError(403, "forbidden", f"Permission denied on resource project {project}: the projects of "
                              f"this embedded datacentre are named {PREFIX}*")  # fmt: skip
        try:
            body = json.loads(request.body) if request.body else {}
        except ValueError:
            raise GoogleError(400, "parseError", "Invalid JSON payload received.") from None
        self._weather(route, words)
        scope = GoogleReads(self.world, project, stale=hiding(self.world.faults, self.world.clock))
        return route.handler(Call(route.api, scope, words, query, body, self.control))

    def _weather(self, route: Route, words: dict[str, str]) -> None:
        """Raises what a fault makes of the call."""
        service = {"file": "filestore"}.get(route.api, route.api)
        tokens = [t for t in self.control.behaviours if t.startswith(f"gcp:{service}/")]
        last = [w for w in re.sub(r"\(.*?\)", "", route.path.pattern).split("/") if w][-1]
        fault = struck(self.world.faults, "gcp", type_of(tokens, last, f"gcp:{service}/"), words)
        if fault is not None:
            row = self.world.fault_rules.answer(fault, service)
            raise GoogleError(row["status"], row["code"], row["message"])


def _api(path: str) -> tuple[str, str]:
    """(API, the path below its root)."""
    for name, root in GOOGLE_ROOTS.items():
        if path.startswith(f"/{root}"):
            return name, path.removeprefix(f"/{root}")
    return "", path


def _route(api: str, method: str, path: str) -> tuple[Route, dict[str, str]]:
    for route in ROUTES:
        match = route.path.fullmatch(path) if (route.api, route.method) == (api, method) else None
        if match:
            return route, match.groupdict()
    raise GoogleError(501, "notServed", f"{method} {path} of {api} is not served by the embedded datacentre")


def refusal(api: str, error: GoogleError) -> Answer:
    """An error as Google's APIs write it: Compute with reasons, the others with a status word."""
    status = STATUS.get(error.status, "UNKNOWN")
    if error.reason == "FAILED_PRECONDITION":
        status = "FAILED_PRECONDITION"
    body: dict[str, Any] = {"code": error.status, "message": error.message}
    if api == "compute" or not api:
        body["errors"] = [{"message": error.message, "domain": "global", "reason": error.reason or "badRequest"}]
    if api != "compute":
        body["status"] = status
    return Answer(error.status, json.dumps({"error": body}).encode(), JSON)
