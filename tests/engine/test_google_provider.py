"""The simulated Google provider through the real engine: what it answers to a program that bypasses the components."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pytest
from pulumi import automation as auto
from pulumi_gcp import compute, container, filestore

from tests.sim.cloud import Cloud, events, running

pytestmark = pytest.mark.engine
REGION, ZONE = "us-central1", "us-central1-a"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running(tmp_path_factory.mktemp("google")) as made:
        yield made


def program(topology: str = "4x4", protected: bool = True, project: str = "embedded-test") -> Callable[[], None]:
    """A cluster with a multi-host slice, and a file share with labels."""

    def run() -> None:
        provider = gcp.Provider("gcp", project=project, region=REGION, default_labels={"team": "a"})
        opts = pulumi.ResourceOptions(provider=provider)
        vpc = compute.Network("net", auto_create_subnetworks=False, opts=opts)
        subnet = compute.Subnetwork("sub", network=vpc.id, ip_cidr_range="10.20.0.0/20", opts=opts)
        cluster = container.Cluster(
            "main", location=REGION, network=vpc.id, subnetwork=subnet.id, initial_node_count=1,
            remove_default_node_pool=True, deletion_protection=protected, opts=opts,
        )  # fmt: skip
        container.NodePool(
            "slice", cluster=cluster.name, location=REGION, node_locations=[ZONE], node_count=4,
            placement_policy={"type": "COMPACT", "tpu_topology": topology},
            node_config={"machine_type": "ct5lp-hightpu-4t"}, opts=opts,
        )  # fmt: skip
        files = filestore.Instance(
            "files", location=ZONE, tier="ZONAL", file_shares={"name": "data", "capacity_gb": 1024},
            networks=[{"network": vpc.name, "modes": ["MODE_IPV4"]}], labels={"own": "1"}, opts=opts,
        )  # fmt: skip
        pulumi.export("labels", pulumi.Output.unsecret(files.effective_labels))

    return run


def ops(stack: auto.Stack) -> dict[str, Any]:
    """Operations other than `same` of a preview, by resource name."""
    return {e.urn.rpartition("::")[2]: e.op.value for e in events(stack, preview=True) if e.op.value != "same"}


def test_a_fleet_of_google(cloud: Cloud) -> None:
    stack = cloud.stack("life", program())
    made = stack.up()
    assert made.outputs["labels"].value == {"team": "a", "goog-pulumi-provisioned": "true", "own": "1"}
    assert ops(stack) == {}
    stack.refresh()
    assert ops(stack) == {}, "a refresh finds what was made"


def test_another_topology_is_an_update_that_does_nothing(cloud: Cloud) -> None:
    stack = cloud.stack("life", program("8x8"))
    assert ops(stack) == {"slice": "update"}
    stack.up()
    assert ops(stack) == {"slice": "update"}, "nothing was sent: the next preview says it again"
    pools = cloud.client.get("/gcp/resources?type=gcp:container/nodePool:NodePool")
    assert pools[0]["outputs"]["placementPolicy"]["tpuTopology"] == "4x4"
    assert len(pools[0]["hidden"]["nodes"]) == 4


def test_a_protected_cluster_stays(cloud: Cloud) -> None:
    stack = cloud.stack("life", program())
    with pytest.raises(auto.CommandError, match="deletion_protection is set to true"):
        stack.destroy()
    stack = cloud.stack("life", program(protected=False))
    stack.up()
    stack.destroy()
    left = cloud.client.get("/gcp/resources")
    assert [r for r in left if r["owner"] == "program"] == []


def test_real_projects_are_refused(cloud: Cloud) -> None:
    with pytest.raises(auto.CommandError, match="project research belongs to the real Google provider"):
        cloud.stack("other", program(project="research")).preview()
