"""Quotas, stock, reservations, zones: why instances do not start, and what the node group is then."""

from __future__ import annotations

import pytest

from tests.sim.account import Account, Refusal
from tests.sim.groups import P5, Net, nodes, refused, template


def test_a_zone_without_the_machine(account: Account, net: Net) -> None:
    account.cluster(net)
    with pytest.raises(
        Refusal, match=r"AsgInstanceLaunchFailures.*Unsupported - Your requested instance type"
    ) as found:
        account.node_group(net, "a", instanceTypes=["trn1.32xlarge"], amiType="AL2023_x86_64_NEURON")
    assert "choosing us-east-2c" in str(found.value)
    assert str(found.value).startswith("waiting for EKS Node Group (c:g) create: unexpected state 'CREATE_FAILED'")
    assert found.value.body["id"] == "c:g"
    assert found.value.body["outputs"]["status"] == "CREATE_FAILED"
    account.delete("NodeGroup", "c:g")


def test_stock_runs_out_and_what_started_stays(account: Account, net: Net) -> None:
    account.cluster(net)
    with pytest.raises(Refusal, match=r"InsufficientInstanceCapacity.*do not have sufficient p5.48xlarge capacity"):
        account.node_group(net, "b", nodes=8, **P5)
    assert len(account.instances()) == 6  # all that us-east-2b had
    account.delete("NodeGroup", "c:g")
    assert account.instances() == []


def test_the_vcpu_quota(account: Account, net: Net) -> None:
    """8192 vCPUs, of which the reservation of 32 counts 6144, used or not: ten more p5.48xlarge."""
    account.cluster(net)
    account.node_group(net, "c", nodes=10, **P5)
    with pytest.raises(Refusal, match=r"VcpuLimitExceeded.*current vCPU limit of 8192"):
        account.node_group(net, "a", nodes=1, nodeGroupName="h", **P5)


def test_a_reservation_is_used_by_whom_it_is_for(account: Account, net: Net) -> None:
    account.cluster(net)
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0a1b2c3d4e5f60718"}}
    wanted = {**template(account, instanceType="p5.48xlarge", capacityReservationSpecification=target),
              "amiType": "AL2023_x86_64_NVIDIA"}  # fmt: skip
    account.node_group(net, "a", nodes=32, **wanted)
    assert len(nodes(account)) == 32
    assert len({n.shape.labels["topology.k8s.aws/network-node-layer-3"] for n in nodes(account)}) == 2
    with pytest.raises(Refusal, match="ReservationCapacityExceeded"):
        account.node_group(net, "a", nodes=1, nodeGroupName="more", **wanted)
    with pytest.raises(Refusal, match=r"ReservationCapacityExceeded.*does not match capacity reservation"):
        account.node_group(net, "b", nodes=1, nodeGroupName="elsewhere", **wanted)


def test_a_cluster_placement_group_against_a_reservation_without_one(account: Account, net: Net) -> None:
    account.cluster(net)
    account.create("PlacementGroup", name="pg", strategy="cluster")
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-0a1b2c3d4e5f60718"}}
    wanted = template(account, instanceType="p5.48xlarge", capacityReservationSpecification=target,
                      placement={"groupName": "pg"})  # fmt: skip
    with pytest.raises(Refusal, match="InsufficientInstanceCapacity"):
        account.node_group(net, "a", nodes=1, **wanted, amiType="AL2023_x86_64_NVIDIA")


def test_reservations_take_stock(account: Account) -> None:
    base = {"instanceType": "p4d.24xlarge", "availabilityZone": "us-east-2a", "instancePlatform": "Linux/UNIX"}
    account.create("CapacityReservation", instanceCount=6, **base)
    with refused("InsufficientInstanceCapacity"):
        account.create("CapacityReservation", instanceCount=3, **base)
    with refused("Unsupported", "not supported in your requested Availability Zone"):
        account.create("CapacityReservation", instanceCount=1, **{**base, "instanceType": "trn1.32xlarge"})


def test_a_subnet_runs_out_of_addresses(account: Account, net: Net) -> None:
    small = account.create("Subnet", vpcId=net["vpc"], cidrBlock="10.16.255.0/28", availabilityZone="us-east-2a")["id"]
    account.cluster(net)
    with pytest.raises(Refusal, match="InsufficientFreeAddressesInSubnet"):
        account.node_group(net, subnetIds=[small], nodes=12)


def test_an_open_reservation_is_used_by_whoever_fits(account: Account, net: Net) -> None:
    account.cluster(net)
    base = {"instanceType": "p4d.24xlarge", "availabilityZone": "us-east-2a", "instancePlatform": "Linux/UNIX"}
    made = account.create("CapacityReservation", instanceCount=8, instanceMatchCriteria="open", **base)["id"]
    account.node_group(net, nodes=8, instanceTypes=["p4d.24xlarge"], amiType="AL2023_x86_64_NVIDIA")
    running = account.store.resources(type="aws:ec2/instance:Instance")
    assert {i.hidden["reservation"] for i in running} == {made}
    with pytest.raises(Refusal, match=r"8 instances run in capacity reservation"):
        account.update("CapacityReservation", made, instanceCount=4, **base)


def test_an_update_that_the_provider_does_not_carry_out(account: Account) -> None:
    """A capacity reservation's placement group: shown as an update, silently not done."""
    base = {"instanceType": "m6i.large", "availabilityZone": "us-east-2a", "instancePlatform": "Linux/UNIX",
            "instanceCount": 1}  # fmt: skip
    made = account.create("CapacityReservation", **base)["id"]
    arn = "arn:aws:ec2:us-east-2:000000000000:placement-group/pg"
    assert not account.update("CapacityReservation", made, placementGroupArn=arn, **base).get("placementGroupArn")
