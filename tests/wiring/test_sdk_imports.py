"""A fleet loads the SDKs of its own clouds and kinds of volumes, and no other (from `-X importtime`)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EKS = """\
extends: base
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
pools:
  - {name: pretrain, site: use2, chip: h100, cards: 16, runtime: pytorch}
"""
# The program itself, with the engine replaced by mocks.
PROGRAM = """\
import asyncio, sys
from pathlib import Path
import pulumi
from tests.wiring.recorder import Recorder
asyncio.set_event_loop(asyncio.new_event_loop())
pulumi.runtime.set_mocks(Recorder(), preview=False)
pulumi.runtime.set_all_config({"project:x": "y", "fleet:spec": "fleets/dev.yaml"})
from accelerator_fleet_components import run
pulumi.runtime.test(lambda: run(Path(sys.argv[1])))()
"""


def loaded(folder: Path, text: str) -> set[str]:
    """Modules that the program of a spec imports."""
    shutil.copytree(ROOT / "stacks" / "fleets", folder / "fleets")
    (folder / "fleets" / "dev.yaml").write_text(text)
    command = [sys.executable, "-X", "importtime", "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return set(re.findall(r"^import time: .*\| +([\w.]+)$", done.stderr, re.MULTILINE))


@pytest.fixture(scope="module")
def eks(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return loaded(tmp_path_factory.mktemp("eks"), EKS)


def test_a_fleet_without_google_never_loads_its_sdk(eks: set[str]) -> None:
    assert "pulumi_aws.eks.node_group" in eks
    assert [m for m in eks if m.partition(".")[0] == "pulumi_gcp"] == []
    assert [m for m in eks if m.startswith("accelerator_fleet_components.g")] == []


def test_a_fleet_without_volumes_loads_no_file_service(eks: set[str]) -> None:
    assert [m for m in eks if m.startswith(("pulumi_aws.efs.", "pulumi_aws.fsx."))] == []
