"""Shared GPUs in the simulated GKE and under NVIDIA's device plugin: what is refused, and what nodes show."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.cluster import sharing
from accelerator_fleet_sim.google import sharing as gke


def config(kind: str = "nvidia-h100-80gb", **more: Any) -> dict[str, Any]:
    return {"guestAccelerators": [{"type": kind, "count": 8, **more}]}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (config(gpuPartitionSize="1g.12gb"), 'GPU partition size "1g.12gb" is not supported for accelerator type'),
        (config("nvidia-l4", gpuPartitionSize="1g.5gb"), 'not supported for accelerator type "nvidia-l4"'),
        (config("nvidia-tesla-a100", gpuPartitionSize="1g.10gb"), 'GPU partition size "1g.10gb"'),
        (
            config(gpuSharingConfig={"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 49}),
            r"in the range \[2, 48\], got 49",
        ),
        (
            config(gpuSharingConfig={"gpuSharingStrategy": "TURNS", "maxSharedClientsPerGpu": 4}),
            'GPU sharing strategy "TURNS" is not supported',
        ),
    ],
)
def test_what_gke_refuses(said: dict[str, Any], text: str) -> None:
    problem = gke.problem(said)
    assert problem is not None
    import re

    assert re.search(text, problem)


def test_gkes_nodes_count_parts_and_say_how_they_are_shared() -> None:
    mig = config(gpuPartitionSize="1g.10gb")
    assert (gke.problem(mig), gke.parts(mig)) == (None, 7)
    assert gke.labels(mig) == {"cloud.google.com/gke-gpu-partition-size": "1g.10gb"}
    turns = config(gpuSharingConfig={"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4})
    assert gke.parts(turns) == 4
    assert gke.labels(turns)["cloud.google.com/gke-gpu-sharing-strategy"] == "time-sharing"
    assert (gke.parts(config()), gke.labels(config())) == (1, {})


CONFIGS = {
    "whole": "version: v1\n",
    "time-slicing-4": "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}\n",
    "mps-8": "version: v1\nsharing: {mps: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}\n",
}


def plugin(**spec: Any) -> dict[str, Any]:
    container = {"image": "nvcr.io/nvidia/k8s-device-plugin:v0.19.0", "command": ["nvidia-device-plugin"]}
    return {"metadata": {"namespace": "kube-system"}, "spec": {"containers": [container], **spec}}


SETTABLE = plugin(
    volumes=[{"name": "available-configs", "configMap": {"name": "nvidia-device-plugin-configs"}}],
    initContainers=[{"image": "x", "env": [{"name": "DEFAULT_CONFIG", "value": "whole"}]}],
)


@pytest.mark.parametrize(
    ("label", "daemon", "parts"),
    [
        (None, False, 1),
        ("time-slicing-4", False, 4),
        ("mps-8", True, 8),
        ("mps-8", False, None),  # it waits for the control daemon
        ("nothing-such", False, None),  # it waits for the configuration
    ],
)
def test_nvidias_plugin_divides_as_the_nodes_label_says(label: str | None, daemon: bool, parts: int | None) -> None:
    node = {"metadata": {"labels": {sharing.LABEL: label} if label else {}}}

    def config_of(namespace: str, name: str) -> dict[str, Any]:
        assert (namespace, name) == ("kube-system", "nvidia-device-plugin-configs")
        return {"data": CONFIGS}

    assert sharing.parts(SETTABLE, node, daemon, config_of) == parts
    assert sharing.parts(plugin(), node, daemon, config_of) == 1  # without settings there is nothing to share


def test_the_mps_daemon_is_no_plugin() -> None:
    pod = plugin()
    pod["spec"]["containers"][0]["command"] = ["mps-control-daemon"]
    assert sharing.is_mps_daemon(pod)
    assert not sharing.is_plugin(pod)
    assert sharing.is_plugin(plugin())
