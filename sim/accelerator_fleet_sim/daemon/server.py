"""HTTP of the datacentre: JSON over a unix socket, one thread a request."""

from __future__ import annotations

import json
import os
import socketserver
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Route = Callable[[dict[str, str], Any], Any]
BODY_LIMIT = 64 * 1024 * 1024


class HttpError(Exception):
    """An error answer; `body` goes out under `error`."""

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(body.get("message", ""))
        self.status, self.body = status, body


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128
    routes: dict[tuple[str, str], Route]
    log: Callable[[str], None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def address_string(self) -> str:
        return "socket"

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def _answer(self, method: str) -> None:
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        route, rest = self._route(method, parts.path)
        try:
            size = int(self.headers.get("Content-Length") or 0)
            if size > BODY_LIMIT:
                raise HttpError(413, {"code": "RequestTooLarge", "message": "the request is too large"})
            body = json.loads(self.rfile.read(size)) if size else None
            if route is None:
                raise HttpError(404, {"code": "NoSuchRoute", "message": f"no {method} {parts.path}"})
            if rest:
                query["_rest"] = rest
            status, answer = 200, route(query, body)
        except HttpError as error:
            status, answer = error.status, {"error": error.body}
        except ValueError as error:
            status, answer = 400, {"error": {"code": "BadRequest", "message": str(error), "text": str(error)}}
        except Exception as error:
            self.server.log(f"{method} {parts.path}: {error!r}")
            text = f"the embedded datacentre failed: {error!r} (a defect; see its log)"
            status, answer = 500, {"error": {"code": "InternalFailure", "message": repr(error), "text": text}}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _route(self, method: str, path: str) -> tuple[Route | None, str]:
        exact = self.server.routes.get((method, path))
        if exact:
            return exact, ""
        head, _, rest = path.rpartition("/")
        return self.server.routes.get((method, f"{head}/*")), rest


class HttpServer:
    """A listening server; `serve` blocks, `close` ends it and removes the socket."""

    def __init__(self, path: Path, routes: dict[tuple[str, str], Route], log: Callable[[str], None]) -> None:
        path.unlink(missing_ok=True)
        old = os.umask(0o177)  # only this user may ask
        try:
            self._server = _Server(str(path), _Handler)
        finally:
            os.umask(old)
        self.path = path
        self._server.routes, self._server.log = routes, log

    def serve(self) -> None:
        """Answer until `close`."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """End from any thread."""
        threading.Thread(target=self._server.shutdown, daemon=True).start()

    def remove(self) -> None:
        """Close the socket and remove its file."""
        self._server.server_close()
        self.path.unlink(missing_ok=True)
