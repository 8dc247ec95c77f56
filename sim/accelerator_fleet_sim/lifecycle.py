"""Starting, stopping and emptying the datacentre of a folder."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import processes
from .client import Client, CloudError, NotRunning
from .paths import socket_path

PATIENCE = 30.0  # seconds for a daemon to answer, and to end its control planes
RESUME_PATIENCE = 180.0  # seconds for control planes that ran before: 10 s for one where two cores are free


class StartFailed(Exception):
    """The daemon did not come up; the text has the end of its log."""


def _answer(folder: Path) -> dict[str, Any] | None:
    try:
        status: dict[str, Any] = Client(folder).get("/status", timeout=10)
    except (NotRunning, CloudError):
        return None
    return status


def start(folder: Path, speed: float | None = None, control_planes: bool = True) -> tuple[bool, dict[str, Any]]:
    """Have a daemon running in its own session: (whether it had to be started, its status).

    Returns when the control planes of an earlier run answer again, or could not be brought back (the log says why).
    """
    status = _answer(folder)
    if status is not None:
        return False, _back(folder, status)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write_shim(folder)
    log = folder / "daemon.log"
    command = [sys.executable, "-m", "accelerator_fleet_sim.daemon", "--folder", str(folder)]
    command += ["--speed", str(speed)] if speed else []
    command += [] if control_planes else ["--without-control-planes"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, cwd="/",
            env=_environment(folder),
        )  # fmt: skip
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        status = _answer(folder)
        if status is not None:
            return True, _back(folder, status)
        if process.poll() is not None:
            break
        time.sleep(0.03)
    tail = log.read_text(errors="replace")[-2000:]
    raise StartFailed(f"the embedded datacentre did not start; the end of {log}:\n{tail}")


def _back(folder: Path, status: dict[str, Any]) -> dict[str, Any]:
    """The status once nothing is on its way back any more; the last one there was when that takes too long."""
    until = time.monotonic() + RESUME_PATIENCE
    while status.get("resuming") and time.monotonic() < until:
        time.sleep(0.1)
        status = _answer(folder) or status
    return status


def _environment(folder: Path) -> dict[str, str]:
    """The daemon's environment: the caller's, without what could lead it elsewhere."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "KUBE", "PULUMI_"))}
    return {**kept, "ACCELERATOR_FLEET_SIM": str(folder), "MALLOC_ARENA_MAX": "2", "PYTHONUNBUFFERED": "1"}


SHIMS = {
    "aws": ("aws", "eks get-token, sts get-caller-identity"),
    "gke-gcloud-auth-plugin": ("google", "the credential of a GKE cluster's kubeconfig"),
}


def _write_shim(folder: Path) -> None:
    """The datacentre's own `aws` and `gke-gcloud-auth-plugin`, beside the engine in .fleet/bin."""
    if folder.name != "sim":
        return
    for name, (cloud, does) in SHIMS.items():
        path = folder.parent / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = (
            f"#!/bin/sh\n# The embedded datacentre's own {name}: {does}.\n"
            f"ACCELERATOR_FLEET_SIM=${{ACCELERATOR_FLEET_SIM:-{shlex.quote(str(folder))}}} "
            f'exec {shlex.quote(sys.executable)} -m accelerator_fleet_sim.{cloud}.shim "$@"\n'
        )
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            path.chmod(0o755)


def stop(folder: Path) -> int:
    """End the daemon with its control planes, and plugins that an interrupted engine left. How many ended."""
    ended = 0
    daemons = [pid for name, pid in processes.recorded(folder) if name == "daemon"]
    with contextlib.suppress(NotRunning, CloudError):
        Client(folder).post("/stop", timeout=10)
    for pid in daemons:
        began, until = processes.start_ticks(pid), time.monotonic() + PATIENCE
        while processes.start_ticks(pid) == began and began is not None and time.monotonic() < until:
            time.sleep(0.05)
        processes.end(pid)
        ended += 1
    for _, pid in processes.recorded(folder / "pids"):
        if _orphan(pid):
            processes.end(pid)
            ended += 1
    ended += _sweep_clusters(folder)
    _sweep_socket(folder)
    from accelerator_fleet_engine import orphans

    # Providers of other kinds (Kubernetes) that a killed engine left; the simulated ones are recorded above.
    return ended + orphans.end(folder.parent)


def _orphan(pid: int) -> bool:
    """Whether the process that started it is gone."""
    try:
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return False
    return parent == 1 or processes.start_ticks(parent) is None


def _sweep_clusters(folder: Path) -> int:
    """End programs of control planes that a killed daemon left."""
    recorded = folder / "clusters" / "_runtime" / "processes"
    if not recorded.exists():
        return 0
    from .cluster.processes import Supervisor

    supervisor = Supervisor(recorded, lambda text: None)
    try:
        return int(supervisor.sweep())
    finally:
        supervisor.close()


def _sweep_socket(folder: Path) -> None:
    """A killed daemon leaves its socket, and the short folder of a long path."""
    path = socket_path(folder)
    path.unlink(missing_ok=True)
    if path.parent != folder and path.parent.name.startswith("fleet-sim-"):
        shutil.rmtree(path.parent, ignore_errors=True)
    (folder / "socket").unlink(missing_ok=True)


def reset(folder: Path) -> None:
    """Stop, and empty the folder; the kubeconfig of `fleet sim seed lab` goes with it."""
    stop(folder)
    kubeconfig = folder.parent / "kubeconfig"
    if folder.name == "sim" and kubeconfig.is_file() and '"embedded-lab"' in kubeconfig.read_text():
        kubeconfig.unlink()
    for path in folder.iterdir() if folder.is_dir() else []:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
