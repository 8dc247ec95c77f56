"""Starts and ends the loopback endpoints of one datacentre, and writes down where they are."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelerator_fleet_engine import endpoints

from ..cluster.ports import is_free
from .google.access import Access
from .google.tpu import TpuServer
from .listener import Answer, Listener, Request

if TYPE_CHECKING:
    from ..aws.control import ControlPlane as AwsControl
    from ..aws.scope import World as AwsWorld
    from ..google.control import ControlPlane as GoogleControl
    from ..google.scope import World as GoogleWorld

TRIES = 200


class Apis:
    """The endpoints. Service models are read when one is first asked: most datacentres never are."""

    def __init__(
        self,
        folder: Path,
        aws: tuple[AwsControl, AwsWorld],
        google: tuple[GoogleControl, GoogleWorld],
        log: Callable[[str], None],
    ) -> None:
        self.folder, self._log = folder, log
        self._aws, self._google = aws, google
        self._handlers: dict[str, Callable[[Request], Answer]] = {}
        self._access = Access(folder, google[1])
        self._running: list[Any] = []

    def start(self) -> None:
        """Listen, on the ports of last time when they are free, and note where."""
        ports: dict[str, int] = {}
        for name in ("aws", "google"):
            listener = self._bound(name, ports)
            ports[name] = listener.port
            self._running.append(listener)
        queued = self._google[0].queued
        tpu = TpuServer(self._port("tpu", ports), self._google[1], self._access, self._log, queued)
        self._running.append(tpu)
        ports["tpu"] = tpu.port
        where = endpoints.written(ports)
        self._access.write(where["google"])
        scratch = self.folder / f".{endpoints.NOTE}"
        scratch.write_text(json.dumps(where) + "\n")
        scratch.replace(self.folder / endpoints.NOTE)
        for one in self._running:
            one.start()

    def stop(self) -> None:
        """Listen no more; the note stays: the ports are asked for again."""
        for one in self._running:
            one.close()
        self._running.clear()

    def _bound(self, name: str, ports: dict[str, int]) -> Listener:
        for _ in range(TRIES):
            try:
                return Listener(self._port(name, ports), lambda r: self._handler(name)(r), self._log)
            except OSError:
                continue
        raise OSError(f"no free port on 127.0.0.1 for the {name} API")

    def _port(self, name: str, taken: dict[str, int]) -> int:
        """The port that the note or the folder's path says, else a free one beside."""
        noted = endpoints.addresses(self.folder)[name].rpartition(":")[2]
        for port in (int(noted), endpoints.preferred(self.folder)[name]):
            if port not in taken.values() and is_free(port):
                return port
        for _ in range(TRIES):
            port = random.randrange(*endpoints.RANGE)
            if port not in taken.values() and is_free(port):
                return port
        raise OSError(f"no free port on 127.0.0.1 for the {name} API")

    def _handler(self, name: str) -> Callable[[Request], Answer]:
        if name not in self._handlers:
            if name == "aws":
                from .aws.server import AwsApi

                self._handlers[name] = AwsApi(*self._aws).handle
            else:
                from .google.server import GoogleApi

                self._handlers[name] = GoogleApi(*self._google, self._access).handle
        return self._handlers[name]
