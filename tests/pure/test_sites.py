"""Every kind of site: GKE, TPU slices, existing clusters, and where pools go and stay."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator_fleet.plan.model import FleetPlan
from accelerator_fleet.plan.slices import by_rule, chips, forms
from tests.pure.sites import BYO, EKS, GKE, C, examples, made, one, refusal

ROOT = Path(__file__).parents[2]

# --- GKE -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "machine", "accelerator", "extra"),
    [
        ({"chip": "h100"}, "a3-highgpu-8g", "nvidia-h100-80gb", 4),
        ({"chip": "h100", "variant": "mega"}, "a3-megagpu-8g", "nvidia-h100-mega-80gb", 8),
        ({"chip": "h100", "machine": "a3-megagpu-8g"}, "a3-megagpu-8g", "nvidia-h100-mega-80gb", 8),
        ({"chip": "h200"}, "a3-ultragpu-8g", "nvidia-h200-141gb", 9),
        ({"chip": "b200"}, "a4-highgpu-8g", "nvidia-b200", 9),
        ({"chip": "a100"}, "a2-highgpu-8g", "nvidia-tesla-a100", 0),
        ({"chip": "a100", "variant": "80gb"}, "a2-ultragpu-8g", "nvidia-a100-80gb", 0),
    ],
)
def test_gpus_on_gke(said: dict[str, str], machine: str, accelerator: str, extra: int) -> None:
    p = one(cards=16, **said)
    assert (p.machine, p.accelerator, p.nodes, len(p.extra_networks)) == (machine, accelerator, 2, extra)
    assert p.gpu_driver in ("DEFAULT", "LATEST")
    assert p.taints[0].model_dump() == {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert (p.efa_interfaces, p.interfaces, p.ami_type) == (0, (), "COS_CONTAINERD")


def test_rdma_subnets_share_a_vpc_with_the_profile_of_their_zone() -> None:
    got = made([{"name": "a", "site": "usc1", "chip": "b200", "cards": 8, "zone": "us-central1-b"}])
    network = got.site("usc1").gke_network
    assert network is not None
    assert [e.kind for e in network.extra] == ["gvnic"] + ["rdma"] * 8
    assert {(e.vpc, e.profile_zone) for e in network.extra[1:]} == {("rdma-b", "us-central1-b")}
    assert got.pools[0].extra_networks == tuple(e.name for e in network.extra)


def test_slots_of_a_google_block_as_documented() -> None:
    network = made([{"name": "a", "site": "usc1", "chip": "h100", "cards": 8}]).site("usc1").gke_network
    assert network is not None
    assert (network.pods_cidr, network.nodes_cidr, network.services_cidr) == (
        "10.20.0.0/15",
        "10.22.0.0/17",
        "10.22.128.0/20",
    )
    assert [(e.name, e.cidr) for e in network.extra][:2] == [("gvnic-0", "10.23.0.0/23"), ("gvnic-1", "10.23.2.0/23")]


def test_a_clusters_channel_and_maintenance_are_pinned() -> None:
    cluster = made([]).site("usc1").cluster
    assert (cluster.release_channel, cluster.location) == ("REGULAR", "us-central1")
    assert cluster.maintenance is not None
    assert [(e.scope, e.end) for e in cluster.maintenance.exclusions] == [("NO_MINOR_OR_NODE_UPGRADES", None)]


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 5, 8])
def test_system_nodes_divide_over_their_zones(nodes: int) -> None:
    sites = [{**GKE, "system": {"nodes": nodes}}]
    pool = made([], sites=sites).sites[0].system_pool
    assert pool is not None
    assert (pool.machine, pool.nodes) == ("e2-standard-4", nodes)
    assert nodes % len(pool.zones) == 0


def test_a_default_machine_of_aws_is_not_asked_of_google() -> None:
    system = made([], defaults={"system": {"machine": "m6i.large", "nodes": 2}}).site("usc1").system_pool
    assert system is not None
    assert system.machine == "e2-standard-4"


def test_device_plugins_of_gke_are_gkes() -> None:
    got = made([{"name": "a", "site": "usc1", "chip": "h100", "cards": 8}])
    assert [a.name for a in got.site("usc1").addons] == ["kueue"]


# --- TPU slices ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "machine", "shape", "slices", "hosts"),
    [
        ({"chip": "tpu-v5e", "topology": "4x4"}, "ct5lp-hightpu-4t", "4x4", 1, 4),
        ({"chip": "tpu-v5e", "cards": 16}, "ct5lp-hightpu-4t", "4x4", 1, 4),
        ({"chip": "v5e", "topology": "8x8"}, "ct5lp-hightpu-4t", "8x8", 1, 16),
        ({"chip": "tpu-v5e", "topology": "2x4"}, "ct5lp-hightpu-8t", "2x4", 1, 1),
        ({"chip": "tpu-v5e", "topology": "2x4", "machine": "ct5lp-hightpu-4t"}, "ct5lp-hightpu-4t", "2x4", 1, 2),
        ({"chip": "tpu-v5e", "cards": 1}, "ct5lp-hightpu-1t", "1x1", 1, 1),
        ({"chip": "tpu-v5e", "topology": "4x4", "cards": 48}, "ct5lp-hightpu-4t", "4x4", 3, 4),
        ({"chip": "tpu-v6e", "topology": "4x4"}, "ct6e-standard-4t", "4x4", 1, 4),
        ({"chip": "tpu-v5p", "topology": "2x2x2"}, "ct5p-hightpu-4t", "2x2x2", 1, 2),
        ({"chip": "tpu-v5p", "topology": "4x8x8"}, "ct5p-hightpu-4t", "4x8x8", 1, 64),
    ],
)
def test_slices(said: dict[str, Any], machine: str, shape: str, slices: int, hosts: int) -> None:
    p = one(**said)
    assert (p.machine, p.topology_shape, p.slices, p.hosts_per_slice) == (machine, shape, slices, hosts)
    assert p.nodes == slices * hosts
    assert p.cards == p.nodes * p.cards_per_node == slices * chips(shape)
    assert p.placement_policy is (hosts > 1), "one host takes no policy"
    assert (p.resource, p.accelerator, p.gpu_driver) == ("google.com/tpu", None, None)


def test_v4_in_its_own_region() -> None:
    sites = [{**GKE, "region": "us-central2"}]
    got = made([{"name": "a", "site": "usc1", "chip": "tpu-v4", "topology": "4x4x4"}], sites=sites)
    assert (got.pools[0].machine, got.pools[0].hosts_per_slice) == ("ct4p-hightpu-4t", 16)
    assert got.sites[0].system_pool is not None
    assert got.sites[0].system_pool.machine == "n2-standard-4", "us-central2-b has no e2"


def test_shapes_that_are_not_listed_follow_the_rule() -> None:
    v4, v5p = C.tpu.entries["tpu-v4"], C.tpu.entries["tpu-v5p"]
    rotated = by_rule(v4, "8x4x4")
    assert rotated is not None
    assert rotated.hosts == 32
    assert by_rule(v5p, "8x4x4") is None, "v5p takes its sides in rising order"
    assert by_rule(v4, "16x16x20") is None, "more than 64 cubes"
    assert by_rule(v4, "4x4x6") is None
    assert by_rule(C.tpu.entries["tpu-v5e"], "16x32") is None


def test_adding_a_slice_touches_no_other() -> None:
    first, second = one(chip="tpu-v5e", topology="4x4"), one(chip="tpu-v5e", topology="4x4", cards=32)
    assert first.shape_key == second.shape_key
    counts = {"cards", "nodes", "min_nodes", "max_nodes", "slices"}
    assert first.model_dump(exclude=counts) == second.model_dump(exclude=counts)


def test_another_topology_is_another_shape() -> None:
    assert one(chip="tpu-v5e", topology="4x4").shape_key != one(chip="tpu-v5e", topology="8x8").shape_key


# --- which site, and staying ---------------------------------------------------------------------------------------

BOTH = {"name": "a", "site": ["use2", "usc1"]}


def test_the_first_site_that_offers_chip_zone_and_mode() -> None:
    assert made([{**BOTH, "chip": "h100", "cards": 8}]).pools[0].site == "use2"
    assert made([{**BOTH, "chip": "tpu-v5e", "cards": 16}]).pools[0].site == "usc1"
    assert made([{**BOTH, "chip": "h100", "cards": 8, "zone": "us-central1-b"}]).pools[0].site == "usc1"
    got = made([{**BOTH, "chip": "tpu-v5e", "cards": 16}])
    (reason,) = [r for r in got.reasons if r.path == "pools[0].site"]
    assert reason.choice == "usc1"
    assert "no machine of eks sites carries tpu-v5e" in reason.why


def test_a_pool_stays_where_it_is_while_that_is_valid() -> None:
    placed = {"a": ("usc1", "us-central1-c")}
    p = made([{**BOTH, "chip": "h100", "cards": 8}], placed).pools[0]
    assert (p.site, p.zone) == ("usc1", "us-central1-c")
    moved = made([{**BOTH, "chip": "trn1n", "cards": 16}], placed)
    assert (moved.pools[0].site, moved.pools[0].zone) == ("use2", "us-east-2c")
    assert made([{**BOTH, "chip": "h100", "cards": 8, "zone": "us-east-2a"}], placed).pools[0].site == "use2"


def test_a_change_of_site_warns_that_the_volume_does_not_follow() -> None:
    volumes = [{"name": "shared", "site": "use2", "size": "10TiB"}]
    got = made([{**BOTH, "chip": "tpu-v5e", "cards": 16}], {"a": ("use2", "us-east-2a")}, volumes=volumes)
    (warning,) = got.warnings
    assert "the volume shared stays on use2 and does not follow" in warning.why
    assert not made([{**BOTH, "chip": "h100", "cards": 8}], {"a": ("use2", "us-east-2a")}, volumes=volumes).warnings


def test_errors_name_the_sites_that_can() -> None:
    text = refusal([{"name": "a", "site": "use2", "chip": "tpu-v5e", "cards": 16}])
    assert "pools[0].chip" in text
    assert "sites that can: usc1 (us-central1-a)" in text


def test_trn1n_where_the_h100_pool_was_names_the_zone_that_has_it() -> None:
    text = refusal([{"name": "a", "site": "use2", "zone": "us-east-2a", "chip": "trn1n", "cards": 16}])
    assert text == "pools[0].zone: us-east-2a has no trn1n.32xlarge; zones that have it: us-east-2c"


def test_devs_pretrain_moves_by_one_word() -> None:
    text = (ROOT / "stacks" / "fleets" / "dev.yaml").read_text(encoding="utf-8")
    line = next(x for x in text.splitlines() if "name: pretrain" in x)
    assert "zone: us-east-2c, chip: h100" in line, "the one zone of the region with both"
    assert one(site="use2", zone="us-east-2c", chip="trn1n", cards=16).machine == "trn1n.32xlarge"


# --- existing clusters ---------------------------------------------------------------------------------------------


def test_an_existing_cluster_is_named_and_nothing_of_it_is_planned() -> None:
    said = {"name": "mi", "site": "byo", "chip": "mi300x", "cards": 16, "cards_per_node": 8}
    got = made([{**said, "node_selector": {"rack": "7"}}])
    (p,), s = got.pools, got.site("byo")
    assert (p.nodes, p.resource, p.machine, p.zone, p.capacity_mode) == (2, "amd.com/gpu", "", "", "existing")
    assert (p.node_selector, p.taints, p.labels) == ({"rack": "7"}, (), {})
    assert (s.context, s.network, s.gke_network, s.system_pool) == ("lab", None, None, None)
    assert {a.state for a in s.addons} == {"present"}


# --- properties ----------------------------------------------------------------------------------------------------

TPUS = [
    ({"chip": word, "topology": form.topology, "machine": form.machine}, form)
    for word in ("tpu-v5e", "tpu-v5p", "tpu-v6e")
    for form in forms(C.tpu.entries[word])
]
GPUS = st.tuples(st.sampled_from(["h100", "a100", "b200", "h200"]), st.integers(1, 20))
SITES = st.sampled_from([["use2"], ["usc1"], ["use2", "usc1"], ["usc1", "use2"]])
ROWS = st.lists(
    st.one_of(
        st.tuples(GPUS, SITES).map(lambda r: {"chip": r[0][0], "cards": 8 * r[0][1], "site": r[1]}),
        st.sampled_from(TPUS).map(lambda t: {**t[0], "site": ["usc1"]}),
        st.integers(1, 9).map(lambda n: {"chip": "mi300x", "cards": 8 * n, "cards_per_node": 8, "site": ["byo"]}),
    ),
    min_size=1,
    max_size=6,
)


def named(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "name": f"p{i}"} for i, row in enumerate(rows)]


def blocks(got: FleetPlan) -> list[IPv4Network]:
    out: list[IPv4Network] = []
    for s in got.sites:
        if s.network:
            out += [IPv4Network(n.cidr) for n in s.network.subnets]
        if s.gke_network:
            n = s.gke_network
            out += [IPv4Network(c) for c in (n.nodes_cidr, n.pods_cidr, n.services_cidr, n.peering_cidr) if c]
            out += [IPv4Network(e.cidr) for e in n.extra]
    return out


@given(ROWS, st.integers(12, 18))
@examples(80)
def test_plans_of_any_mix_hold_their_promises(rows: list[dict[str, Any]], prefix: int) -> None:
    cidr = str(next(IPv4Network("10.64.0.0/10").subnets(new_prefix=prefix)))
    got = made(named(rows), sites=[EKS, {**GKE, "cidr": cidr}, BYO])
    nets = blocks(got)
    assert not any(a.overlaps(b) for i, a in enumerate(nets) for b in nets[:i])
    inside = [n for n in nets if n.subnet_of(IPv4Network(cidr))]
    assert all(n.prefixlen <= 29 for n in inside), "Google's smallest subnet"
    for p in got.pools:
        assert p.cards == p.nodes * p.cards_per_node
        if p.topology_shape:
            assert p.nodes == p.slices * (p.hosts_per_slice or 0)
            assert chips(p.topology_shape) == (p.hosts_per_slice or 0) * p.cards_per_node
        if p.accelerator or p.topology_shape:
            assert p.cards_per_node == C.gke_machines.entries[p.machine].cards_per_node
            assert len(p.group_name_prefix) <= 40
        if got.site(p.site).kind == "eks":
            assert p.efa_interfaces <= C.machines.entries[p.machine].efa_max


@given(ROWS, st.randoms(use_true_random=False))
@examples(50)
def test_order_of_entries_changes_nothing(rows: list[dict[str, Any]], random: Any) -> None:
    pools = named(rows)
    sites = random.sample([EKS, GKE, BYO], 3)
    first, second = made(pools), made(random.sample(pools, len(pools)), sites=sites)
    assert {p.name: p for p in first.pools} == {p.name: p for p in second.pools}
    assert {s.name: s for s in first.sites} == {s.name: s for s in second.sites}
    # Where the spec itself gave a figure, its place is the source.
    assert [(f.subject, f.value) for f in first.relied_on] == [(f.subject, f.value) for f in second.relied_on]


@given(ROWS, ROWS)
@examples(50)
def test_adding_or_removing_entries_changes_no_other(rows: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    pools = named(rows)
    extra = [{**row, "name": f"q{i}"} for i, row in enumerate(more)]
    before, after = made(pools), made([*extra, *pools])
    assert [p for p in after.pools if p.name[0] == "p"] == list(before.pools)
    for was, now in zip(before.sites, after.sites, strict=True):
        assert was.network == now.network
        assert was.cluster == now.cluster
        if was.gke_network and now.gke_network:
            assert set(was.gke_network.extra) <= set(now.gke_network.extra)
            assert was.gke_network.nodes_cidr == now.gke_network.nodes_cidr


@given(st.sampled_from(["tpu-v5e", "tpu-v6e", "tpu-v5p"]), st.integers(1, 300))
@examples(100)
def test_any_count_of_chips_is_a_slice_or_an_error_with_slices(word: str, cards: int) -> None:
    sizes = {f.chips for f in forms(C.tpu.entries[word])}
    if cards in sizes:
        assert one(chip=word, cards=cards).cards == cards
    else:
        text = refusal([{"name": "a", "site": "usc1", "chip": word, "cards": cards}])
        assert "pools[0].cards" in text
        assert "nearest" in text or "topology" in text
