"""The way from an API server into its cluster: an HTTP CONNECT proxy that knows which process plays which address."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

# (host, port) inside the cluster -> loopback port of the process that answers there, or None: nothing listens.
Resolve = Callable[[str, int], int | None]

_CHUNK = 64 << 10
_REQUEST_LIMIT = 16 << 10


class TunnelLoop:
    """One thread that carries the tunnels of all clusters."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="cluster-tunnels", daemon=True)
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)


class ConnectProxy:
    """Listens on a unix socket; dials loopback only, and only what `resolve` names."""

    def __init__(self, loop: TunnelLoop, path: Path, resolve: Resolve) -> None:
        self.path = path
        self._loop = loop
        self._resolve = resolve
        self._tunnels: set[asyncio.Task[None]] = set()
        self._server: asyncio.AbstractServer = loop.call(self._listen())

    async def _listen(self) -> asyncio.AbstractServer:
        return await asyncio.start_unix_server(self._serve, str(self.path), limit=_REQUEST_LIMIT)

    def close(self) -> None:
        self._loop.call(self._close())
        self.path.unlink(missing_ok=True)

    async def _close(self) -> None:
        self._server.close()
        for task in list(self._tunnels):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tunnels.add(task)
        try:
            await self._tunnel(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, ValueError):
            pass  # one side went away; the other learns it by the close below
        finally:
            self._tunnels.discard(task)
            writer.close()

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.split(b"\r\n", 1)[0].decode("ascii").split(" ", 2)
        host, _, port = target.rpartition(":")
        found = self._resolve(host.strip("[]"), int(port)) if method == "CONNECT" else None
        if found is None:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", found)
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            await asyncio.gather(_copy(reader, back_writer), _copy(back_reader, writer))
        finally:
            back_writer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            if sink.can_write_eof():
                sink.write_eof()
            else:
                sink.close()
