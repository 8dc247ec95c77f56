"""A Pulumi project of a few lines for tests of the engine itself: no cloud, no datacentre."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from accelerator_fleet_engine import binaries, environment, layout

SETTINGS = """name: accelerator-fleet
runtime:
  name: python
  options: {toolchain: uv, virtualenv: .venv}
main: stacks
stackConfigDir: stacks
"""


class Scratch:
    """A project folder whose name has a space, prepared as `fleet env dev` prepares one, but without a datacentre."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder / "my project"
        (self.folder / "stacks").mkdir(parents=True)
        (self.folder / "Pulumi.yaml").write_text(SETTINGS)
        (self.folder / ".venv").symlink_to(sys.prefix)
        self.write(program)
        place = layout.layout(self.folder)
        place.state.mkdir(parents=True)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PULUMI_", "ACCELERATOR_FLEET_"))}
        self.env = {**clean, **environment.shell_env("dev", self.folder)}
        for step in (environment._link_engine, environment._lay_plugins, environment._lay_charts):
            step(place)
        self.pulumi("stack", "init", "dev")

    def write(self, program: str) -> None:
        (self.folder / "stacks" / "__main__.py").write_text(program)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive", "--color", "never"],
            executable=str(binaries.find("pulumi")),
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pulumi(self, *arguments: str, ok: bool = True) -> str:
        """Runs the literal CLI; returns what it wrote."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=120)
        assert (process.returncode == 0) == ok, output
        return output
