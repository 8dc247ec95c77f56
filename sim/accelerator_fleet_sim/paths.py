"""Where the embedded datacentre keeps its things: `.fleet/sim` and, when that path is too long, a socket elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

SOCKET_LIMIT = 100  # bytes; the kernel's limit for a unix socket path is 108 with its terminator


def fleet_home() -> Path:
    """The folder `.fleet` of the project: $ACCELERATOR_FLEET_HOME, else beside the nearest Pulumi.yaml upwards."""
    if home := os.environ.get("ACCELERATOR_FLEET_HOME"):
        return Path(home).absolute()
    here = Path.cwd().absolute()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").exists():
            return folder / ".fleet"
    return here / ".fleet"


def sim_folder() -> Path:
    """The embedded datacentre's folder: $ACCELERATOR_FLEET_SIM, else `sim` in `.fleet`."""
    if folder := os.environ.get("ACCELERATOR_FLEET_SIM"):
        return Path(folder).absolute()
    return fleet_home() / "sim"


def socket_path(folder: Path) -> Path:
    """The socket of the datacentre in that folder; follows the note `socket` that a start with a long path leaves."""
    note = folder / "socket"
    if note.exists():
        return Path(note.read_text().strip())
    return folder / "sim.sock"
