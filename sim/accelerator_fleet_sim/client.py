"""HTTP over the datacentre's unix socket, standard library only: what plugins, the `aws` shim and `fleet sim` use."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

from .paths import sim_folder, socket_path


class NotRunning(Exception):
    """No datacentre answers at the socket."""


class CloudError(Exception):
    """An error of the simulated cloud: `text` as the provider prints it, `code` as the API names it."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body.get("text") or body.get("message") or "unknown error")
        self.code: str = body.get("code", "")
        self.body = body


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Client:
    """One datacentre."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or sim_folder()

    def request(self, method: str, path: str, body: Any = None, timeout: float = 90) -> Any:
        """One request; raises CloudError for an error answer, NotRunning when nobody listens."""
        connection = _Connection(socket_path(self.folder), timeout)
        try:
            data = None if body is None else json.dumps(body).encode()
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read() or b"null")
        except (FileNotFoundError, ConnectionRefusedError) as error:
            raise NotRunning(
                f"the embedded datacentre of {self.folder} is not running; start it with: fleet sim start"
            ) from error
        except (http.client.HTTPException, ConnectionError, TimeoutError, OSError) as error:
            raise NotRunning(f"the embedded datacentre of {self.folder} did not answer: {error!r}") from error
        finally:
            connection.close()
        if response.status >= 400:
            raise CloudError(answer["error"])
        return answer

    def get(self, path: str, timeout: float = 90) -> Any:
        """GET."""
        return self.request("GET", path, timeout=timeout)

    def post(self, path: str, body: Any = None, timeout: float = 90) -> Any:
        """POST."""
        return self.request("POST", path, body if body is not None else {}, timeout)

    def finish(self, operation: str) -> dict[str, Any]:
        """Wait until an operation ended; its record with `result`, or CloudError."""
        while True:
            record: dict[str, Any] = self.get(f"/operations/{operation}?wait=30")
            if record["status"] == "done":
                return record
            if record["status"] in ("failed", "late"):  # late: the provider waits no longer, the cloud goes on
                raise CloudError(record["error"])
