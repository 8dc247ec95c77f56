"""A plugin process: prints its port and serves one provider until its engine is gone."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from .. import processes
from ..client import Client
from ..paths import sim_folder
from .provider import Cloud
from .servicer import Servicer, pb_grpc

MAX_MESSAGE = 400 * 1024 * 1024  # as Pulumi's own providers allow


def serve(cloud: Cloud, folder: Path) -> tuple[Any, int]:
    """A started server and its port on loopback."""
    options = [("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64), options=options)
    pb_grpc.add_ResourceProviderServicer_to_server(Servicer(cloud, Client(folder)), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def _end_with(parent: int) -> None:
    """End when the engine that started this plugin is gone; the daemon finishes what it was asked."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def run(cloud: Cloud) -> None:
    """Entry point of a plugin executable."""
    folder = sim_folder()
    note = None
    with contextlib.suppress(OSError):
        note = processes.record(folder / "pids", f"plugin-{cloud.name}", os.getpid())
    server, port = serve(cloud, folder)
    print(port, flush=True)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        server.wait_for_termination()
    except KeyboardInterrupt:
        server.stop(0)
    finally:
        if note is not None:
            note.unlink(missing_ok=True)
    sys.exit(0)
