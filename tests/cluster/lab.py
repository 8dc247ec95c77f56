"""A small laboratory: a running cluster, the kinds of node it has, and Kueue from its own chart through Pulumi."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerator_fleet_engine import binaries
from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.api import ClusterRuntime, NodeShape, NodeSpec
from accelerator_fleet_sim.cluster.kube import KubeClient

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
SYSTEM = NodeShape({"pool": "system"}, [], {"cpu": "8", "memory": "32Gi", "pods": "58", "ephemeral-storage": "80Gi"})
H100 = NodeShape(
    {"pool": "train", "eks.amazonaws.com/nodegroup": "train"},
    [GPU_TAINT],
    {"cpu": "192", "memory": "2048Gi", "pods": "100", "ephemeral-storage": "200Gi"},
    {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"},
)
# What the components give Kueue's chart; README.md of the cluster folder explains each value.
KUEUE_CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443"}
webhook: {port: 9443}
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
clientConnection: {qps: 50, burst: 100}
integrations: {frameworks: [batch/job]}
resources: {excludeResourcePrefixes: [cpu, memory, ephemeral-storage, vpc.amazonaws.com/efa]}
"""
KUEUE_VALUES: dict[str, Any] = {
    "controllerManager": {
        "replicas": 1,
        "manager": {
            "image": {"repository": "registry.k8s.io/kueue/kueue", "tag": "v0.17.0", "pullPolicy": "IfNotPresent"}
        },
    },
    "managerConfig": {"controllerManagerConfigYaml": KUEUE_CONFIG},
}

Json = dict[str, Any]


def nodes(shape: NodeShape, first: int, count: int, subnet: int) -> list[NodeSpec]:
    return [
        NodeSpec(
            name=f"ip-10-16-{subnet}-{i}.us-east-2.compute.internal",
            provider_id=f"aws:///us-east-2c/i-{subnet:08x}{i:09x}",
            zone="us-east-2c",
            region="us-east-2",
            instance_type="p5.48xlarge" if shape.device_resources else "m7i.2xlarge",
            internal_ip=f"10.16.{subnet}.{i}",
            shape=shape,
        )
        for i in range(first, first + count)
    ]


def until(what: str, check: Callable[[], Any], seconds: float = 30) -> Any:
    """Wait for a true value; the test fails with `what` when it does not come."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.1)
    return found


@dataclass(frozen=True)
class Lab:
    runtime: ClusterRuntime
    name: str
    started_s: float

    @property
    def client(self) -> KubeClient:
        return admin(self.runtime.folder / self.name)

    def pods(self, namespace: str = "default", selector: str = "") -> list[Json]:
        return self.client.list(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")

    def gpus(self) -> dict[str, str | None]:
        """Allocatable GPUs by node of the training pool; None: the node does not know the resource."""
        found = self.runtime.nodes(self.name)
        return {
            n["metadata"]["name"]: n["status"]["allocatable"].get("nvidia.com/gpu")
            for n in found
            if n["metadata"]["labels"].get("pool") == "train"
        }


def admin(folder: Path) -> KubeClient:
    """A client with all rights, from the certificates in a cluster's folder."""
    import json

    tls = folder / "tls"
    port = json.loads((folder / "cluster.json").read_text())["port"]
    return KubeClient(port, pki.client_context(tls / "ca.crt", (tls / "admin.crt", tls / "admin.key")))


def device_plugin() -> Json:
    container = {"name": "plugin", "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.4"}
    spec = {"containers": [container], "tolerations": [{"operator": "Exists"}], "nodeSelector": {"pool": "train"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "nvidia-device-plugin", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"name": "nvidia-device-plugin"}},
            "template": {"metadata": {"labels": {"name": "nvidia-device-plugin"}}, "spec": spec},
        },
    }


def job(
    name: str, pods: int, cards: int, *, queue: str | None = None, annotations: dict[str, str] | None = None
) -> Json:
    amount = {"nvidia.com/gpu": str(cards)} if cards else {}
    container = {
        "name": "main",
        "image": "example.org/train:1",
        "command": ["python", "train.py"],
        "resources": {"requests": amount | {"cpu": "1"}, "limits": amount},
    }
    template = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"restartPolicy": "Never", "containers": [container], "tolerations": [GPU_TAINT_TOLERATION]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"kueue.x-k8s.io/queue-name": queue} if queue else {},
        },
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "completionMode": "Indexed",
            "suspend": queue is not None,
            "template": template,
        },
    }


GPU_TAINT_TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
JOBS = "/apis/batch/v1/namespaces/default/jobs"


@contextmanager
def kueue_release(kubeconfig: Path, folder: Path) -> Iterator[float]:
    """Kueue's own chart, unchanged, by helm.v3.Release through the real engine; yields the seconds it took."""
    import pulumi
    import pulumi_kubernetes as kubernetes

    chart = binaries.module_dir("kueue") / "charts" / "kueue"

    def program() -> None:
        provider = kubernetes.Provider("site", kubeconfig=kubeconfig.read_text(), cluster_identifier="lab")
        kubernetes.helm.v3.Release(
            "kueue",
            name="kueue",
            chart=str(chart),
            namespace="kueue-system",
            create_namespace=True,
            values=KUEUE_VALUES,
            timeout=120,
            opts=pulumi.ResourceOptions(provider=provider),
        )

    stack = engine_stack(folder, program)
    began = time.monotonic()
    stack.up(on_output=lambda line: None)
    try:
        yield time.monotonic() - began
    finally:
        began = time.monotonic()
        stack.destroy(on_output=lambda line: None)
        print(f"Kueue's release destroyed in {time.monotonic() - began:.1f} s")


def engine_stack(folder: Path, program: Callable[[], None]) -> Any:
    """A stack of the real engine with the real Kubernetes provider, its state and home in `folder`."""
    from pulumi import automation as auto

    home, state = folder / "pulumi", folder / "state"
    plugin = home / "plugins" / f"resource-kubernetes-v{_sdk_version()}"
    plugin.mkdir(parents=True, exist_ok=True)
    state.mkdir(parents=True, exist_ok=True)
    link = plugin / "pulumi-resource-kubernetes"
    if not link.exists():
        link.symlink_to(binaries.find("pulumi-resource-kubernetes"))
    path = f"{binaries.find('pulumi').parent}{os.pathsep}{os.environ['PATH']}"
    env = {
        "PATH": path,
        "PULUMI_HOME": str(home),
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_CONFIG_PASSPHRASE": "lab",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    os.environ["PATH"] = path  # the Automation API looks for the CLI there
    options = auto.LocalWorkspaceOptions(pulumi_home=str(home), env_vars=env, work_dir=None)
    return auto.create_or_select_stack("lab", "lab", program, opts=options)


def _sdk_version() -> str:
    import importlib.metadata

    return importlib.metadata.version("pulumi-kubernetes")
