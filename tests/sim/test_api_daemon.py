"""The loopback APIs of a datacentre as a process: where they are, who finds them, what a restart leaves."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import google.auth
import pytest
from google.auth.transport.requests import AuthorizedSession

from accelerator_fleet_engine import endpoints, environment
from accelerator_fleet_sim import lifecycle
from accelerator_fleet_sim.client import Client

VPC = "aws:ec2/vpc:Vpc"
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "sim"
    yield made
    lifecycle.reset(made)


@pytest.fixture
def shell(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, str]]:
    """Takes over what `fleet env` exports, as it is now."""

    def prepare() -> dict[str, str]:
        for name in ("AWS_PROFILE", "AWS_REGION"):
            monkeypatch.delenv(name, raising=False)
        found = endpoints.variables(folder)
        for name, value in found.items():
            monkeypatch.setenv(name, value)
        return found

    return prepare


def vpcs() -> list[str]:
    client = boto3.client("ec2", region_name="us-east-2")
    return sorted(v["VpcId"] for v in client.describe_vpcs()["Vpcs"])


def networks() -> Any:
    import os

    credentials, project = google.auth.default(scopes=SCOPES)
    assert project == "embedded-access"
    session = AuthorizedSession(credentials)
    base = os.environ["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"]
    answer = session.get(f"{base}projects/embedded-research/global/networks")
    assert answer.status_code == 200
    return answer.json().get("items", [])


def test_clients_find_it_by_the_shells_variables_alone(folder: Path, shell: Callable[[], dict[str, str]]) -> None:
    before = shell()  # a shell is prepared before anything runs
    lifecycle.start(folder, 1000, control_planes=False)
    assert json.loads((folder / endpoints.NOTE).read_text())["aws"] == before["AWS_ENDPOINT_URL"]
    assert (folder / endpoints.CREDENTIALS).stat().st_mode & 0o077 == 0
    call = {"type": VPC, "inputs": {"cidrBlock": "10.0.0.0/16", "tagsAll": {}}, "account": "000000000000",
            "region": "us-east-2"}  # fmt: skip
    made = Client(folder).post("/aws/create", call)["id"]
    assert made in vpcs()
    assert len(vpcs()) == 2
    assert networks() == []


def test_a_restart_keeps_ports_credentials_and_content(folder: Path, shell: Callable[[], dict[str, str]]) -> None:
    lifecycle.start(folder, 1000, control_planes=False)
    before = shell()
    key = (folder / endpoints.CREDENTIALS).read_text()
    here = vpcs()
    lifecycle.stop(folder)
    with pytest.raises(Exception, match="connect"):
        vpcs()
    lifecycle.start(folder, 1000, control_planes=False)
    assert endpoints.variables(folder) == before
    assert (folder / endpoints.CREDENTIALS).read_text() == key
    assert vpcs() == here


def test_a_taken_port_is_left_to_its_owner(folder: Path, shell: Callable[[], dict[str, str]]) -> None:
    wanted = endpoints.preferred(folder)
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", wanted["aws"]))
        other.listen()
        lifecycle.start(folder, 1000, control_planes=False)
        found = shell()
        assert found["AWS_ENDPOINT_URL"] != f"http://127.0.0.1:{wanted['aws']}"
        assert vpcs() == ["vpc-0e3bedded0000001a"]


def test_folders_have_ports_of_their_own() -> None:
    found = [p for n in range(50) for p in endpoints.preferred(Path(f"/home/somebody/project{n}/.fleet/sim")).values()]
    assert len(set(found)) > 140
    assert all(endpoints.RANGE[0] <= p < endpoints.RANGE[1] for p in found)


def test_fleet_env_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ACCELERATOR_FLEET_HOME", raising=False)
    monkeypatch.setenv("NO_PROXY", "example.org")
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    shell = environment.shell_env("dev", tmp_path)
    found = endpoints.variables(Path(shell["ACCELERATOR_FLEET_SIM"]))
    assert found.items() <= shell.items()
    assert shell["NO_PROXY"] == "example.org,127.0.0.1,localhost"
    assert shell["CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE"].endswith("/compute/v1/")
