"""Cards appear on a node with the device plugin's pod, and only then."""

from __future__ import annotations

from tests.cluster.lab import JOBS, Lab, device_plugin, job, until

_DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


def test_no_cards_without_the_device_plugin(lab: Lab) -> None:
    assert set(lab.gpus().values()) == {None}
    lab.client.create(JOBS, job("early", 1, 8))

    def unschedulable() -> bool:
        pods = lab.pods(selector="job-name%3Dearly")
        return any(
            c["type"] == "PodScheduled" and c["status"] == "False" and "Insufficient nvidia.com/gpu" in c["message"]
            for p in pods
            for c in p["status"].get("conditions", [])
        )

    until("the scheduler's refusal", unschedulable)
    lab.client.create(_DAEMON_SETS, device_plugin())
    until("8 cards a node", lambda: set(lab.gpus().values()) == {"8"})
    until(
        "the job to run",
        lambda: [p for p in lab.pods(selector="job-name%3Dearly") if p["status"]["phase"] == "Running"],
    )
    node = lab.runtime.nodes("alpha")[-1]
    assert "vpc.amazonaws.com/efa" not in node["status"]["capacity"]  # that is another plugin's
    lab.client.delete(f"{JOBS}/early", {"propagationPolicy": "Background"})


def test_cards_cannot_be_had_once_the_plugin_has_gone(lab: Lab) -> None:
    lab.client.delete(f"{_DAEMON_SETS}/nvidia-device-plugin", {"propagationPolicy": "Background"})
    until("no card to be had", lambda: set(lab.gpus().values()) == {"0"})
    capacity = {n["status"]["capacity"].get("nvidia.com/gpu") for n in lab.runtime.nodes("alpha")}
    assert capacity == {None, "8"}  # the kubelet remembers the devices for five minutes
