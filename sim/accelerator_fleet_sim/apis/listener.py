"""HTTP on a loopback port: one thread a connection, one function for all requests."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

BODY_LIMIT = 16 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """What arrived; `target` is path and query as they were sent."""

    method: str
    target: str
    headers: dict[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What goes back."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


Handle = Callable[[Request], Answer]


class _Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    handle: Handle
    log: Callable[[str], None]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    timeout = 120  # an idle connection of a client that stays

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""

    def _serve(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if size > BODY_LIMIT or self.headers.get("Transfer-Encoding"):
            self.send_error(413)
            return
        body = self.rfile.read(size) if size else b""
        headers = {k.lower(): v for k, v in self.headers.items()}
        try:
            answer = self.server.handle(Request(self.command, self.path, headers, body))
        except Exception as problem:  # a defect must reach who asked, not close the connection
            self.server.log(f"api {self.command} {self.path}: {problem!r}")
            answer = Answer(500, f"the embedded datacentre failed: {problem!r} (a defect; see its log)".encode())
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = _serve


class Listener:
    """A port that answers until `close`. Raises OSError when the port is taken."""

    def __init__(self, port: int, handle: Handle, log: Callable[[str], None]) -> None:
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.handle, self._server.log = handle, log
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.2,), name="api", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
