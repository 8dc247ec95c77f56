"""A thousand nodes in one cluster: seconds until all are ready, memory, and a 256-card gang through Kueue.

The cluster runtime by itself: no account of the datacentre sells that many machines.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.cluster import lab

from accelerator_fleet_sim.cluster.api import ClusterRuntime

NODES, GANG = 1000, 32
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


def _object(kind: str, name: str, spec: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}


def _specs(count: int) -> list[Any]:
    """CPU nodes, 250 a subnet."""
    return [n for i in range(0, count, 250) for n in lab.nodes(lab.SYSTEM, 1, min(250, count - i), 10 + i // 250)]


def _ready(client: Any) -> int:
    nodes = client.list("/api/v1/nodes")
    return sum(
        ("Ready", "True") in {(c["type"], c["status"]) for c in n["status"].get("conditions", [])} for n in nodes
    )


def _queues(client: Any) -> None:
    levels = {"levels": [{"nodeLabel": "kubernetes.io/hostname"}]}
    client.create(f"{KUEUE}/topologies", _object("Topology", "site", levels))
    flavor = {"nodeLabels": {"pool": "train"}, "topologyName": "site", "tolerations": [lab.GPU_TAINT_TOLERATION]}
    client.create(f"{KUEUE}/resourceflavors", _object("ResourceFlavor", "train", flavor))
    flavors = [{"name": "train", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": str(8 * GANG)}]}]
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}
    client.create(
        f"{KUEUE}/clusterqueues", _object("ClusterQueue", "fleet", {"namespaceSelector": {}, "resourceGroups": [group]})
    )
    local = _object("LocalQueue", "train", {"clusterQueue": "fleet"}, "default")
    client.create(f"{KUEUE}/namespaces/default/localqueues", local)


def _memory(folder: str) -> float:
    total = 0
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and folder in (entry / "cmdline").read_text(errors="replace"):
                rollup = (entry / "smaps_rollup").read_text()
                total += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    return total / 1024


def main() -> int:
    """Runs it once and prints the lines."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        runtime = ClusterRuntime(Path(folder) / "clusters", lambda line: None)
        try:
            began = time.monotonic()
            runtime.ensure("big", version="1.36", cluster_id="big", authenticate=lambda *_: None)
            print(f"{'control plane up':<58}{time.monotonic() - began:8.2f} s", flush=True)
            client = lab.admin(Path(folder) / "clusters" / "big")
            client.create(SETS, lab.device_plugin())
            began = time.monotonic()
            runtime.set_nodes("big", "system", _specs(NODES - GANG))
            runtime.set_nodes("big", "train", lab.nodes(lab.H100, 1, GANG, 1))
            lab.until("every node is ready", lambda: _ready(client) == NODES, 600)
            print(f"{f'{NODES} nodes ready':<58}{time.monotonic() - began:8.2f} s   promised < 180 s", flush=True)
            the = lab.Lab(runtime, "big", 0)
            lab.until("every card is there", lambda: list(the.gpus().values()) == ["8"] * GANG, 120)
            kubeconfig = runtime.admin_kubeconfig("big")
            with lab.kueue_release(kubeconfig, Path(folder) / "kueue") as seconds:
                print(f"{'Kueue installed':<58}{seconds:8.2f} s", flush=True)
                _queues(client)
                began = time.monotonic()
                client.create(lab.JOBS, lab.job("gang", GANG, 8, queue="train"))
                lab.until(
                    "the whole gang runs",
                    lambda: len([p for p in the.pods() if p["status"].get("phase") == "Running"]) == GANG,
                    120,
                )
                print(
                    f"{'a 256-card gang, submitted to running':<58}{time.monotonic() - began:8.2f} s   promised < 10 s"
                )
                print(f"{'memory of everything (PSS)':<58}{_memory(folder):8.0f} MiB   promised < 6144 MiB", flush=True)
                client.delete(f"{lab.JOBS}/gang")
                made = (
                    "namespaces/default/localqueues/train",
                    "clusterqueues/fleet",
                    "resourceflavors/train",
                    "topologies/site",
                )
                for path in made:  # while Kueue runs, which holds their finalizers
                    client.delete(f"{KUEUE}/{path}")
                lab.until("queues to go", lambda: not any(client.find(f"{KUEUE}/{path}") for path in made), 60)
        finally:
            runtime.delete("big")
    return 0


if __name__ == "__main__":
    sys.exit(main())
