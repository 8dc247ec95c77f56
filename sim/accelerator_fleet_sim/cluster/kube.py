"""A small client of the Kubernetes API: requests, patches, and mirrors of a kind that stay up to date."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from accelerator_fleet_sim.cluster.model import Json, Log

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

_WATCH_S = 240  # the server ends a watch after this time and we ask anew
_RETRY_S = 1.0


class ApiError(Exception):
    """The API server said no."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message or f"HTTP {status}")
        self.status = status
        self.reason = reason

    @classmethod
    def of(cls, status: int, body: bytes) -> ApiError:
        try:
            data = json.loads(body)
            return cls(status, str(data.get("reason", "")), str(data.get("message", "")))
        except (ValueError, AttributeError):
            return cls(status, "", body.decode(errors="replace")[:500])


class KubeClient:
    """One API server, one identity. A connection per thread, kept open."""

    def __init__(self, port: int, context: ssl.SSLContext, token: str | None = None) -> None:
        self.port = port
        self._context = context
        self._headers = {"Accept": "application/json", "User-Agent": "accelerator-fleet-sim"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._local = threading.local()

    def _connection(self, timeout: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self._context)

    def raw(
        self, method: str, path: str, body: bytes | None = None, content_type: str = "", timeout: float = 60
    ) -> tuple[int, bytes]:
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
        for attempt in (1, 2):
            kept: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
            connection = kept or self._connection(timeout)
            self._local.connection = None
            try:
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                data = response.read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                # A kept connection may have been closed by the server in the meantime: that alone is worth a retry.
                if kept is not None and attempt == 1 and not isinstance(error, TimeoutError):
                    continue
                raise
            if response.will_close:
                connection.close()
            else:
                self._local.connection = connection
            return response.status, data
        raise AssertionError("unreachable")

    def request(self, method: str, path: str, body: object = None, content_type: str = "", timeout: float = 60) -> Json:
        data = None if body is None else json.dumps(body).encode()
        status, answer = self.raw(method, path, data, content_type, timeout)
        if status >= 300:
            raise ApiError.of(status, answer)
        return _object(json.loads(answer))

    def get(self, path: str) -> Json:
        return self.request("GET", path)

    def find(self, path: str) -> Json | None:
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def list(self, path: str) -> list[Json]:
        return list(self.get(path).get("items", []))

    def create(self, path: str, body: Json) -> Json:
        return self.request("POST", path, body)

    def patch(self, path: str, body: object, content_type: str = MERGE) -> Json:
        return self.request("PATCH", path, body, content_type)

    def apply(self, path: str, body: Json, manager: str) -> Json:
        """Server-side apply."""
        return self.patch(f"{path}?{urlencode({'fieldManager': manager, 'force': 'true'})}", body, APPLY)

    def delete(self, path: str, options: Mapping[str, object] | None = None) -> bool:
        try:
            self.request("DELETE", path, dict(options or {}))
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def ready(self) -> bool:
        try:
            return self.raw("GET", "/readyz", timeout=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def watch(self, path: str, version: str, opened: Callable[[socket.socket], None]) -> Iterator[Json]:
        """Events after a resource version, until the server ends the watch. `opened` gets the socket, to cut it."""
        query = urlencode(
            {"watch": "1", "resourceVersion": version, "timeoutSeconds": _WATCH_S, "allowWatchBookmarks": "true"}
        )
        connection = self._connection(_WATCH_S + 30)
        try:
            connection.connect()
            opened(connection.sock)
            connection.request("GET", f"{path}?{query}", headers=self._headers)
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError.of(response.status, response.read())
            while line := response.readline():
                yield _object(json.loads(line))
        finally:
            connection.close()


def _object(value: Any) -> Json:
    if not isinstance(value, dict):
        raise ApiError(0, "", f"the API server answered {type(value).__name__}, not an object")
    return value


def key_of(item: Json) -> str:
    meta = item["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


class Mirror:
    """A copy of all objects of one kind, kept up to date by a watch; `changed` is called after every change."""

    def __init__(self, client: KubeClient, path: str, changed: Callable[[], None], log: Log) -> None:
        self._client = client
        self._path = path
        self._changed = changed
        self._log = log
        self._items: dict[str, Json] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._socket: socket.socket | None = None
        self.synced = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mirror {path}", daemon=True)
        self._thread.start()

    def items(self) -> list[Json]:
        with self._lock:
            return list(self._items.values())

    def get(self, key: str) -> Json | None:
        with self._lock:
            return self._items.get(key)

    def stop(self) -> None:
        self._stop.set()
        self._cut()
        self._thread.join(5)

    def _cut(self) -> None:
        """End the watch that is open: an API server does not end while one is."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                version = self._list()
                while not self._stop.is_set():
                    version = self._follow(version)
            except (OSError, http.client.HTTPException, ValueError, ApiError) as error:
                if self._stop.wait(_RETRY_S):
                    return
                if isinstance(error, ApiError) and error.status not in (0, 410, 429, 500, 503):
                    self._log(f"watching {self._path}: {error}")

    def _list(self) -> str:
        answer = self._client.get(self._path)
        items = {key_of(i): _slim(i) for i in answer.get("items") or []}
        with self._lock:
            self._items = items
        self.synced.set()
        self._changed()
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> str:
        started = time.monotonic()
        for event in self._client.watch(self._path, version, self._opened):
            kind, item = event.get("type"), event.get("object", {})
            if kind == "ERROR":
                raise ApiError(int(item.get("code", 0)), str(item.get("reason", "")), str(item.get("message", "")))
            version = str(item["metadata"]["resourceVersion"])
            if kind == "BOOKMARK":
                continue
            with self._lock:
                if kind == "DELETED":
                    self._items.pop(key_of(item), None)
                else:
                    self._items[key_of(item)] = _slim(item)
            self._changed()
        if time.monotonic() - started < _RETRY_S:  # a server that is going down ends watches at once
            self._stop.wait(_RETRY_S)
        return version

    def _opened(self, opened: socket.socket) -> None:
        self._socket = opened
        if self._stop.is_set():  # asked to stop while this connection was being made
            self._cut()


def _slim(item: Json) -> Json:
    item["metadata"].pop("managedFields", None)  # half of an object's size, read by nobody here
    return item
