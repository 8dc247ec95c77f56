"""One cluster for all tests of this folder, one Kueue for those that need it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator_fleet_engine import binaries
from accelerator_fleet_sim.cluster.api import ClusterRuntime
from tests.cluster import gangs as gang_laboratory
from tests.cluster import lab as laboratory
from tests.cluster.gangs import Gangs
from tests.cluster.lab import H100, SYSTEM, Lab, nodes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session", autouse=True)
def _engine() -> None:
    """Programs from a folder of one's own, for people who work on the engine; else the engine's."""
    folder = os.environ.get("ACCELERATOR_FLEET_ENGINE_BIN")
    if folder:
        usual = binaries.find
        binaries.find = lambda name: p if (p := Path(folder) / name).exists() else usual(name)
    missing = [r.name for r in binaries.missing() if r.name in ("etcd", "kubernetes", "kwok", "kueue", "jobset")]
    if missing and not folder:
        pytest.skip(f"not built: {', '.join(missing)}; `fleet engine build` does it")


@pytest.fixture(scope="session")
def lab(_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A cluster with two system nodes and two nodes of eight H100 each."""
    runtime = ClusterRuntime(tmp_path_factory.mktemp("clusters"), print)
    began = time.monotonic()
    runtime.ensure("alpha", version="1.36", cluster_id="alpha", authenticate=_authenticate)
    started = time.monotonic() - began
    runtime.set_nodes("alpha", "system", nodes(SYSTEM, 1, 2, 0))
    runtime.set_nodes("alpha", "train", nodes(H100, 1, 2, 1))
    try:
        yield Lab(runtime, "alpha", started)
    finally:
        runtime.stop()


@pytest.fixture(scope="session")
def kueue(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[float]:
    """Kueue installed from its chart; the value is the seconds that took."""
    kubeconfig = lab.runtime.admin_kubeconfig(lab.name)
    with laboratory.kueue_release(kubeconfig, tmp_path_factory.mktemp("pulumi")) as seconds:
        yield seconds


@pytest.fixture(scope="session")
def gangs(_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangs]:
    """Two blocks of 16 H100 nodes and two teams, queues and add-ons by the fleet's components."""
    with gang_laboratory.laboratory(tmp_path_factory.mktemp("gangs")) as found:
        print(f"add-ons and queues of two teams in {found.installed_s:.1f} s")
        yield found


def _authenticate(cluster: str, token: str) -> dict[str, object] | None:
    if token != f"k8s-aws-v1.{cluster}":
        return None
    return {"username": "arn:aws:iam::000000000000:user/platform", "groups": ["system:masters"]}
