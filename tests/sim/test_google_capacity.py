"""What the simulated GKE refuses of flex-start, queued provisioning and reservations, in the real one's words."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.google.services.capacity import seed_calendar
from tests.sim.project import PROJECT, Project, Refusal, gpus, pool_inputs, slice_of

EAST, ZONE = "us-east5", "us-east5-a"
NONE = {"reservationAffinity": {"consumeReservationType": "NO_RESERVATION"}}
H200 = gpus("nvidia-h200-141gb", 8)
FLEX: dict[str, Any] = {
    "nodeCount": None,
    "autoscaling": {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"},
    "management": {"autoRepair": False, "autoUpgrade": True},
}
QUEUED = {**FLEX, "queuedProvisioning": {"enabled": True}}


@pytest.fixture
def east(project: Project) -> dict[str, Any]:
    vpc = project.create("Network", name="net", autoCreateSubnetworks=False)
    subnet = project.create(
        "Subnetwork", name="sub", network=vpc["id"], region=EAST, ipCidrRange="10.20.0.0/20",
        secondaryIpRanges=[{"rangeName": "pods", "ipCidrRange": "10.21.0.0/16"},
                           {"rangeName": "services", "ipCidrRange": "10.22.0.0/20"}],
    )  # fmt: skip
    return project.create(
        "Cluster", name="main", location=EAST, nodeLocations=[ZONE], network=vpc["id"], subnetwork=subnet["id"],
        initialNodeCount=1, removeDefaultNodePool=True, datapathProvider="ADVANCED_DATAPATH",
        enableMultiNetworking=True, releaseChannel={"channel": "REGULAR"},
        ipAllocationPolicy={"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
    )  # fmt: skip


def pool(project: Project, cluster: dict[str, Any], machine: str, config: dict[str, Any], **more: Any) -> Any:
    more = {"location": EAST, "nodeLocations": [ZONE], **more}
    inputs = pool_inputs(cluster, more.pop("name", "p"), 0, {"machineType": machine, **config}, **more)
    return project.create("NodePool", **{k: v for k, v in inputs.items() if v is not None})


def without(row: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k != key}


FLEX_START = {**H200, **NONE, "flexStart": True, "maxRunDuration": "21600s"}


@pytest.mark.parametrize(
    ("config", "more", "text"),
    [
        (FLEX_START, without(FLEX, "autoscaling"), "Flex start node pools require autoscaling enabled"),
        (FLEX_START, {**FLEX, "nodeCount": 2}, "Flex start node pools require initial node count to be set to 0"),
        ({**FLEX_START, "reservationAffinity": None}, FLEX, "Flex start node pools don't support reservations"),
        ({**FLEX_START, "spot": True}, FLEX, "Flex start node pools don't support Spot VMs"),
        (FLEX_START, without(FLEX, "management"), "require auto repair to be disabled"),
        ({**FLEX_START, "maxRunDuration": "604801s"}, FLEX, "must be between 600s and 604800s"),
        ({**FLEX_START, "maxRunDuration": "6h"}, FLEX, "duration must end with 's'"),
        (
            {**gpus("nvidia-h100-80gb", 8), **NONE, "flexStart": True, "machineType": "a3-highgpu-8g"},
            {**FLEX, "placementPolicy": {"type": "COMPACT"}, "nodeLocations": ["us-east5-a"]},
            "Compact placement with flex start is not supported",
        ),
        ({**FLEX_START, "reservationAffinity": None}, QUEUED, "Queued_provisioning requires reservation affinity"),
        (without(FLEX_START, "flexStart"), without(QUEUED, "autoscaling"), "requires autoscaling to be enabled"),
        (FLEX_START, {**QUEUED, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 4}}, "minimum node count"),
        (FLEX_START, {**QUEUED, "placementPolicy": {"type": "COMPACT"}}, "doesn't support compact placement"),
    ],
)
def test_what_is_excluded(
    project: Project, east: dict[str, Any], config: dict[str, Any], more: dict[str, Any], text: str
) -> None:
    config = {k: v for k, v in config.items() if v is not None}
    with pytest.raises(Refusal, match=text) as refused:
        pool(project, east, config.pop("machineType", "a3-ultragpu-8g"), config, **more)
    assert "error creating NodePool: googleapi: Error 400" in str(refused.value)


def test_queued_tpus_are_flex_start_too(project: Project, east: dict[str, Any]) -> None:
    tpu = {**QUEUED, **slice_of("4x4")}
    with pytest.raises(Refusal, match="Queued_provisioning doesn't support TPUs"):
        pool(project, east, "ct6e-standard-4t", NONE, **tpu)
    made = pool(project, east, "ct6e-standard-4t", {**NONE, "flexStart": True}, **tpu)
    assert (made["nodeCount"], project.nodes(made)) == (0, [])


def test_a_slice_is_bounded_by_its_hosts(project: Project, east: dict[str, Any]) -> None:
    total = {**FLEX, **slice_of("4x4"), "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4}}
    with pytest.raises(Refusal, match='Maximum node count 0 is not a valid size of TPU pod slice with topology "4x4"'):
        pool(project, east, "ct6e-standard-4t", {**NONE, "flexStart": True}, **total)


def test_a_flex_start_pool_has_no_nodes_at_first(project: Project, east: dict[str, Any]) -> None:
    made = pool(project, east, "a3-ultragpu-8g", FLEX_START, **FLEX, placementPolicy={"type": "COMPACT"})
    assert (made["nodeCount"], project.nodes(made)) == (0, [])


def held(name: str) -> dict[str, Any]:
    key = "compute.googleapis.com/reservation-name"
    return {
        **H200,
        "reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION", "key": key, "values": [name]},
    }


@pytest.mark.parametrize(
    ("name", "count", "label"),
    [
        ("train-h200", 32, "train-h200"),  # more cards than the quota has: the reservation took its own
        (f"projects/{PROJECT}/reservations/train-h200", 2, "train-h200"),
        (f"projects/{PROJECT}/reservations/train-h200/reservationBlocks/train-h200-block-0001", 16, "train-h200"),
        ("projects/embedded-owner/reservations/pooled-h200", 8, "pooled-h200"),
    ],
)
def test_reservations_that_there_are(project: Project, east: dict[str, Any], name: str, count: int, label: str) -> None:
    made = pool(project, east, "a3-ultragpu-8g", held(name), nodeCount=count)
    assert len(project.nodes(made)) == count
    assert project.nodes(made)[0].shape.labels["cloud.google.com/reservation-name"] == label
    with pytest.raises(Refusal, match="Reservation does not have enough resources for the request"):
        pool(project, east, "a3-ultragpu-8g", held(name), nodeCount=33 - count, name="q")


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "train-h200/reservationBlocks/train-h200-block-0001",  # without its project
        f"projects/{PROJECT}/reservations/train-h200/reservationBlocks/train-h200-block-0009",
        "projects/embedded-owner/reservations/private-h200",  # not shared with this project
        "pooled-h200",  # another project's, by its bare name
        "train-h100",  # of another zone
    ],
)
def test_reservations_that_there_are_not(project: Project, east: dict[str, Any], name: str) -> None:
    text = f'Error 404: Google Compute Engine: reservation "{name}" not found for node pool "p" at zone "{ZONE}".'
    with pytest.raises(Refusal) as refused:
        pool(project, east, "a3-ultragpu-8g", held(name), nodeCount=1)
    assert text in str(refused.value)


def test_a_reservation_of_another_machine_has_nothing_to_give(project: Project, east: dict[str, Any]) -> None:
    config = {**held("train-h200"), **gpus("nvidia-h100-80gb", 8)}
    with pytest.raises(Refusal, match="required 2 and short of 2 VM count of machine type") as refused:
        pool(project, east, "a3-megagpu-8g", {**config, **gpus("nvidia-h100-mega-80gb", 8)}, nodeCount=2)
    assert "Error 429" in str(refused.value)


def test_a_calendar_reservation_is_there_between_its_dates(project: Project, east: dict[str, Any]) -> None:
    now = project.clock.now()
    row = {"name": "block-1", "machine": "a3-ultragpu-8g", "count": 4, "starts": now + 3600, "ends": now + 90000}
    seed_calendar(project.scope, ZONE, row)
    early = pool(project, east, "a3-ultragpu-8g", held("block-1"), **without(FLEX, "management"), name="early")
    assert early["nodeCount"] == 0  # a pool may wait for a reservation that is yet to come
    with pytest.raises(Refusal, match='reservation "block-1" not found'):
        pool(project, east, "a3-ultragpu-8g", held("block-1"), nodeCount=4, name="q")
    project.clock._base += 3700
    made = pool(project, east, "a3-ultragpu-8g", held("block-1"), nodeCount=4, name="r")
    assert len(project.nodes(made)) == 4
    project.clock._base += 90000
    with pytest.raises(Refusal, match='reservation "block-1" not found'):
        pool(project, east, "a3-ultragpu-8g", held("block-1"), nodeCount=1, name="s")
