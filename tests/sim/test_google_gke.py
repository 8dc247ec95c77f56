"""What the simulated GKE says of clusters and node pools, as the real one does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sim.project import PROJECT, REGION, ZONE, Project, Refusal, cluster_inputs, gpus, pool_inputs, slice_of

CLUSTER = f"projects/{PROJECT}/locations/{REGION}/clusters/main"


def test_a_cluster(project: Project) -> None:
    made = project.cluster()
    assert made["id"] == CLUSTER
    assert made["selfLink"] == f"https://container.googleapis.com/v1beta1/{CLUSTER}"
    assert made["network"] == f"projects/{PROJECT}/global/networks/net"
    assert made["ipAllocationPolicy"]["clusterIpv4CidrBlock"] == "10.21.0.0/16"
    assert made["masterVersion"] == "1.36.4-gke.1391002"  # the channel's default
    assert made["endpoint"] == "127.0.0.1:1"
    assert not project.clusters.nodes_by_group


def test_a_default_pool_that_stays(project: Project) -> None:
    project.cluster(removeDefaultNodePool=False, initialNodeCount=2)
    nodes = [n for found in project.clusters.nodes_by_group.values() for n in found]
    assert sorted(n.zone for n in nodes) == [ZONE, ZONE, "us-central1-c", "us-central1-c"]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"initialNodeCount": None}, "Cluster.initial_node_count must be greater than zero"),
        ({"network": "gone"}, 'Network "gone" does not exist'),
        ({"nodeLocations": ["us-east1-b"]}, 'Zone "us-east1-b" is not in region "us-central1"'),
        ({"datapathProvider": None}, "Multi-networking requires Dataplane V2"),
        ({"minMasterVersion": "1.20"}, 'Master version "1.20" is unsupported'),
        ({"location": "nowhere"}, 'Location "nowhere" does not exist'),
        (
            {"ipAllocationPolicy": {"clusterSecondaryRangeName": "x", "servicesSecondaryRangeName": "services"}},
            'Secondary range "x"',
        ),
    ],
)
def test_what_a_cluster_is_refused_for(project: Project, change: dict[str, Any], text: str) -> None:
    inputs = {**cluster_inputs(project.network()), **change}
    with pytest.raises(Refusal, match=text) as refused:
        project.create("Cluster", **{k: v for k, v in inputs.items() if v is not None})
    assert str(refused.value).startswith("googleapi: Error 400: ")


def test_deletion_protection(project: Project) -> None:
    made = project.cluster()
    with pytest.raises(Refusal, match="Cannot destroy cluster because deletion_protection is set to true"):
        project.delete("Cluster", made["id"], deletionProtection=True)
    project.delete("Cluster", made["id"], deletionProtection=False)
    assert project.scope.find("gcp:container/cluster:Cluster", made["id"]) is None


def test_versions(project: Project) -> None:
    made = project.cluster(minMasterVersion="1.34")
    inputs = project.scope.find("gcp:container/cluster:Cluster", made["id"]).inputs  # type: ignore[union-attr]
    with pytest.raises(Refusal, match="cannot upgrade the master by more than one minor version"):
        project.update("Cluster", made["id"], **{**inputs, "minMasterVersion": "1.36"})
    assert project.update("Cluster", made["id"], **{**inputs, "minMasterVersion": "1.35"})["masterVersion"].startswith(
        "1.35."
    )


@pytest.mark.parametrize(
    ("channel", "wish", "text"),
    [
        ("REGULAR", "1.36.4-gke.2046002", 'Master version "1.36.4-gke.2046002" is unsupported'),  # of RAPID
        ("STABLE", "1.36", 'Master version "1.36" is unsupported'),
        ("REGULAR", "1.36.4-gke.1391001", 'Master version "1.36.4-gke.1391001" is unsupported'),
    ],
)
def test_versions_that_a_channel_does_not_serve(project: Project, channel: str, wish: str, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        project.cluster(minMasterVersion=wish, releaseChannel={"channel": channel})


def test_another_least_version_upgrades_and_an_older_one_does_nothing(project: Project) -> None:
    made = project.cluster(minMasterVersion="1.36")
    assert made["masterVersion"] == "1.36.4-gke.1391002"
    inputs = project.scope.find("gcp:container/cluster:Cluster", made["id"]).inputs  # type: ignore[union-attr]
    for wish, master in (
        ("1.36.4-gke.1391002", "1.36.4-gke.1391002"),
        ("1.36.4-gke.1495002", "1.36.4-gke.1495002"),
        ("1.36.4-gke.1391002", "1.36.4-gke.1495002"),
    ):
        assert project.update("Cluster", made["id"], **{**inputs, "minMasterVersion": wish})["masterVersion"] == master


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ("1.36.4-gke.1495002", "must not be newer than the master's"),
        ("1.33.13-gke.1647000", "is unsupported"),  # not in the channel
        ("1.30.1-gke.1", "is unsupported"),
    ],
)
def test_versions_that_nodes_cannot_have(project: Project, wish: str, text: str) -> None:
    cluster = project.cluster()
    with pytest.raises(Refusal, match=text):
        project.pool(cluster, "p", "e2-standard-4", 1, version=wish)


def test_nodes_are_at_most_two_minor_versions_behind(project: Project) -> None:
    cluster = project.cluster(releaseChannel={"channel": "EXTENDED"})
    assert project.pool(cluster, "old", "e2-standard-4", 1, version="1.34")["version"] == "1.34.11-gke.1102000"
    with pytest.raises(Refusal, match="must be at most two minor versions below"):
        project.pool(cluster, "older", "e2-standard-4", 1, version="1.33")


def test_an_upgrade_recycles_nodes_one_by_one_and_a_slice_whole(project: Project) -> None:
    cluster = project.cluster()
    seen: list[int] = []
    real = project.clusters.set_nodes
    project.clusters.set_nodes = lambda n, g, nodes: (seen.append(len(nodes)), real(n, g, nodes))[1]  # type: ignore
    for name, machine, count, more, steps in (
        ("cpu", "e2-standard-4", 3, {}, [2, 3, 2, 3, 2, 3, 3]),
        ("tpu", "ct5lp-hightpu-4t", 4, slice_of("4x4"), [0, 4, 4]),
    ):
        old = project.pool(cluster, name, machine, count, version="1.35", **more)
        before = {n.name for n in project.nodes(old)}
        seen.clear()
        inputs = pool_inputs(cluster, name, count, {"machineType": machine}, version="1.36", **more)
        after = project.update("NodePool", old["id"], **inputs)
        assert after["version"] == "1.36.4-gke.1391002"
        assert seen == steps
        assert not before & {n.name for n in project.nodes(old)}


def test_nodes_of_gpus(project: Project) -> None:
    cluster = project.cluster()
    pool = project.pool(cluster, "h100", "a3-megagpu-8g", 2, nodeConfig=gpus("nvidia-h100-mega-80gb", 8))
    assert pool["id"] == f"{CLUSTER}/nodePools/h100"
    node = project.nodes(pool)[0]
    assert node.provider_id.startswith(f"gce://{PROJECT}/{ZONE}/gke-main-h100-")
    assert node.shape.device_resources == {"nvidia.com/gpu": "8"}
    assert node.shape.taints == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    labels = node.shape.labels
    assert labels["cloud.google.com/gke-accelerator"] == "nvidia-h100-mega-80gb"
    assert labels["cloud.google.com/gke-nodepool"] == "h100"
    assert labels["cloud.google.com/gke-gpu-driver-version"] == "latest"
    assert labels["cloud.google.com/machine-family"] == "a3"
    places = [[n.shape.labels[f"cloud.google.com/gce-topology-{k}"] for k in ("block", "subblock", "host")]
              for n in project.nodes(pool)]  # fmt: skip
    assert places[0][:2] == places[1][:2]
    assert places[0][2] != places[1][2]


def test_without_drivers_no_gpus(project: Project) -> None:
    cluster = project.cluster()
    card = gpus("nvidia-l4", 1, "INSTALLATION_DISABLED")
    pool = project.pool(cluster, "l4", "g2-standard-4", 1, nodeConfig=card)
    assert project.nodes(pool)[0].shape.device_resources == {}


def test_a_slice_comes_whole(project: Project) -> None:
    cluster = project.cluster()
    pool = project.pool(cluster, "tpu", "ct5lp-hightpu-4t", 4, **slice_of("4x4"))
    nodes = project.nodes(pool)
    assert len(nodes) == 4
    assert nodes[0].shape.device_resources == {"google.com/tpu": "4"}
    assert nodes[0].shape.labels["cloud.google.com/gke-tpu-topology"] == "4x4"
    assert nodes[0].shape.labels["cloud.google.com/gke-tpu-accelerator"] == "tpu-v5-lite-podslice"
    assert nodes[0].shape.taints[0]["key"] == "google.com/tpu"
    one = project.pool(cluster, "one", "ct5lp-hightpu-8t", 1)
    assert project.nodes(one)[0].shape.labels["cloud.google.com/gke-tpu-topology"] == "2x4"


def test_a_topology_change_does_nothing(project: Project) -> None:
    """The provider plans an update and sends nothing: state and nodes stay, and the next plan says it again."""
    cluster = project.cluster()
    pool = project.pool(cluster, "tpu", "ct5lp-hightpu-4t", 4, **slice_of("4x4"))
    inputs = pool_inputs(cluster, "tpu", 4, {"machineType": "ct5lp-hightpu-4t"}, **slice_of("8x8"))
    after = project.update("NodePool", pool["id"], **inputs)
    assert after["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert len(project.nodes(pool)) == 4
    with pytest.raises(Refusal, match="must have 4 nodes, got 16"):
        project.update("NodePool", pool["id"], **{**inputs, "nodeCount": 16})


@pytest.mark.parametrize(
    ("machine", "count", "more", "text"),
    [
        ("a3-highgpu-8g", 1, {"nodeConfig": gpus("nvidia-h100-80gb", 4)}, "has 8 accelerators"),
        ("a3-highgpu-8g", 1, {"nodeConfig": gpus("nvidia-l4", 8)}, "is not compatible with machine type"),
        ("e2-standard-4", 1, {"nodeConfig": gpus("nvidia-l4", 1)}, "cannot be attached to machine type"),
        ("ct4p-hightpu-4t", 1, {}, "Machine type with name 'ct4p-hightpu-4t' does not exist in zone 'us-central1-a'"),
        ("m9-huge", 1, {}, "Machine type with name 'm9-huge' does not exist in zone"),
        ("ct5lp-hightpu-4t", 4, slice_of("3x5"), 'TPU topology "3x5" is not supported'),
        ("ct5lp-hightpu-4t", 3, slice_of("4x4"), "must have 4 nodes, got 3"),
        ("ct5lp-hightpu-4t", 4, {"placementPolicy": {"type": "SPREAD", "tpuTopology": "4x4"}}, "COMPACT"),
        (
            "ct5lp-hightpu-4t", 4, {**slice_of("4x4"), "nodeLocations": [ZONE, "us-central1-b"]},
            "does not exist in zone 'us-central1-b'|exactly one zone",
        ),
        ("e2-standard-4", 1, {"nodeConfig": {"serviceAccount": "x@y.z"}}, 'Service account "x@y.z" does not exist'),
        ("e2-standard-4", 1, {"management": {"autoUpgrade": False}}, "Auto_upgrade must be true when release_channel"),
        (
            "a3-highgpu-8g", 1,
            {"nodeConfig": {**gpus("nvidia-h100-80gb", 8), "spot": True, "reservationAffinity": {
                "consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name",
                "values": ["train-h100"]}}},
            "Spot VMs cannot consume reservations",
        ),
    ],
)  # fmt: skip
def test_what_a_pool_is_refused_for(
    project: Project, machine: str, count: int, more: dict[str, Any], text: str
) -> None:
    cluster = project.cluster()
    with pytest.raises(Refusal, match=text):
        project.pool(cluster, "p", machine, count, **more)


def test_stock_and_quota(project: Project) -> None:
    cluster = project.cluster()
    card = gpus("nvidia-h100-80gb", 8)
    with pytest.raises(Refusal) as refused:
        project.pool(cluster, "many", "a3-highgpu-8g", 40, nodeConfig=card)
    assert refused.value.code == "GCE_STOCKOUT"
    assert str(refused.value) == 'NodePool many was created in the error state "ERROR"'
    assert "does not have enough resources available to fulfill the request" in refused.value.body["message"]
    assert refused.value.body["outputs"]["name"] == "many", "the pool stays: the engine must remember it"
    assert not project.nodes({"name": "many"})
    with pytest.raises(Refusal) as refused:
        project.pool(cluster, "more", "a3-highgpu-8g", 50, nodeConfig=card)
    wanted = "resource \"NVIDIA_H100_GPUS\": request requires '400.0' and is short '16.0'"
    assert wanted in refused.value.body["message"]


def test_a_reservation_is_not_stock(project: Project) -> None:
    cluster = project.cluster()
    affinity = {"consumeReservationType": "SPECIFIC_RESERVATION", "key": "compute.googleapis.com/reservation-name",
                "values": ["train-h100"]}  # fmt: skip
    card = {**gpus("nvidia-h100-80gb", 8), "reservationAffinity": affinity}
    pool = project.pool(cluster, "held", "a3-highgpu-8g", 32, nodeConfig=card)
    assert project.nodes(pool)[0].shape.labels["cloud.google.com/reservation-name"] == "train-h100"
    with pytest.raises(Refusal) as refused:
        project.pool(cluster, "beyond", "a3-highgpu-8g", 1, nodeConfig=card)
    assert "required 1 and short of 1 VM count of machine type a3-highgpu-8g" in refused.value.body["message"]
    project.pool(cluster, "free", "a3-highgpu-8g", 2, nodeConfig=gpus("nvidia-h100-80gb", 8))


def test_counts_are_per_zone(project: Project) -> None:
    cluster = project.cluster()
    pool = project.pool(cluster, "cpu", "e2-standard-4", 2, nodeLocations=[ZONE, "us-central1-c"])
    assert len(project.nodes(pool)) == 4
    config = {"machineType": "e2-standard-4"}
    project.update("NodePool", pool["id"], **pool_inputs(cluster, "cpu", 1, config, nodeLocations=[ZONE]))
    assert len(project.nodes(pool)) == 1
    project.delete("NodePool", pool["id"])
    assert not project.nodes(pool)


def test_further_networks(project: Project) -> None:
    cluster = project.cluster()
    rows = []
    for number in range(5):
        vpc = project.create("Network", name=f"gpu-{number}", autoCreateSubnetworks=False, mtu=8244)
        project.create("Subnetwork", name=f"gpu-{number}", network=vpc["id"], region=REGION,
                       ipCidrRange=f"192.168.{number}.0/24")  # fmt: skip
        rows.append({"network": f"gpu-{number}", "subnetwork": f"gpu-{number}"})
    card = gpus("nvidia-h100-80gb", 8)
    with pytest.raises(Refusal, match="takes at most 4 additional gvnic networks, got 5"):
        project.pool(cluster, "p", "a3-highgpu-8g", 1, nodeConfig=card,
                     networkConfig={"additionalNodeNetworkConfigs": rows})  # fmt: skip
    pool = project.pool(cluster, "p", "a3-highgpu-8g", 2, nodeConfig=card,
                        networkConfig={"additionalNodeNetworkConfigs": rows[:4]})  # fmt: skip
    first, second = project.nodes(pool)
    assert first.interfaces == tuple((f"gpu-{n}", f"gpu-{n}", f"192.168.{n}.2", f"192.168.{n}.0/24") for n in range(4))
    assert [i[2] for i in second.interfaces] == [f"192.168.{n}.3" for n in range(4)]
    with pytest.raises(Refusal, match="is already being used by"):
        project.delete("Subnetwork", f"projects/{PROJECT}/regions/{REGION}/subnetworks/gpu-0")
