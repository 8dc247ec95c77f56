"""A datacentre stops, dies and comes back: no process stays, no object is lost, no file lies elsewhere."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from accelerator_fleet_sim.cluster.api import ClusterError, ClusterRuntime
from accelerator_fleet_sim.cluster.kube import KubeClient
from accelerator_fleet_sim.cluster.processes import start_time
from tests.cluster.lab import SYSTEM, admin, nodes, until

_NAMESPACES = "/api/v1/namespaces"


def _pids(folder: Path) -> list[int]:
    """Processes that have the folder in their command line, as anybody can see them."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command and start_time(int(entry.name)):
            found.append(int(entry.name))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "clusters"
    ClusterRuntime(tmp_path / "clusters", print).stop()


def test_stop_and_resume_keep_port_authority_and_objects(folder: Path) -> None:
    first = ClusterRuntime(folder, print)
    before = first.ensure("b", version="1.34", cluster_id="b", authenticate=lambda c, t: None)
    first.set_nodes("b", "system", nodes(SYSTEM, 1, 1, 0))
    admin(folder / "b").create(_NAMESPACES, {"metadata": {"name": "kept"}})
    version = admin(folder / "b").get("/version")
    assert (version["emulationMinor"], version["minor"]) == ("34", "36")
    began = time.monotonic()
    first.stop()
    print(f"stopped in {time.monotonic() - began:.1f} s")
    assert _pids(folder) == []

    second = ClusterRuntime(folder, print)
    began = time.monotonic()
    second.resume()
    print(f"resumed in {time.monotonic() - began:.1f} s")
    after = second.ensure("b", version="1.34", cluster_id="b", authenticate=lambda c, t: None)
    assert after == before
    assert admin(folder / "b").find(f"{_NAMESPACES}/kept") is not None
    assert [n["metadata"]["name"] for n in second.nodes("b")] == ["ip-10-16-0-1.us-east-2.compute.internal"]
    # The node's new kubelet takes over at once; it does not wait for the lease of the one before.
    client = admin(folder / "b")
    client.create(f"{_NAMESPACES}/kept/pods", _pod(second.nodes("b")[0]["metadata"]["name"]))
    until("a pod runs after a restart", lambda: _phase(client, "kept") == "Running", 30)

    second.delete("b")
    assert not (folder / "b").exists()
    assert [r["name"] for r in second.summary()] == ["(etcd)"]
    again = second.ensure("b", version="1.36", cluster_id="b2", authenticate=lambda c, t: None)
    assert again.ca_pem != before.ca_pem
    assert admin(folder / "b").find(f"{_NAMESPACES}/kept") is None
    second.stop()
    assert _pids(folder) == []


def test_a_pod_that_kwok_overlooked_is_acknowledged(folder: Path) -> None:
    runtime = ClusterRuntime(folder, print)
    runtime.ensure("b", version="1.36", cluster_id="b", authenticate=lambda c, t: None)
    client = admin(folder / "b")
    # kwok does not look at a node without its annotation, as it does not look at a pod that it missed.
    client.create("/api/v1/nodes", {"metadata": {"name": "missed"}})
    client.create(_NAMESPACES, {"metadata": {"name": "kept"}})
    until("the service account", lambda: client.find(f"{_NAMESPACES}/kept/serviceaccounts/default"))
    client.create(f"{_NAMESPACES}/kept/pods", _pod("missed"))
    path = f"{_NAMESPACES}/kept/pods/one"
    until("a kubelet's acknowledgement", lambda: "startTime" in client.get(path)["status"], 15)


def _pod(node: str) -> dict[str, object]:
    containers = [{"name": "main", "image": "example.org/train:1"}]
    return {"metadata": {"name": "one"}, "spec": {"nodeName": node, "containers": containers}}


def _phase(client: KubeClient, namespace: str) -> str:
    return str(client.get(f"{_NAMESPACES}/{namespace}/pods/one")["status"]["phase"])


def test_a_killed_daemon_takes_its_processes_along_and_loses_nothing(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "accelerator_fleet_sim.cluster",
        "demo",
        "--folder",
        str(folder),
        "--gpu-nodes",
        "0",
    ]
    daemon = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert daemon.stdout is not None
    try:
        endpoint = next(m[0] for line in daemon.stdout if (m := re.search(r"https://\S+", line)))
        admin(folder / "demo-1").create(_NAMESPACES, {"metadata": {"name": "written-last"}})
    finally:
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
    until("every process to die with the daemon", lambda: _pids(folder) == [], 5)

    runtime = ClusterRuntime(folder, print)
    runtime.resume()
    assert [r["endpoint"] for r in runtime.summary() if r["name"] == "demo-1"] == [endpoint]
    assert admin(folder / "demo-1").find(f"{_NAMESPACES}/written-last") is not None
    assert len(runtime.nodes("demo-1")) == 2
    runtime.stop()
    assert _pids(folder) == []


def test_a_folder_with_a_long_path_gets_a_short_one_for_its_sockets(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 40)
    runtime = ClusterRuntime(deep, print)
    runtime.ensure("c", version="1.36", cluster_id="c", authenticate=lambda c, t: None)
    note = deep / "_runtime" / "socket-folder"
    short = Path(note.read_text().strip())
    assert short.is_dir()
    assert len(os.fsencode(short)) < 60
    runtime.stop()
    assert not short.exists()
    assert not note.exists()


def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path) -> None:
    runtime = ClusterRuntime(tmp_path / "clusters", print)
    with pytest.raises(ClusterError, match="is no name of a cluster"):
        runtime.ensure("../up", version="1.36", cluster_id="x", authenticate=lambda c, t: None)
    with pytest.raises(ClusterError, match="does not run"):
        runtime.nodes("none")
    runtime.stop()
