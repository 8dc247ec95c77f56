"""What a node's agents compute, without a cluster."""

from __future__ import annotations

import pytest
import yaml

from accelerator_fleet_sim.cluster import kueue
from accelerator_fleet_sim.cluster.controlplane import emulated_minor
from accelerator_fleet_sim.cluster.images import plugin_resources, real_program, repository
from accelerator_fleet_sim.cluster.quantities import allocatable, milli


@pytest.mark.parametrize(("quantity", "expected"), [("8", 8000), ("3920m", 3920), ("1Ki", 1024_000), ("2k", 2_000_000)])
def test_quantities(quantity: str, expected: int) -> None:
    assert milli(quantity) == expected


def test_allocatable_is_capacity_less_the_kubelets_share() -> None:
    # m5.large as EKS documents it: 2 cores, 29 pods; 70 millicores and 255 + 29 * 11 + 100 MiB are kept.
    left = allocatable({"cpu": "2", "memory": "8Gi", "pods": "29", "ephemeral-storage": "20Gi"})
    assert left["cpu"] == "1930m"
    assert left["memory"] == f"{(8192 - 255 - 29 * 11 - 100) * 1024}Ki"
    assert left["ephemeral-storage"] == str(20 * 2**30 - 2 * 2**30 - 2**30)
    assert left["pods"] == "29"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nvcr.io/nvidia/k8s-device-plugin:v0.17.4", "nvcr.io/nvidia/k8s-device-plugin"),
        ("localhost:5000/kueue/kueue", "localhost:5000/kueue/kueue"),
        ("registry.k8s.io/kueue/kueue@sha256:0123", "registry.k8s.io/kueue/kueue"),
    ],
)
def test_repositories(image: str, expected: str) -> None:
    assert repository(image) == expected


def test_what_an_image_means() -> None:
    def pod(image: str) -> dict[str, object]:
        return {"spec": {"containers": [{"image": image}]}}

    efa = "602401143452.dkr.ecr.us-east-2.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.13"
    assert plugin_resources(pod(efa)) == {"vpc.amazonaws.com/efa"}
    assert plugin_resources(pod("example.org/k8s-device-plugin-like:1")) == set()
    assert real_program(pod("registry.k8s.io/kueue/kueue:v0.17.0")) == "kueue"
    assert real_program(pod("registry.k8s.io/kueue/kueueviz:v0.17.0")) is None


def test_kueues_configuration_is_changed_in_addresses_only() -> None:
    text = "{resources: {excludeResourcePrefixes: [cpu]}, health: {healthProbeBindAddress: ':8081'}, webhook: {}}"
    ports = iter(range(20000, 20010))
    found = kueue.localise(
        text, ["--config=/c.yaml", "--zap-log-level=2"], "ns", lambda p: f"/host{p}", lambda: next(ports)
    )
    config = yaml.safe_load(found.config)
    assert config["resources"] == {"excludeResourcePrefixes": ["cpu"]}
    assert config["health"] == {"healthProbeBindAddress": "127.0.0.1:20000"}
    assert config["webhook"]["certDir"] == "/host/tmp/k8s-webhook-server/serving-certs"
    assert config["namespace"] == config["leaderElection"]["resourceNamespace"] == "ns"
    assert found.ports == {8081: 20000, 8443: 20001, 9443: 20002, 8082: 20003}
    assert found.flags == ("--zap-log-level=2",)
    flags = kueue.without_visibility(("--feature-gates=A=true,VisibilityOnDemand=true", "--v"))
    assert flags == ("--v", "--feature-gates=A=true,VisibilityOnDemand=false")


@pytest.mark.parametrize(("version", "minor"), [("1.34", "1.34"), ("1.36", ""), ("1.30", ""), ("v1.35.2", "1.35")])
def test_which_version_an_api_server_plays(version: str, minor: str) -> None:
    assert emulated_minor(version) == minor
