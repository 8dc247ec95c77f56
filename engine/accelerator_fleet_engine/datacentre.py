"""Starts and stops the embedded datacentre, which lives in a room of its own, through its commands."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping

from accelerator_fleet_engine.errors import EngineError
from accelerator_fleet_engine.layout import Layout


def is_running(place: Layout) -> bool:
    """Whether somebody answers on the datacentre's socket. Takes well under a millisecond."""
    from accelerator_fleet_sim.paths import socket_path  # knows where the socket is when the path would be too long

    with contextlib.closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(2)
        try:
            client.connect(str(socket_path(place.sim)))
        except OSError:
            return False
    return True


def _fleet(place: Layout, variables: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "accelerator_fleet.cli.main", "sim", *arguments],
        cwd=place.project,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def start(place: Layout, variables: Mapping[str, str]) -> bool:
    """Starts it unless it runs; returns whether it had to. Raises EngineError with what it said."""
    if is_running(place):
        return False
    done = _fleet(place, variables, "start")
    if done.returncode:
        raise EngineError(f"the embedded datacentre does not start:\n{(done.stderr or done.stdout).strip()}")
    return True


def seed(place: Layout, variables: Mapping[str, str], context: str) -> None:
    """Has the existing cluster of that context running, with .fleet/kubeconfig for it. Raises EngineError."""
    done = _fleet(place, variables, "seed", context)
    if done.returncode:
        raise EngineError(f"the existing cluster '{context}' does not start:\n{(done.stderr or done.stdout).strip()}")


def stop(place: Layout, variables: Mapping[str, str]) -> None:
    """Ends every process of it. Raises EngineError with what it said."""
    done = _fleet(place, variables, "stop")
    if done.returncode:
        raise EngineError(f"the embedded datacentre does not stop:\n{(done.stderr or done.stdout).strip()}")
