"""States of earlier programs, kept to preview later ones against: how they are recorded, and laid into a project.

    python -m tests.engine.states NAME [CHECKOUT]

brings data/states/NAME.yaml up with the program of CHECKOUT (this one, or a clone of an earlier commit in which
`make setup` has run) in an embedded datacentre of its own, and writes data/states/NAME.json.gz. Only what the engine
compares is kept: no times, no places in a program, no paths of a machine. Embedded clouds have no secrets.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.engine.project import ROOT, Project

STATES = Path(__file__).with_name("data") / "states"
ENV = "dev"  # of every recorded spec; a stack's name is part of every URN
HOME = "@home@"  # a project's own folder: charts and the kubeconfig of existing clusters lie in it
DROPPED = ("created", "modified", "sourcePosition", "stackTrace")


def cleaned(exported: dict[str, Any], home: str) -> str:
    """The JSON of a state without what belongs to one machine or one moment."""
    deployment = exported["deployment"]
    deployment["manifest"] = {k: v for k, v in deployment["manifest"].items() if k != "time"}
    for resource in deployment["resources"]:
        for key in DROPPED:
            resource.pop(key, None)
    return json.dumps(exported, indent=0, sort_keys=True).replace(home, HOME)


def lay(name: str, project: Project) -> None:
    """Makes the recorded stack `dev` of a project with nothing up: its spec and its state."""
    shutil.copy(STATES / f"{name}.yaml", project.folder / "stacks" / "fleets" / f"{ENV}.yaml")
    home = project.shell(ENV)["ACCELERATOR_FLEET_HOME"]
    text = gzip.decompress((STATES / f"{name}.json.gz").read_bytes()).decode().replace(HOME, home)
    file = project.folder / "state.json"
    file.write_text(text)
    project.pulumi("stack", "import", "--file", str(file), env=ENV)


def record(name: str, checkout: Path) -> Path:
    """Brings a recorded spec up with a checkout's program; returns the file that it wrote."""
    with tempfile.TemporaryDirectory() as scratch:
        project = Project(Path(scratch) / "project", checkout)
        shutil.copy(STATES / f"{name}.yaml", project.folder / "stacks" / "fleets" / f"{ENV}.yaml")
        try:
            project.fleet("up", "--env", ENV, timeout=900)
            exported = json.loads(project.pulumi("stack", "export", "--show-secrets", env=ENV).stdout)
            text = cleaned(exported, project.shell(ENV)["ACCELERATOR_FLEET_HOME"])
        finally:
            project.fleet("sim", "reset", ok=False)
    left = re.findall(r"(?:/tmp|/root|/home|/work|/Users)/[^\"\s\\]+", text)
    assert not left, f"paths of this machine: {sorted(set(left))}"
    path = STATES / f"{name}.json.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    return path


def main() -> None:
    """See the module."""
    name, *checkout = sys.argv[1:]
    root = Path(checkout[0]).resolve() if checkout else ROOT
    commit = subprocess.run(
        ["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
    )
    path = record(name, root)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size} bytes, by the program of {commit.stdout.strip()}")


if __name__ == "__main__":
    main()
