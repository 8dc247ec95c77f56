"""Faults through the real engine: what is in the cloud and in the state afterwards, and what the next `up` does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_gcp as gcp
import pytest
from pulumi import automation as auto
from pulumi_gcp import compute, container

from tests.sim.cloud import ACCOUNT, REGION, Cloud, running

pytestmark = pytest.mark.engine
POOL = "gcp:container/nodePool:NodePool"
NETWORK = "gcp:compute/network:Network"


@pytest.fixture
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running(tmp_path_factory.mktemp("faults")) as made:
        yield made


def failure(stack: auto.Stack) -> str:
    with pytest.raises(auto.CommandError) as failed:
        stack.up()
    return str(failed.value)


def state(stack: auto.Stack) -> dict[str, dict[str, Any]]:
    found = json.loads(json.dumps(stack.export_stack().deployment))["resources"]
    return {r["urn"].rpartition("::")[2]: r for r in found}


def there(cloud: Cloud, kind: str) -> list[dict[str, Any]]:
    side = "gcp" if kind.startswith("gcp:") else "aws"
    found: list[dict[str, Any]] = cloud.client.get(f"/{side}/resources?type={kind}&owner=program")
    return found


def fault(cloud: Cloud, kind: str, **more: Any) -> None:
    cloud.client.post("/faults", {"kind": kind, **more})


def vpc(timeout: str = "20m") -> Callable[[], None]:
    def program() -> None:
        options = pulumi.ResourceOptions(
            provider=aws.Provider("aws", region=REGION, allowed_account_ids=[ACCOUNT]),
            custom_timeouts=pulumi.CustomTimeouts(create=timeout),
        )
        made = aws.ec2.Vpc("v", cidr_block="10.0.0.0/16", opts=options)
        aws.ec2.VpcEndpoint("e", vpc_id=made.id, service_name=f"com.amazonaws.{REGION}.s3", opts=options)

    return program


def pool(count: int) -> Callable[[], None]:
    def program() -> None:
        opts = pulumi.ResourceOptions(provider=gcp.Provider("gcp", project="embedded-test", region="us-central1"))
        net = compute.Network("net", auto_create_subnetworks=False, opts=opts)
        sub = compute.Subnetwork("sub", network=net.id, ip_cidr_range="10.20.0.0/20", opts=opts)
        cluster = container.Cluster(
            "main", location="us-central1", network=net.id, subnetwork=sub.id, initial_node_count=1,
            remove_default_node_pool=True, deletion_protection=False, opts=opts,
        )  # fmt: skip
        container.NodePool(
            "p", cluster=cluster.name, location="us-central1", node_locations=["us-central1-a"], node_count=count,
            node_config={"machine_type": "e2-standard-4"}, opts=opts,
        )  # fmt: skip

    return program


def test_throttling_is_not_seen_and_an_outage_is(cloud: Cloud) -> None:
    fault(cloud, "throttling", times=5)
    stack = cloud.stack("throttled", vpc())
    assert stack.up().summary.result == "succeeded"
    fault(cloud, "5xx", type="Vpc")
    other = cloud.stack("down", vpc())
    said = failure(other)
    assert "operation error EC2: CreateVpc, exceeded maximum number of attempts, 25, https response error" in said
    assert "v" not in state(other)
    assert len(there(cloud, "aws:ec2/vpc:Vpc")) == 1


def test_what_takes_too_long_goes_on_in_the_cloud(cloud: Cloud) -> None:
    """customTimeouts end the wait, not the work; what is there is in the state, as it was planned."""
    fault(cloud, "hang", type="VpcEndpoint")
    stack = cloud.stack("hangs", vpc("7m"))
    assert "timeout while waiting for state to become 'ACTIVE' (last state: 'CREATING', timeout: 7m0s)" in failure(
        stack
    )
    (made,) = there(cloud, "aws:ec2/vpcEndpoint:VpcEndpoint")
    left = state(stack)["e"]
    assert (left["id"], made["state"]) == (made["id"], "creating")
    assert left["initErrors"]
    assert "arn" not in left["outputs"]


def test_a_lost_answer_leaves_what_nobody_knows(cloud: Cloud) -> None:
    """Google: the repeated request meets what the first one made; the id is taken back, the network is an orphan."""
    fault(cloud, "timeout-after-create", type="Network", times=1)
    stack = cloud.stack("lost", pool(1))
    assert "already exists" in failure(stack)
    assert "net" not in state(stack)
    assert len(there(cloud, NETWORK)) == 1
    stack.up()
    assert len(there(cloud, NETWORK)) == 2, "the next one has another name; the first is nobody's"


def test_a_pool_that_does_not_grow_is_tried_again(cloud: Cloud) -> None:
    """GKE's provider keeps the old values in the state after a failed update (d.Partial): the next `up` repeats it."""
    stack = cloud.stack("grows", pool(1))
    stack.up()
    fault(cloud, "stockout", type="NodePool")
    cloud.stack("grows", pool(3))
    assert "GCE_STOCKOUT" in failure(stack)
    left = state(stack)["p"]
    assert left["outputs"]["nodeCount"] == 1
    assert left["inputs"]["nodeCount"] == 1, "and the engine the old inputs"
    assert left["initErrors"][0].startswith(f"updating {left['urn']}: ")
    cloud.client.post("/faults/clear", {})
    assert stack.up().summary.resource_changes == {"same": 5, "update": 1}
    assert len(there(cloud, POOL)[0]["hidden"]["nodes"]) == 3
    assert not state(stack)["p"].get("initErrors")
