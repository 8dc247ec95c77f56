"""GKE: which resources network, cluster, GPU pools and TPU slices become. No rules: those are the engine tests'."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from accelerator_fleet.plan.model import DemandPlan, SharingPlan, Taint
from tests.wiring.plans import fleet, gke_site, pool, tpu
from tests.wiring.recorder import Recorder, build

NODE_POOL = "gcp:container/nodePool:NodePool"
FLAVOR = "kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor"


@pytest.fixture(scope="module")
def made() -> Recorder:
    return build(fleet((gke_site(),), (pool(), tpu(slices=3, nodes=12, cards=48))))


def test_what_a_gke_site_becomes(made: Recorder) -> None:
    kinds = Counter(a.typ for a in made.made)
    assert kinds["gcp:compute/network:Network"] == 3  # nodes, gVNIC, RDMA
    assert kinds["gcp:compute/subnetwork:Subnetwork"] == 1 + 1 + 8
    assert kinds["gcp:compute/firewall:Firewall"] == 2  # an RDMA network takes none
    assert kinds["gcp:compute/routerNat:RouterNat"] == 1
    assert kinds[NODE_POOL] == 1 + 1 + 3
    assert not [k for k in kinds if k.startswith("aws:")]


def test_every_custom_resource_names_its_provider(made: Recorder) -> None:
    plain = [a.name for a in made.made if a.custom and not a.typ.startswith("pulumi:") and not a.provider]
    assert plain == []


def test_the_cluster_is_ready_for_any_later_pool(made: Recorder) -> None:
    cluster = made.one("gcp:container/cluster:Cluster", "accel-dev-usc1").inputs
    assert cluster["datapathProvider"] == "ADVANCED_DATAPATH"
    assert cluster["enableMultiNetworking"] is True
    assert cluster["removeDefaultNodePool"] is True
    assert cluster["deletionProtection"] is True
    assert cluster["privateClusterConfig"]["enablePrivateNodes"] is True
    assert cluster["workloadIdentityConfig"] == {"workloadPool": "embedded-research.svc.id.goog"}
    assert cluster["location"] == "us-central1"
    assert "name" not in cluster  # autonamed: a replacement never collides


def test_upgrades_are_pinned(made: Recorder) -> None:
    cluster = made.one("gcp:container/cluster:Cluster", "accel-dev-usc1").inputs
    assert cluster["releaseChannel"] == {"channel": "REGULAR"}
    policy = cluster["maintenancePolicy"]
    assert policy["recurringWindow"]["recurrence"] == "FREQ=WEEKLY;BYDAY=SA"
    (exclusion,) = policy["maintenanceExclusions"]
    assert exclusion["exclusionOptions"] == {
        "scope": "NO_MINOR_OR_NODE_UPGRADES",
        "endTimeBehavior": "UNTIL_END_OF_SUPPORT",
    }
    for group in made.of(NODE_POOL):
        assert group.inputs["management"] == {"autoRepair": True, "autoUpgrade": True}


def test_system_nodes_are_plain_and_counted_per_zone(made: Recorder) -> None:
    system = made.one(NODE_POOL, "accel-dev-usc1-system").inputs
    assert system["nodeCount"] == 1
    assert system["nodeLocations"] == ["us-central1-a", "us-central1-b"]
    assert "taints" not in system["nodeConfig"]


def test_a_gpu_pool_says_everything_that_google_would_choose(made: Recorder) -> None:
    group = made.one(NODE_POOL, "pretrain").inputs
    node = group["nodeConfig"]
    (accelerator,) = node["guestAccelerators"]
    assert accelerator == {
        "type": "nvidia-h200-141gb",
        "count": 8,
        "gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"},
    }
    assert node["gvnic"] == {"enabled": True}
    assert node["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert node["resourceLabels"]["cost-center"] == "research"  # Google's labels are lower case
    assert node["serviceAccount"] == "nodes@example"
    assert group["placementPolicy"] == {"type": "COMPACT"}
    assert group["nodeLocations"] == ["us-central1-b"]
    assert (group["nodeCount"], group.get("initialNodeCount")) == (2, None)


def test_a_pool_has_the_interfaces_of_its_machine(made: Recorder) -> None:
    group = made.one(NODE_POOL, "pretrain").inputs
    extra = group["networkConfig"]["additionalNodeNetworkConfigs"]
    assert len(extra) == 9
    assert extra[0] == {"network": "accel-dev-usc1-gvnic-0", "subnetwork": "accel-dev-usc1-gvnic-0"}
    assert {e["network"] for e in extra[1:]} == {"accel-dev-usc1-rdma-b"}
    rdma = made.one("gcp:compute/network:Network", "accel-dev-usc1-rdma-b").inputs
    assert rdma["networkProfile"] == "projects/embedded-research/global/networkProfiles/us-central1-b-vpc-roce"


def test_pods_reach_the_further_networks_by_gkes_own_objects(made: Recorder) -> None:
    params = {a.name: a.inputs for a in made.of("kubernetes:networking.gke.io/v1:GKENetworkParamSet")}
    networks = {a.name: a.inputs for a in made.of("kubernetes:networking.gke.io/v1:Network")}
    names = ["gvnic-0", *(f"rdma-b-{i}" for i in range(8))]
    assert sorted(networks) == [f"usc1-{n}" for n in names]
    assert sorted(params) == [f"usc1-{n}-params" for n in names]
    for name in names:
        assert networks[f"usc1-{name}"]["metadata"] == {"name": name}
        assert networks[f"usc1-{name}"]["spec"] == {
            "type": "Device",
            "parametersRef": {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": name},
        }
    assert params["usc1-gvnic-0-params"]["spec"] == {
        "vpc": "accel-dev-usc1-gvnic-0",
        "vpcSubnet": "accel-dev-usc1-gvnic-0",
        "deviceMode": "NetDevice",
    }
    assert params["usc1-rdma-b-3-params"]["spec"] == {
        "vpc": "accel-dev-usc1-rdma-b",
        "vpcSubnet": "accel-dev-usc1-rdma-b-3",
        "deviceMode": "RDMA",
    }


def test_a_site_without_further_networks_has_no_such_objects() -> None:
    network = gke_site().gke_network
    assert network is not None
    plain = gke_site(gke_network=network.model_copy(update={"extra": ()}))
    found = build(fleet((plain,), (tpu(),)))
    assert not [a for a in found.made if a.typ.startswith("kubernetes:networking.gke.io")]


def test_a_slice_is_a_node_pool_of_its_hosts(made: Recorder) -> None:
    for name in ("tpu", "tpu-1", "tpu-2"):
        group = made.one(NODE_POOL, name).inputs
        assert group["nodeCount"] == 4
        assert group["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
        assert group["nodeConfig"]["machineType"] == "ct5lp-hightpu-4t"
        assert "guestAccelerators" not in group["nodeConfig"]


def test_one_host_takes_no_placement_policy() -> None:
    one = tpu(topology_shape="2x4", hosts_per_slice=1, nodes=1, cards=8, placement_policy=False)
    group = build(fleet((gke_site(),), (one,))).one(NODE_POOL, "tpu").inputs
    assert "placementPolicy" not in group
    assert group["nodeCount"] == 1


def test_more_slices_leave_the_others_as_they_are() -> None:
    few, many = (build(fleet((gke_site(),), (tpu(slices=n),))) for n in (2, 3))
    for name in ("tpu", "tpu-1"):
        assert few.one(NODE_POOL, name).inputs == many.one(NODE_POOL, name).inputs


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"capacity_mode": "spot"}, {"spot": True}),
        (
            {"capacity_mode": "reserved", "reservation": "mine"},
            {
                "reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["mine"],
                }
            },
        ),
    ],
)
def test_capacity(more: dict[str, Any], expected: dict[str, Any]) -> None:
    node = build(fleet((gke_site(),), (pool(**more),))).one(NODE_POOL, "pretrain").inputs["nodeConfig"]
    assert {k: node.get(k) for k in expected} == expected
    assert not {"spot", "reservationAffinity"} - set(expected) & set(node)


def test_an_autoscaler_owns_the_count_that_it_is_given() -> None:
    auto = pool(scaling="auto", min_nodes=0, max_nodes=4)
    group = build(fleet((gke_site(),), (auto,))).one(NODE_POOL, "pretrain").inputs
    assert "nodeCount" not in group
    assert group["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4}


def test_versions_are_told_where_they_are_pinned(made: Recorder) -> None:
    pinned = "1.36.4-gke.1391002"
    plain = gke_site()
    assert plain.system_pool is not None
    site = gke_site(
        cluster=plain.cluster.model_copy(update={"version": pinned}),
        system_pool=plain.system_pool.model_copy(update={"release": pinned}),
    )
    found = build(fleet((site,), (pool(release="1.35.8-gke.1439001"), tpu())))
    assert found.one("gcp:container/cluster:Cluster", "accel-dev-usc1").inputs["minMasterVersion"] == pinned
    assert found.one(NODE_POOL, "accel-dev-usc1-system").inputs["version"] == pinned
    assert found.one(NODE_POOL, "pretrain").inputs["version"] == "1.35.8-gke.1439001"
    assert "version" not in found.one(NODE_POOL, "tpu").inputs  # as GKE made it
    assert found.fleet is not None
    assert found.fleet.sites["usc1"]["pinnedVersion"] == pinned  # type: ignore[index]
    assert found.fleet.pools["pretrain"]["release"] == "1.35.8-gke.1439001"  # type: ignore[index]


def by_jobs(**more: Any) -> DemandPlan:
    fields = {"flex_start": True, "queued": False, "max_run_seconds": 21600, "auto_repair": False}
    return DemandPlan(**{**fields, "no_reservation": True, **more})


def test_flex_start_says_what_gke_wants_said() -> None:
    flex = pool(capacity_mode="flex-start", scaling="auto", min_nodes=0, demand=by_jobs())
    group = build(fleet((gke_site(),), (flex,))).one(NODE_POOL, "pretrain").inputs
    assert "nodeCount" not in group
    assert "initialNodeCount" not in group
    assert group["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 2, "locationPolicy": "ANY"}
    assert group["management"] == {"autoRepair": False, "autoUpgrade": True}
    assert "queuedProvisioning" not in group
    node = group["nodeConfig"]
    assert (node["flexStart"], node["maxRunDuration"]) == (True, "21600s")
    assert node["reservationAffinity"] == {"consumeReservationType": "NO_RESERVATION"}
    assert "spot" not in node


def test_a_queued_pool_has_its_own_admission_check() -> None:
    gke = "cloud.google.com/gke-queued"
    demand = by_jobs(queued=True, taints=(Taint(key=gke, value="true", effect="NoSchedule"),))
    slice_ = tpu(capacity_mode="queued-provisioning", scaling="auto", min_nodes=0, demand=demand)
    found = build(fleet((gke_site(),), (pool(), slice_)))
    group = found.one(NODE_POOL, "tpu").inputs
    assert group["queuedProvisioning"] == {"enabled": True}
    assert group["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}
    assert group["nodeConfig"]["flexStart"] is True
    assert "maxRunDuration" not in group["nodeConfig"]  # each request has its own
    assert gke not in {t["key"] for t in group["nodeConfig"]["taints"]}
    (check,) = found.of("kubernetes:kueue.x-k8s.io/v1beta2:AdmissionCheck")
    assert check.inputs["spec"]["controllerName"] == "kueue.x-k8s.io/provisioning-request"
    (config,) = found.of("kubernetes:kueue.x-k8s.io/v1beta2:ProvisioningRequestConfig")
    assert check.inputs["spec"]["parameters"]["name"] == config.inputs["metadata"]["name"]
    assert config.inputs["spec"]["provisioningClassName"] == "queued-provisioning.gke.io"
    assert config.inputs["spec"]["managedResources"] == ["google.com/tpu"]
    assert config.inputs["spec"]["parameters"] == {"maxRunDurationSeconds": "21600", "tpu-topology": "4x4"}
    (queue,) = found.of("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue")
    rows = queue.inputs["spec"]["admissionChecksStrategy"]["admissionChecks"]
    assert rows == [{"name": "queued-tpu", "onFlavors": ["tpu"]}]
    flavors = {f.inputs["metadata"]["name"]: f.inputs["spec"] for f in found.of(FLAVOR)}
    assert gke in {t["key"] for t in flavors["tpu"]["tolerations"]}
    assert gke not in {t["key"] for t in flavors["pretrain"]["tolerations"]}


def test_a_calendar_pool_names_its_reservation_and_counts_nothing() -> None:
    named = "projects/other-9/reservations/r1"
    plain = by_jobs(flex_start=False, max_run_seconds=None, auto_repair=True, no_reservation=False)
    more = {"scaling": "auto", "min_nodes": 0, "placement_policy": False, "reservation": named, "demand": plain}
    group = build(fleet((gke_site(),), (pool(capacity_mode="calendar", **more),))).one(NODE_POOL, "pretrain").inputs
    assert group["nodeConfig"]["reservationAffinity"]["values"] == [named]
    assert not {"flexStart", "maxRunDuration"} & set(group["nodeConfig"])
    assert group["management"]["autoRepair"] is True
    assert group["autoscaling"]["minNodeCount"] == 0


def test_outputs_name_what_a_person_looks_for(made: Recorder) -> None:
    assert made.fleet is not None
    site = made.fleet.sites["usc1"]
    assert isinstance(site, dict)
    assert {"kind", "project", "region", "cluster", "endpoint", "kubeconfig"} <= set(site)
    kubernetes = made.one("pulumi:providers:kubernetes", "accel-dev-usc1").inputs
    assert '"gke-gcloud-auth-plugin"' in str(kubernetes["kubeconfig"])
    assert '"https://10.0.0.2"' in str(kubernetes["kubeconfig"])


@pytest.mark.parametrize(
    ("sharing", "said"),
    [
        (SharingPlan(way="mig", parts=7, profile="1g.18gb"), {"gpuPartitionSize": "1g.18gb"}),
        (
            SharingPlan(way="time_slicing", parts=4),
            {"gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4}},
        ),
        (
            SharingPlan(way="mps", parts=8),
            {"gpuSharingConfig": {"gpuSharingStrategy": "MPS", "maxSharedClientsPerGpu": 8}},
        ),
    ],
)
def test_shared_cards_are_said_to_gke_with_the_accelerator(sharing: SharingPlan, said: dict[str, Any]) -> None:
    made = build(fleet((gke_site(),), (pool(sharing=sharing),)))
    (accelerator,) = made.one(NODE_POOL, "pretrain").inputs["nodeConfig"]["guestAccelerators"]
    assert {k: v for k, v in accelerator.items() if k not in ("type", "count", "gpuDriverInstallationConfig")} == said
