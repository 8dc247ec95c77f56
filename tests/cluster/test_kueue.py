"""Kueue itself, from its chart, while its Deployment runs: quota, gangs, refusals, visibility."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from accelerator_fleet_sim.cluster.kube import ApiError
from tests.cluster.lab import H100, JOBS, Lab, device_plugin, job, nodes, until

_KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
_DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


def _object(kind: str, name: str, spec: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}


def _cluster_queue(name: str, cards: int, **flavor: Any) -> dict[str, Any]:
    resource = {"name": "nvidia.com/gpu", "nominalQuota": str(cards)} | flavor
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "train", "resources": [resource]}]}
    return _object("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]})


@pytest.fixture(scope="module")
def queues(lab: Lab, kueue: float) -> Iterator[float]:
    """Four nodes with cards, a queue of 32 cards; taken away while Kueue runs, which holds their finalizers."""
    lab.runtime.set_nodes("alpha", "train", nodes(H100, 1, 4, 1))
    if lab.client.find(f"{_DAEMON_SETS}/nvidia-device-plugin") is None:
        lab.client.create(_DAEMON_SETS, device_plugin())
    until("8 cards on each of 4 nodes", lambda: sorted(lab.gpus().values(), key=str) == ["8"] * 4)
    level = [{"nodeLabel": "kubernetes.io/hostname"}]
    lab.client.create(f"{_KUEUE}/topologies", _object("Topology", "site", {"levels": level}))
    flavor = {
        "nodeLabels": {"pool": "train"},
        "topologyName": "site",
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    lab.client.create(f"{_KUEUE}/resourceflavors", _object("ResourceFlavor", "train", flavor))
    lab.client.create(f"{_KUEUE}/clusterqueues", _cluster_queue("fleet", 32))
    local = _object("LocalQueue", "train", {"clusterQueue": "fleet"}, "default")
    lab.client.create(f"{_KUEUE}/namespaces/default/localqueues", local)
    yield kueue
    made = (
        f"{_KUEUE}/namespaces/default/localqueues/train",
        f"{_KUEUE}/clusterqueues/fleet",
        f"{_KUEUE}/resourceflavors/train",
        f"{_KUEUE}/topologies/site",
    )
    for path in made:
        lab.client.delete(path)
    # A Kueue that is not the leader yet looks again after its lease time (15 s), twice at worst.
    until("queues, flavour and topology to go", lambda: not any(lab.client.find(path) for path in made), 60)


def test_the_chart_installs_unchanged_and_runs_the_real_program(lab: Lab, kueue: float) -> None:
    pods = lab.pods("kueue-system")
    assert [p["status"]["phase"] for p in pods] == ["Running"]
    processes = [p for r in lab.runtime.summary() for p in r.get("processes", []) if p["name"].startswith("pod-")]
    print(f"installed in {kueue:.1f} s; Kueue {processes[0]['rss'] >> 20} MiB")
    assert len(processes) == 1
    path = f"/api/v1/namespaces/kueue-system/pods/{pods[0]['metadata']['name']}/log?tailLines=2000"
    status, text = lab.client.raw("GET", path)
    assert status == 200
    assert b"Starting manager" in text


def test_a_gang_of_32_cards_is_admitted_and_lands_on_4_nodes(lab: Lab, queues: float) -> None:
    lab.client.create(JOBS, job("gang", 4, 8, queue="train"))

    def placed() -> set[str]:
        return {
            p["spec"]["nodeName"] for p in lab.pods(selector="job-name%3Dgang") if p["status"]["phase"] == "Running"
        }

    until("4 running pods", lambda: len(placed()) == 4)
    lab.client.create(JOBS, job("later", 2, 8, queue="train"))

    def conditions() -> list[dict[str, Any]]:
        loads = lab.client.list(f"{_KUEUE}/namespaces/default/workloads")
        return [
            c
            for w in loads
            if w["metadata"]["ownerReferences"][0]["name"] == "later"
            for c in w.get("status", {}).get("conditions", [])
        ]

    until(
        "the second gang to wait",
        lambda: any(c["type"] == "QuotaReserved" and c["status"] == "False" for c in conditions()),
    )
    assert lab.client.get(f"{JOBS}/later")["spec"]["suspend"] is True
    assert lab.pods(selector="job-name%3Dlater") == []
    lab.client.delete(f"{JOBS}/gang", {"propagationPolicy": "Background"})
    until(
        "the second gang to run when the first is gone",
        lambda: [p["status"]["phase"] for p in lab.pods(selector="job-name%3Dlater")] == ["Running"] * 2,
    )
    lab.client.delete(f"{JOBS}/later", {"propagationPolicy": "Background"})


def test_what_the_webhook_refuses_is_refused(lab: Lab, queues: float) -> None:
    with pytest.raises(ApiError, match=r"borrowingLimit.*must be nil|must be nil when cohort") as refused:
        lab.client.create(f"{_KUEUE}/clusterqueues", _cluster_queue("wrong", 8, borrowingLimit="8"))
    assert "admission webhook" in str(refused.value) or refused.value.status == 422
    assert lab.client.find(f"{_KUEUE}/clusterqueues/wrong") is None


def test_discovery_is_whole_and_pending_workloads_can_be_seen(lab: Lab, queues: float) -> None:
    groups = {g["name"] for g in lab.client.get("/apis")["groups"]}
    assert "visibility.kueue.x-k8s.io" in groups
    services = lab.client.list("/apis/apiregistration.k8s.io/v1/apiservices")
    unavailable = [
        s["metadata"]["name"]
        for s in services
        for c in s["status"]["conditions"]
        if c["type"] == "Available" and c["status"] != "True"
    ]
    assert unavailable == []
    lab.client.create(JOBS, job("too-big", 5, 8, queue="train"))
    path = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/fleet/pendingworkloads"
    until("the pending workload to be listed", lambda: lab.client.get(path)["items"])
    lab.client.delete(f"{JOBS}/too-big", {"propagationPolicy": "Background"})
