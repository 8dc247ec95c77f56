"""A3 and A4 pools on a GKE site of their own: further networks from the spec to the pods that use them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import pytest
from lightkube import Client, KubeConfig
from lightkube.generic_resource import create_global_resource
from lightkube.resources.core_v1 import Node, Pod

from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ENV = "nics"
SPEC = """extends: base
defaults: {protect: false}
sites:
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: high, site: usc1, zone: us-central1-a, chip: h100, cards: 16, runtime: pytorch}
  - {name: ultra, site: usc1, zone: us-central1-b, chip: h200, cards: 16, runtime: pytorch}
"""
RESOURCE = "networking.gke.io.networks/"
GVNIC = {f"gvnic-{i}" for i in range(4)}
RDMA = {f"rdma-b-{i}" for i in range(8)}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("nics") / "project")
    project.add(ENV, SPEC)
    try:
        project.fleet("up", "--env", ENV, timeout=500)
        yield project
    finally:
        stop(project)


@pytest.fixture
def client(up: Project, monkeypatch: pytest.MonkeyPatch) -> Client:
    """The site's cluster by the kubeconfig in the stack's outputs, whose plugin lies on the prepared shell's PATH."""
    for name in ("PATH", "ACCELERATOR_FLEET_SIM"):
        monkeypatch.setenv(name, up.shell(ENV)[name])
    config = KubeConfig.from_dict(json.loads(up.outputs(ENV)["sites"]["usc1"]["kubeconfig"]))
    return Client(config=config.get(), trust_env=False)


def test_nodes_show_the_networks_of_their_interfaces(client: Client) -> None:
    found: Counter[tuple[str, frozenset[str]]] = Counter()
    for node in client.list(Node):
        assert node.metadata is not None
        assert node.status is not None
        shown = {k.removeprefix(RESOURCE): v for k, v in (node.status.allocatable or {}).items() if RESOURCE in k}
        assert set(shown.values()) <= {"1"}
        found[(node.metadata.labels or {})["accelerator-fleet.dev/pool"], frozenset(shown)] += 1
    assert found[("high", frozenset(GVNIC))] == 2
    assert found[("ultra", frozenset({"gvnic-0", *RDMA}))] == 2
    assert {names for (pool, names) in found if pool == "system"} == {frozenset()}


def test_every_network_is_ready(client: Client) -> None:
    network = create_global_resource("networking.gke.io", "v1", "Network", "networks")
    states = {}
    for found in client.list(network):
        assert found.metadata is not None
        states[found.metadata.name] = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert states == {name: {"ParamsReady": "True", "Ready": "True"} for name in GVNIC | RDMA}


def test_pods_of_a_gang_name_their_networks(up: Project, client: Client) -> None:
    up.fleet("job", "submit", "hello", "--pool", "ultra", "--name", "gang", "--env", ENV)
    assert "running" in up.fleet("job", "list", "--env", ENV).stdout
    pods = list(client.list(Pod, namespace="jobs"))
    assert len(pods) == 2
    for pod in pods:
        assert pod.metadata is not None
        rows = json.loads((pod.metadata.annotations or {})["networking.gke.io/interfaces"])
        assert {r["network"] for r in rows} == {"default", *RDMA}
    up.fleet("job", "delete", "gang", "--env", ENV)


def test_a_second_preview_is_all_same_and_everything_goes(up: Project) -> None:
    assert up.preview(ENV) == []
    up.fleet("down", "--env", ENV, timeout=500)
