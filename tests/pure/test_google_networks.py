"""Further networks of Google's GPU machines: a table typed from Google's pages, against data, plans and addresses."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest

from accelerator_fleet.plan.google import extra_networks
from accelerator_fleet.plan.zone import offering
from tests.pure.sites import GKE, C, made

# machine -> gVNIC networks beside the default, RDMA subnets, what carries collectives, MTU of them.
# https://docs.cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx (A3 High, A3 Mega) and
# https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom (A3 Ultra, A4)
TABLE: dict[str, tuple[str, int, int, str]] = {
    "a3-highgpu-8g": ("h100", 4, 0, "tcpx"),
    "a3-megagpu-8g": ("h100", 8, 0, "tcpxo"),
    "a3-ultragpu-8g": ("h200", 1, 8, "rdma"),
    "a4-highgpu-8g": ("b200", 1, 8, "rdma"),
}
ZONES = [
    (machine, zone)
    for machine in TABLE
    for region in sorted(C.gke_zones.entries)
    for zone in offering(C, region, machine, "gcp")
]


def planned(machine: str, zone: str) -> Any:
    site = {**GKE, "region": zone.rpartition("-")[0]}
    pool = {"name": "a", "site": "usc1", "zone": zone, "chip": TABLE[machine][0], "machine": machine, "cards": 16}
    return made([pool], sites=[site])


def test_no_other_machine_has_further_networks() -> None:
    found = {name for name, m in C.gke_machines.entries.items() if m.extra_gvnic or m.extra_rdma or m.gpudirect}
    assert found == set(TABLE)


@pytest.mark.parametrize("machine", TABLE)
def test_the_table(machine: str) -> None:
    entry = C.gke_machines.entries[machine]
    assert (entry.extra_gvnic, entry.extra_rdma, entry.gpudirect) == TABLE[machine][1:]
    fact = C.gke_machines.fact(machine, "extra_rdma")
    assert fact.status == "verified", fact


@pytest.mark.parametrize(("machine", "zone"), ZONES)
def test_every_zone_that_has_the_machine_has_its_networks(machine: str, zone: str) -> None:
    plan = planned(machine, zone)
    pool, network = plan.pools[0], plan.sites[0].gke_network
    _, gvnic, rdma, _ = TABLE[machine]
    assert pool.extra_networks == extra_networks(C.gke_machines.entries[machine], zone)
    kinds = [(e.kind, e.profile_zone) for e in network.extra]
    # The RoCE profile is a zone's own: `<zone>-vpc-roce`, and one VPC holds all eight subnets of a zone.
    assert kinds == [("gvnic", None)] * gvnic + [("rdma", zone)] * rdma
    assert len({e.vpc for e in network.extra if e.kind == "rdma"}) == (1 if rdma else 0)
    assert len({e.vpc for e in network.extra if e.kind == "gvnic"}) == gvnic
    blocks = [IPv4Network(e.cidr) for e in network.extra]
    blocks += [IPv4Network(c) for c in (network.nodes_cidr, network.pods_cidr, network.services_cidr)]
    assert not any(a.overlaps(b) for i, a in enumerate(blocks) for b in blocks[:i])


def test_two_pools_of_one_zone_share_their_networks() -> None:
    pools = [
        {"name": n, "site": "usc1", "zone": z, "chip": "h200", "cards": 8}
        for n, z in (("a", "us-east5-a"), ("b", "us-east5-a"))
    ]
    site = {**GKE, "region": "us-east5"}
    network = made(pools, sites=[site]).sites[0].gke_network
    assert network is not None
    assert len(network.extra) == 9
    assert {e.vpc for e in network.extra} == {"gvnic-0", "rdma-a"}


def test_the_number_of_networks_is_never_that_of_cards() -> None:
    one, eight = (C.gke_machines.entries[m] for m in ("a3-highgpu-1g", "a3-highgpu-8g"))
    assert (one.cards_per_node, one.extra_gvnic) == (1, 0)
    assert (eight.cards_per_node, eight.extra_gvnic) == (8, 4)
