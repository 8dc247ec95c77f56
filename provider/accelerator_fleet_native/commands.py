"""`fleet provider install`: puts the plugin where a Pulumi of one's own finds it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from accelerator_fleet_native import PACKAGE, VERSION


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `provider`."""
    parser = subparsers.add_parser("provider", help="the toolkit's own Pulumi provider (Cloud TPU queued resources)")
    what = parser.add_subparsers(dest="what", required=True, metavar="install")
    install = what.add_parser("install", help="into the plugins of your own Pulumi; `fleet env` does it by itself")
    install.set_defaults(func=lambda args: _install())


def _install() -> int:
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    print(write(home / "plugins"))
    return 0


def write(plugins: Path) -> Path:
    """Writes the plugin below a folder of plugins; a script that runs this Python. Gives its path."""
    path = plugins / f"resource-{PACKAGE}-v{VERSION}" / f"pulumi-resource-{PACKAGE}"
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {__package__}.plugin "$@"\n', encoding="utf-8"
    )
    scratch.chmod(0o755)
    scratch.replace(path)
    return path
