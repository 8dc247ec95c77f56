"""The engine dies in the middle of an `up`: the cloud finishes what it was asked; the engine knows nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sim.cloud import ACCOUNT, REGION, Cloud, running

pytestmark = pytest.mark.engine
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"  # takes 30 simulated seconds
PROGRAM = f"""
import sys
from pathlib import Path
import pulumi, pulumi_aws as aws
from tests.sim.cloud import Cloud, environment
from accelerator_fleet_sim.client import Client

def program():
    options = pulumi.ResourceOptions(
        provider=aws.Provider("aws", region="{REGION}", allowed_account_ids=["{ACCOUNT}"]))
    vpc = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16", opts=options)
    for name in ("a", "b", "c"):
        aws.ec2.VpcEndpoint(name, vpc_id=vpc.id, service_name="com.amazonaws.{REGION}.s3", opts=options)

folder = Path(sys.argv[1])
stack = Cloud(folder, Client(folder / "sim"), environment(folder)).stack("crash", program)
if sys.argv[2] == "cancel":
    stack.cancel()
else:
    stack.up()
"""


def start(cloud: Cloud, verb: str) -> subprocess.Popen[bytes]:
    """The program with its engine, in a session of their own."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", PROGRAM, str(cloud.folder), verb]
    return subprocess.Popen(command, start_new_session=True, env=environment, stdout=subprocess.DEVNULL, stderr=None)


def endpoints(cloud: Cloud) -> list[str]:
    return [r["state"] for r in cloud.client.get(f"/aws/resources?type={ENDPOINT}&owner=program")]


def wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_killed_engine_leaves_orphans_as_in_life(tmp_path: Path) -> None:
    with running(tmp_path, speed=10) as cloud:
        engine = start(cloud, "up")
        wait(lambda: endpoints(cloud) == ["creating"] * 3)
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()
        wait(lambda: endpoints(cloud) == ["active"] * 3)
        wait(lambda: cloud.client.get("/status")["plugins"] == [])  # the plugin went with its engine
        start(cloud, "cancel").wait(timeout=60)
        cloud.client.post("/clock", {"speed": 10000})
        assert start(cloud, "up").wait(timeout=120) == 0
        assert endpoints(cloud) == ["active"] * 6  # the engine cannot know the ids of interrupted creates
