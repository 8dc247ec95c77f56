"""The datacentre as a process: it finishes what it was asked, survives being killed, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accelerator_fleet_sim import lifecycle, processes
from accelerator_fleet_sim.client import Client, CloudError, NotRunning
from accelerator_fleet_sim.paths import socket_path

SCOPE = {"account": "000000000000", "region": "us-east-2"}
VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"  # takes 30 simulated seconds
Start = Callable[..., Client]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a datacentre in its own folder; it is reset afterwards."""
    folder = tmp_path / "sim"

    def begin(speed: float = 60, where: Path = folder) -> Client:
        nonlocal folder
        folder = where
        lifecycle.start(where, speed, control_planes=False)
        return Client(where)

    yield begin
    lifecycle.reset(folder)


def create(client: Client, kind: str, **inputs: Any) -> dict[str, Any]:
    made: dict[str, Any] = client.post("/aws/create", {"type": kind, "inputs": {"tagsAll": {}, **inputs}, **SCOPE})
    return made


def slow(client: Client) -> dict[str, Any]:
    """A create that takes half a minute of simulated time."""
    vpc = create(client, VPC, cidrBlock="10.0.0.0/16")["id"]
    return create(client, ENDPOINT, vpcId=vpc, serviceName="com.amazonaws.us-east-2.s3", vpcEndpointType="Gateway")


def state(client: Client, kind: str) -> list[str]:
    return [r["state"] for r in client.get(f"/aws/resources?type={kind}&owner=program")]


def wait(condition: Callable[[], bool], seconds: float = 10) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_an_operation_ends_although_nobody_waits(start: Start) -> None:
    client = start(speed=60)
    made = slow(client)
    assert made["status"] == "running"
    assert state(client, ENDPOINT) == ["creating"]
    assert wait(lambda: state(client, ENDPOINT) == ["active"])
    assert client.get(f"/operations/{made['operation']}")["result"]["state"] == "available"


def test_a_killed_daemon_goes_on_where_it_was(start: Start) -> None:
    client = start(speed=1)
    made = slow(client)
    os.kill(client.get("/status")["pid"], signal.SIGKILL)
    assert wait(lambda: not _answers(client))
    client = start(speed=None, where=client.folder)
    assert state(client, ENDPOINT) == ["creating"]
    client.post("/clock", {"speed": 1000})
    assert client.finish(made["operation"])["id"] == made["id"]
    assert state(client, ENDPOINT) == ["active"]
    assert state(client, VPC) == ["active"]


def _answers(client: Client) -> bool:
    try:
        client.get("/status", timeout=2)
    except NotRunning:
        return False
    return True


def test_two_daemons_cannot_share_a_folder(start: Start) -> None:
    client = start()
    command = [sys.executable, "-m", "accelerator_fleet_sim.daemon", "--folder", str(client.folder)]
    second = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert second.returncode == 1
    assert "another datacentre runs" in second.stderr
    assert lifecycle.start(client.folder, 60, control_planes=False)[0] is False


def test_a_long_path_moves_the_socket_and_stop_removes_it(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 25) / "sim"
    client = start(where=folder)
    short = socket_path(folder)
    assert short.parent != folder
    assert client.get("/status")["folder"] == str(folder)
    lifecycle.stop(folder)
    assert not short.parent.exists()
    assert not (folder / "socket").exists()


def test_stop_after_a_kill_leaves_no_socket(start: Start) -> None:
    client = start()
    os.kill(client.get("/status")["pid"], signal.SIGKILL)
    assert wait(lambda: not _answers(client))
    lifecycle.stop(client.folder)
    assert not socket_path(client.folder).exists()
    assert [p.name for p in client.folder.glob("daemon-*")] == []


def test_what_is_in_it_survives_stop_and_not_reset(start: Start) -> None:
    client = start()
    create(client, VPC, cidrBlock="10.0.0.0/16")
    assert lifecycle.stop(client.folder) == 1
    assert state(start(where=client.folder), VPC) == ["active"]
    lifecycle.reset(client.folder)
    assert list(client.folder.iterdir()) == []
    assert state(start(where=client.folder), VPC) == []


def test_simulated_time_stands_still_while_it_does(start: Start) -> None:
    client = start(speed=1)
    before = client.get("/status")["time"]
    lifecycle.stop(client.folder)
    time.sleep(1.2)
    after = start(speed=1, where=client.folder).get("/status")["time"]
    seconds = int(after[17:19]) - int(before[17:19])
    assert seconds % 60 <= 1


def test_only_this_account(start: Start) -> None:
    client = start()
    with pytest.raises(CloudError, match="account 123456789012 is not this datacentre's"):
        client.post("/aws/create", {"type": VPC, "inputs": {}, "account": "123456789012", "region": "us-east-2"})
    assert socket_path(client.folder).stat().st_mode & 0o077 == 0


def test_two_hundred_nodes_stay_small(start: Start) -> None:
    client = start(speed=100000)
    there = client.get("/aws/resources?type=aws:ec2/subnet:Subnet&owner=account")
    private = [r["id"] for r in there if not r["outputs"]["mapPublicIpOnLaunch"]]
    role = "arn:aws:iam::000000000000:role/legacy-"
    config = {"subnetIds": private}
    cluster = create(client, "aws:eks/cluster:Cluster", name="c", roleArn=f"{role}cluster", vpcConfig=config)
    client.finish(cluster["operation"])
    size = {"minSize": 0, "maxSize": 200, "desiredSize": 200}
    inputs: dict[str, Any] = {
        "clusterName": "c",
        "nodeGroupName": "g",
        "nodeRoleArn": f"{role}nodes",
        "subnetIds": private,
    }
    inputs |= {"scalingConfig": size, "instanceTypes": ["m6i.large"]}
    group = create(client, "aws:eks/nodeGroup:NodeGroup", **inputs)
    client.finish(group["operation"])
    status = client.get("/status")
    count = {r["type"]: r["count"] for r in status["resources"] if r["owner"] == "nodegroup"}
    assert count["aws:ec2/instance:Instance"] == 200
    print(f"\ndaemon with 200 nodes: {status['memory_mib']} MiB")
    assert status["memory_mib"] < 80


PLUGIN = [sys.executable, "-m", "accelerator_fleet_sim.aws.plugin"]


def test_the_plugin_starts_fast_and_ends_with_its_engine(start: Start) -> None:
    client = start()
    environment = {**os.environ, "ACCELERATOR_FLEET_SIM": str(client.folder)}
    began = time.monotonic()
    engine = subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; true', "engine", *PLUGIN], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert engine.stdout is not None
    assert engine.stdout.readline().strip().isdigit()
    took = time.monotonic() - began
    [(name, pid)] = processes.recorded(client.folder / "pids")
    print(f"\nplugin: {took:.2f} s, {processes.rss_mib(pid):.0f} MiB")
    assert name == "plugin-aws"
    assert took < 2  # 0.2 s on an idle machine
    engine.kill()
    engine.wait()
    assert wait(lambda: processes.start_ticks(pid) is None, 5)


def test_stop_ends_a_plugin_that_an_engine_left(start: Start) -> None:
    """The plugin looks after its engine once a second; until then `stop` ends it."""
    client = start()
    environment = {**os.environ, "ACCELERATOR_FLEET_SIM": str(client.folder)}
    engine = subprocess.Popen(
        ["/bin/sh", "-c", '"$@"; true', "engine", *PLUGIN], stdout=subprocess.PIPE, env=environment, text=True
    )
    assert engine.stdout is not None
    engine.stdout.readline()
    [(_, pid)] = processes.recorded(client.folder / "pids")
    os.kill(pid, signal.SIGSTOP)  # it cannot see that its engine goes
    engine.kill()
    engine.wait()
    assert processes.start_ticks(pid) is not None
    os.kill(pid, signal.SIGCONT)
    assert lifecycle.stop(client.folder) >= 1
    assert processes.start_ticks(pid) is None
    assert processes.recorded(client.folder / "pids") == []


def shim(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"]}
    command = [str(folder.parent / "bin" / "aws"), *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=30, check=False)


def test_the_aws_beside_the_engine(start: Start) -> None:
    client = start()
    done = shim(client.folder, "eks", "get-token", "--cluster-name", "c", "--region", "us-east-2", "--output", "json")
    credential = json.loads(done.stdout)
    assert credential["kind"] == "ExecCredential"
    assert credential["status"]["token"].startswith("k8s-aws-v1.")
    who = json.loads(shim(client.folder, "sts", "get-caller-identity").stdout)
    assert who["Account"] == "000000000000"
    refused = shim(client.folder, "s3", "ls")
    assert refused.returncode == 252
    assert "this is the embedded datacentre's own aws; it does: eks get-token" in refused.stderr
    assert shim(client.folder, "eks", "get-token", "--cluster-name", "c").returncode == 252
    lifecycle.stop(client.folder)
    stopped = shim(client.folder, "sts", "get-caller-identity")
    assert stopped.returncode == 254
    assert "is not running; start it with: fleet sim start" in stopped.stderr


def test_start_returns_when_what_ran_before_is_back(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = [{"resuming": True}, {"resuming": True}, {"resuming": False}]
    monkeypatch.setattr(lifecycle, "_answer", lambda folder: answers.pop(0))
    assert lifecycle.start(tmp_path) == (False, {"resuming": False})
    assert answers == []
