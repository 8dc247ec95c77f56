"""The existing cluster `lab`: nodes with AMD cards, and a kubeconfig that reaches no other cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from accelerator_fleet_sim.daemon.noclusters import NoClusters
from accelerator_fleet_sim.daemon.store import Store
from accelerator_fleet_sim.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    folder = tmp_path / "sim"
    folder.mkdir()
    return Lab(folder, Store(folder / "cloud.db"), NoClusters(folder, print))


def test_seed(lab: Lab, tmp_path: Path) -> None:
    made = lab.seed()
    assert made["name"] == "lab"
    path = tmp_path / "kubeconfig"
    assert path.stat().st_mode & 0o077 == 0
    config = json.loads(path.read_text())
    assert config["current-context"] == "lab"
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    before = path.read_text()
    lab.seed()
    assert path.read_text() == before, "seeding again changes nothing"


def test_nodes(lab: Lab) -> None:
    lab.seed()
    nodes = lab._clusters.nodes_by_group["lab", "lab"]
    assert [n.shape.device_resources for n in nodes] == [{"amd.com/gpu": "8"}] * 2
    assert {n.shape.labels["amd.com/gpu.product-name"] for n in nodes} == {"AMD_Instinct_MI300X_OAM"}
    assert not any(n.shape.taints for n in nodes)


def test_a_kubeconfig_of_somebody_else_stays(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text("apiVersion: v1\n")
    with pytest.raises(ValueError, match="move it away first"):
        lab.seed()
