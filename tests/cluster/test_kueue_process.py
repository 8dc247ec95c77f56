"""The program behind Kueue's pod lives and dies with it."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from accelerator_fleet_sim.cluster.kube import ApiError
from tests.cluster.lab import Lab, until

_CLUSTER_QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
_DEPLOYMENT = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager"


def test_a_program_that_dies_comes_back_and_the_pod_says_so(lab: Lab, kueue: float) -> None:
    def pod() -> dict[str, Any]:
        return dict(lab.pods("kueue-system")[0]["status"]["containerStatuses"][0])

    before = pod()["restartCount"]
    process = next(p for r in lab.runtime.summary() for p in r.get("processes", []) if p["name"].startswith("pod-"))
    os.kill(process["pid"], signal.SIGKILL)
    until("the pod to be ready again", lambda: pod()["restartCount"] == before + 1 and pod()["ready"], 60)


def test_kueue_ends_with_its_deployment(lab: Lab, kueue: float) -> None:
    lab.client.patch(_DEPLOYMENT, {"spec": {"replicas": 0}})

    def processes() -> list[str]:
        rows = lab.runtime.summary()
        return [p["name"] for r in rows for p in r.get("processes", []) if p["name"].startswith("pod-")]

    until("the process to end", lambda: processes() == [] and lab.pods("kueue-system") == [])
    with pytest.raises(ApiError, match="failed calling webhook"):
        lab.client.create(
            _CLUSTER_QUEUES, {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}}
        )
    lab.client.patch(_DEPLOYMENT, {"spec": {"replicas": 1}})
    until("Kueue to be back", lambda: lab.client.get(_DEPLOYMENT)["status"].get("readyReplicas") == 1, 60)
