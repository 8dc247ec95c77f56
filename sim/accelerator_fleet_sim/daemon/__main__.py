"""Runs the datacentre in this process until it is told to stop: `python -m accelerator_fleet_sim.daemon --folder X`."""

from __future__ import annotations

import argparse
import fcntl
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from .. import processes
from ..apis.serving import Apis
from ..paths import SOCKET_LIMIT
from .datacentre import Datacentre, log
from .server import HttpServer


def _socket(folder: Path) -> Path:
    """Where to listen: in the folder, or in a short folder elsewhere that a note names."""
    path, note = folder / "sim.sock", folder / "socket"
    if len(os.fsencode(path)) <= SOCKET_LIMIT:
        note.unlink(missing_ok=True)
        return path
    base = os.environ.get("XDG_RUNTIME_DIR")
    short = tempfile.mkdtemp(prefix="fleet-sim-", dir=base if base and Path(base).is_dir() else "/tmp")
    note.write_text(f"{short}/sim.sock\n")
    return Path(short) / "sim.sock"


def _only_one(folder: Path) -> None:
    """Two processes on one folder would write over each other."""
    lock = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"another datacentre runs in {folder}")


def main() -> int:
    """Serve until SIGTERM, SIGINT or POST /stop."""
    parser = argparse.ArgumentParser(prog="accelerator_fleet_sim.daemon", description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--speed", type=float)
    parser.add_argument("--without-control-planes", action="store_true", help="tests of the cloud's rules only")
    args = parser.parse_args()
    folder: Path = args.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    _only_one(folder)
    note = processes.record(folder, "daemon", os.getpid())
    datacentre = Datacentre(folder, args.speed, not args.without_control_planes)
    socket = _socket(folder)
    server = HttpServer(socket, datacentre.routes(), log)
    datacentre.server = server
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.close())
    apis = Apis(folder, (datacentre.aws, datacentre.world), (datacentre.google, datacentre.google_world), log)
    apis.start()
    datacentre.start()
    gc.freeze()
    log(f"datacentre of {folder}, pid {os.getpid()}, speed {datacentre.clock.speed:g}")
    server.serve()
    apis.stop()
    datacentre.stop()
    server.remove()
    if socket.parent != folder:
        shutil.rmtree(socket.parent, ignore_errors=True)
        (folder / "socket").unlink(missing_ok=True)
    note.unlink(missing_ok=True)
    log("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
