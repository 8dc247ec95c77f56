"""A datacentre and a Pulumi backend in one folder, for tests that speak to both in this process (Automation API)."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi import automation as auto

from accelerator_fleet_engine import binaries
from accelerator_fleet_sim.client import Client

REGION = "us-east-2"
ACCOUNT = "000000000000"


@dataclass
class Cloud:
    """One running datacentre without control planes, and where stacks live."""

    folder: Path
    client: Client
    environment: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    stacks: dict[str, auto.Stack] = field(default_factory=dict)

    def stack(self, name: str, program: Callable[[], None]) -> auto.Stack:
        """The stack of that name, now with this program."""
        if name in self.stacks:
            self.stacks[name].workspace.program = program
            return self.stacks[name]
        options = auto.LocalWorkspaceOptions(
            work_dir=str(self.folder / "work"),
            env_vars=self.environment,
            project_settings=auto.ProjectSettings(
                name="sim", runtime="python", backend=auto.ProjectBackend(url=f"file://{self.folder / 'state'}")
            ),
            pulumi_command=auto.PulumiCommand(root=str(self.folder / "cli"), skip_version_check=True),
        )
        (self.folder / "work").mkdir(exist_ok=True)
        self.stacks[name] = auto.create_or_select_stack(name, "sim", program=program, opts=options)
        return self.stacks[name]


def environment(folder: Path) -> dict[str, str]:
    """What the engine needs to find the simulated plugin and its datacentre, and nothing of the user's."""
    for name, version, module in (("aws", "7.51.1", "aws"), ("gcp", "10.2.0", "google")):
        plugin = folder / "home" / "plugins" / f"resource-{name}-v{version}" / f"pulumi-resource-{name}"
        plugin.parent.mkdir(parents=True, exist_ok=True)
        plugin.write_text(f'#!/bin/sh\nexec {sys.executable} -m accelerator_fleet_sim.{module}.plugin "$@"\n')
        plugin.chmod(0o755)
    (folder / "state").mkdir(exist_ok=True)
    command = folder / "cli" / "bin" / "pulumi"
    command.parent.mkdir(parents=True, exist_ok=True)
    if not command.exists():
        command.symlink_to(binaries.find("pulumi"))
    return {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "ACCELERATOR_FLEET_SIM": str(folder / "sim"),
        "AWS_REGION": "",
        "AWS_DEFAULT_REGION": "",
    }


def start_daemon(folder: Path, speed: float = 20000) -> tuple[subprocess.Popen[bytes], Client]:
    """A daemon of its own, answering."""
    command = [sys.executable, "-m", "accelerator_fleet_sim.daemon", "--folder", str(folder), "--speed", str(speed)]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "test.log").open("ab") as log:
        process = subprocess.Popen([*command, "--without-control-planes"], stdout=log, stderr=log)
    client = Client(folder)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with contextlib.suppress(Exception):
            client.get("/status", timeout=5)
            return process, client
        time.sleep(0.02)
    process.kill()
    raise AssertionError((folder / "test.log").read_text())


@contextlib.contextmanager
def running(folder: Path, speed: float = 20000) -> Iterator[Cloud]:
    """A datacentre and a backend; both are gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    process, client = start_daemon(folder / "sim", speed)
    cloud = Cloud(folder, client, environment(folder), process)
    try:
        yield cloud
    finally:
        assert cloud.process is not None
        cloud.process.terminate()
        cloud.process.wait(timeout=30)
        shutil.rmtree(folder / "work", ignore_errors=True)


def events(stack: auto.Stack, preview: bool, **options: Any) -> list[Any]:
    """The engine's resource steps (ResourcePreEvent metadata) of a preview or an up."""
    found: list[Any] = []

    def note(event: Any) -> None:
        if event.resource_pre_event:
            found.append(event.resource_pre_event.metadata)

    run = stack.preview if preview else stack.up
    run(on_event=note, **options)
    return found
