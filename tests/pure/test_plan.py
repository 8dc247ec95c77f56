"""The plan: whole nodes, layouts as AWS documents them, and nothing that moves when a file is edited."""

from __future__ import annotations

import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accelerator_fleet import catalog, spec
from accelerator_fleet.catalog.model import Doubt
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.interfaces import interfaces
from accelerator_fleet.plan.model import FleetPlan, PoolPlan
from accelerator_fleet.plan.network import private_block, public_block

ROOT = Path(__file__).parents[2]
C = catalog.load()
REGIONS = sorted(C.zones.entries)
BLOCK = {"mode": "capacity-block", "reservation": "cr-0a1b2c3d"}
BLOCK |= {"starts": "2027-01-04T11:30:00Z", "ends": "2027-01-11T11:30:00Z"}
SPANNING = sorted(m for m, e in C.machines.entries.items() if e.spans_nodes and e.cards_per_node)


def examples(count: int) -> settings:
    """A busy machine is slow, which says nothing about the code."""
    return settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def env(name: str) -> FleetPlan:
    return plan(spec.load(ROOT / "stacks" / "fleets" / f"{name}.yaml"), C)


def site(name: str = "use2", region: str = "us-east-2", cidr: str = "10.16.0.0/16", **more: Any) -> dict[str, Any]:
    return {"name": name, "kind": "eks", "account": "111122223333", "region": region, "cidr": cidr, **more}


def pool(name: str = "a", chip: str = "h100", cards: int = 16, **more: Any) -> dict[str, Any]:
    return {"name": name, "site": "use2", "chip": chip, "cards": cards, **more}


def made(pools: list[dict[str, Any]], sites: list[dict[str, Any]] | None = None, **more: Any) -> FleetPlan:
    where = more.pop("env", "dev")
    data = {"fleet": "accel", "tags": {"owner": "a", "cost-center": "b"}, "sites": sites or [site()], "pools": pools}
    return plan(spec.parse({**data, **more}, env=where), C)


def one(**more: Any) -> PoolPlan:
    return made([pool(**more)]).pools[0]


def without_counts(p: PoolPlan) -> dict[str, object]:
    return p.model_dump(exclude={"cards", "nodes", "min_nodes", "max_nodes"})


# --- the committed environments ------------------------------------------------------------------------------------


def test_single_is_two_unprotected_nodes() -> None:
    (p,) = env("single").pools
    assert (p.machine, p.nodes, p.cards, p.protect) == ("p5.48xlarge", 2, 16, False)


def test_dev_is_small_unprotected_and_on_every_kind_of_site() -> None:
    dev = env("dev")
    assert [s.kind for s in dev.sites] == ["eks", "gke", "existing"]
    assert [(p.name, p.site, p.machine, p.nodes, p.cards, p.protect) for p in dev.pools] == [
        ("pretrain", "use2", "p5.48xlarge", 2, 16, False),
        ("tpu", "usc1", "ct5lp-hightpu-4t", 4, 16, False),
        ("trn", "use2", "trn1n.32xlarge", 1, 16, False),
        ("mi", "byo", "", 2, 16, False),
    ]
    assert {v.site for v in dev.volumes} == {"use2", "usc1", "byo"}


def test_prod_is_256_reserved_cards_in_one_zone_and_protected() -> None:
    p = env("prod").pools[0]
    assert (p.cards, p.nodes, p.machine) == (256, 32, "p5.48xlarge")
    assert (p.capacity_mode, p.reservation, p.zone) == ("reserved", "cr-0a1b2c3d4e5f60718", "us-east-2a")
    assert p.protect
    assert env("prod").sites[0].protect


def test_prod_embedded_plans_what_prod_plans() -> None:
    prod, embedded = env("prod"), env("prod-embedded")
    assert [p.model_dump() for p in prod.pools] == [p.model_dump() for p in embedded.pools]
    assert embedded.sites[0].account == "000000000000"


def test_no_two_environments_share_addresses() -> None:
    sites = [s for e in ("dev", "staging", "prod") for s in env(e).sites]
    blocks = [IPv4Network(s.network.cidr) for s in sites if s.network and s.network.cidr]
    blocks += [IPv4Network(s.gke_network.pods_cidr) for s in sites if s.gke_network]
    assert not any(a.overlaps(b) for i, a in enumerate(blocks) for b in blocks[:i])


def test_mandatory_tags_and_the_environments_own() -> None:
    assert env("staging").tags == {
        "owner": "ml-platform",
        "cost-center": "research",
        "fleet": "accel",
        "environment": "staging",
    }


# --- interfaces and placement --------------------------------------------------------------------------------------

# AWS' "use case 1", typed from the document: (network card, device index, type) of the first three and of the last.
LAYOUTS = {
    "p5.48xlarge": ([(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], (31, 0, "efa-only"), 33),
    "p6-b200.48xlarge": ([(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], (7, 0, "efa-only"), 9),
    "p6-b300.48xlarge": ([(0, 0, "interface"), (1, 0, "efa-only"), (2, 0, "efa-only")], (16, 0, "efa-only"), 17),
}


@pytest.mark.parametrize("machine", LAYOUTS)
def test_layouts_typed_from_the_document(machine: str) -> None:
    first, last, count = LAYOUTS[machine]
    got = [(i.network_card, i.device, i.interface_type) for i in interfaces(C.machines.entries[machine])]
    assert (got[:3], got[-1], len(got)) == (first, last, count)


@pytest.mark.parametrize("machine", SPANNING)
def test_every_layout_fits_the_machine(machine: str) -> None:
    entry, layout = C.machines.entries[machine], interfaces(C.machines.entries[machine])
    efa = [i for i in layout if i.interface_type != "interface"]
    assert len(efa) == entry.efa_max
    assert len({(i.network_card, i.device) for i in layout}) == len(layout)
    assert {i.network_card for i in layout} <= set(range(entry.network_cards))
    assert len(layout) <= entry.interfaces_max
    assert all(i.device <= 1 for i in layout)
    per_card = entry.interfaces_per_card[0]
    assert all(sum(i.network_card == c for i in layout) <= per_card for c in range(entry.network_cards))
    assert (layout[0].network_card, layout[0].device, layout[0].interface_type) == (0, 0, "interface")


def test_one_card_machines_get_one_plain_interface_and_no_group() -> None:
    p = one(chip="l4", cards=4, machine="g6.xlarge")
    assert (p.interfaces, p.efa_interfaces, p.placement_group, p.nodes) == ((), 0, False, 4)


@pytest.mark.parametrize(
    ("capacity", "group"),
    [
        ({"mode": "on-demand"}, True),
        ({"mode": "spot"}, True),
        ({"mode": "reserved", "reservation": "cr-0a1b2c3d"}, False),
        (BLOCK, False),
    ],
)
def test_placement_groups_only_where_the_capacity_can_be_in_one(capacity: dict[str, str], group: bool) -> None:
    assert one(capacity=capacity, zone="us-east-2a").placement_group is group


def test_a_reservation_made_in_a_group_is_used_in_that_group() -> None:
    p = one(
        capacity={"mode": "reserved", "reservation": "cr-0a1b2c3d", "placement_group": "pg-ours"}, zone="us-east-2a"
    )
    assert (p.placement_group, p.existing_placement_group) == (False, "pg-ours")


def test_old_nodes_go_first_where_a_reservation_holds_one_set_only() -> None:
    reserved = one(capacity={"mode": "reserved", "reservation": "cr-0a1b2c3d"}, zone="us-east-2a")
    assert (reserved.old_first, one().old_first) == (True, False)


def test_a_capacity_blocks_pool_starts_empty() -> None:
    p = one(capacity=BLOCK, zone="us-east-2a")
    assert (p.desired_nodes, p.min_nodes, p.nodes) == (0, 0, 2)


# --- chips and machines --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "machine", "per_node", "resource", "ami"),
    [
        ({"chip": "h100"}, "p5.48xlarge", 8, "nvidia.com/gpu", "AL2023_x86_64_NVIDIA"),
        ({"chip": "h200"}, "p5en.48xlarge", 8, "nvidia.com/gpu", "AL2023_x86_64_NVIDIA"),
        ({"chip": "h200", "machine": "p5e.48xlarge"}, "p5e.48xlarge", 8, "nvidia.com/gpu", "AL2023_x86_64_NVIDIA"),
        ({"chip": "b200"}, "p6-b200.48xlarge", 8, "nvidia.com/gpu", "AL2023_x86_64_NVIDIA"),
        ({"chip": "a100"}, "p4d.24xlarge", 8, "nvidia.com/gpu", "AL2023_x86_64_NVIDIA"),
        ({"chip": "trn2"}, "trn2.48xlarge", 16, "aws.amazon.com/neuron", "AL2023_x86_64_NEURON"),
        ({"chip": "trainium2"}, "trn2.48xlarge", 16, "aws.amazon.com/neuron", "AL2023_x86_64_NEURON"),
        ({"chip": "trn1"}, "trn1.32xlarge", 16, "aws.amazon.com/neuron", "AL2023_x86_64_NEURON"),
        ({"chip": "trn1n"}, "trn1n.32xlarge", 16, "aws.amazon.com/neuron", "AL2023_x86_64_NEURON"),
    ],
)
def test_everything_follows_from_the_word(
    said: dict[str, str], machine: str, per_node: int, resource: str, ami: str
) -> None:
    p = one(cards=32, **said)
    assert (p.machine, p.cards_per_node, p.resource, p.ami_type) == (machine, per_node, resource, ami)
    assert p.nodes == 32 // per_node
    assert p.taints[0].model_dump() == {"key": resource, "value": "present", "effect": "NoSchedule"}


def test_80gb_narrows_to_p4de_where_there_is_one() -> None:
    p = made([pool(chip="a100", variant="80gb")], [site(region="us-east-1")]).pools[0]
    assert p.machine == "p4de.24xlarge"


def test_a_number_that_nobody_is_sure_of_is_taken_from_the_spec_and_noted() -> None:
    said = pool(chip="trn2", machine="trn2u.48xlarge", cards_per_node=16, cards=32)
    got = made([said], [site(region="ap-south-2")])
    assert got.pools[0].nodes == 2
    fact = next(f for f in got.relied_on if f.subject == "trn2u.48xlarge.cards_per_node")
    assert (fact.value, fact.source) == (16, "the spec, pools[0].cards_per_node")


def test_an_unverified_interface_count_is_never_used() -> None:
    entry = C.machines.entries["p5.48xlarge"]
    doubts = {**entry.doubts, "efa_max": Doubt(status="estimate", source="memory")}
    machines = {**C.machines.entries, "p5.48xlarge": entry.model_copy(update={"doubts": doubts})}
    doubtful = C.model_copy(update={"machines": C.machines.model_copy(update={"entries": machines})})
    with pytest.raises(FleetError, match=r"not sure how many EFA interfaces p5\.48xlarge takes"):
        plan(spec.load(ROOT / "stacks" / "fleets" / "dev.yaml"), doubtful)


def test_the_plan_lists_what_it_relied_on_with_sources() -> None:
    got = env("dev")
    assert {"p5.48xlarge.cards_per_node", "p5.48xlarge.efa_max"} <= {f.subject for f in got.relied_on}
    assert all(f.source and f.status in ("verified", "derived") for f in got.relied_on)


# --- zones, sites, networks ----------------------------------------------------------------------------------------


def test_the_zone_is_the_first_that_offers_the_machine_and_says_so() -> None:
    got = made([pool(chip="trn1n", cards=16)])
    assert got.pools[0].zone == "us-east-2c"
    assert any("us-east-2c" in r.choice and "offer trn1n.32xlarge" in r.why for r in got.reasons)


def test_the_first_site_that_can_carry_the_pool() -> None:
    sites = [site(), site("usw2", "us-west-2", "10.17.0.0/16")]
    got = made([pool(chip="a100", variant="80gb", site=["use2", "usw2"])], sites)
    assert got.pools[0].site == "usw2"
    assert any(r.path == "pools[0].site" and "us-east-2 has no p4de" in r.why for r in got.reasons)


def test_an_existing_network_and_cluster_are_named_and_never_planned() -> None:
    vpc = {"id": "vpc-0a1b2c3d", "subnets": {"us-east-2b": "subnet-0b1b2c3d"}}
    got = made([pool()], [{**site(vpc=vpc, cluster={"name": "shared"}), "cidr": None}])
    s = got.sites[0]
    assert s.network is not None
    assert (s.network.cidr, s.network.subnets, s.network.existing_vpc) == (None, (), "vpc-0a1b2c3d")
    assert (s.cluster.existing, s.cluster.name, s.cluster.version, s.system_pool) == (True, "shared", None, None)
    assert {a.state for a in s.addons} == {"present"}
    assert got.pools[0].zone == "us-east-2b"


def test_the_control_plane_stays_out_of_zones_without_general_purpose_machines() -> None:
    s = made([], [site(region="us-east-1")]).sites[0]
    assert "us-east-1e" not in s.cluster.zones
    assert s.network is not None
    assert len(s.network.subnets) == 12, "but every zone has its subnets"


def test_slots_as_documented() -> None:
    assert private_block("10.16.0.0/16", "a") == "10.16.0.0/19"
    assert private_block("10.16.0.0/16", "f") == "10.16.160.0/19"
    assert public_block("10.16.0.0/16", "a") == "10.16.192.0/22"
    assert public_block("10.16.0.0/16", "f") == "10.16.212.0/22"


@given(st.integers(0, 255), st.integers(16, 20), st.sampled_from(REGIONS))
@examples(150)
def test_subnets_lie_in_their_block_and_never_overlap(second: int, prefix: int, region: str) -> None:
    block = IPv4Network(f"10.{second}.0.0/{prefix}")
    zones = C.zones.entries[region].zones
    family = next(iter(zones.values())).general_purpose[0]
    s = made([], [site(region=region, cidr=str(block), system={"machine": f"{family}.large"})]).sites[0]
    assert s.network is not None
    nets = [IPv4Network(n.cidr) for n in s.network.subnets]
    assert len(nets) == 2 * len(zones)
    assert all(n.subnet_of(block) for n in nets)
    assert not any(a.overlaps(b) for i, a in enumerate(nets) for b in nets[:i])
    assert all(n.prefixlen <= 28 for n in nets)
    spare = list(block.subnets(prefixlen_diff=3))[7]
    assert not any(n.overlaps(spare) for n in nets)


# --- properties ----------------------------------------------------------------------------------------------------

CHIPS = st.sampled_from(["h100", "h200", "b200", "a100", "trn1", "trn1n", "trn2"])
POOLS = st.lists(
    st.tuples(CHIPS, st.integers(1, 40), st.sampled_from(["on-demand", "spot"]), st.sampled_from(["fixed", "auto"])),
    min_size=1,
    max_size=6,
)


def drawn(rows: list[tuple[str, int, str, str]]) -> list[dict[str, Any]]:
    return [
        pool(f"p{i}", chip, nodes * (8 if chip[0] in "hab" else 16), capacity={"mode": mode}, scaling=scaling)
        for i, (chip, nodes, mode, scaling) in enumerate(rows)
    ]


@given(POOLS)
@examples(100)
def test_cards_are_whole_nodes_and_efa_is_within_the_limit(rows: list[tuple[str, int, str, str]]) -> None:
    for p in made(drawn(rows)).pools:
        assert p.cards == p.nodes * p.cards_per_node
        assert p.min_nodes <= p.nodes <= p.max_nodes
        assert p.efa_interfaces <= C.machines.entries[p.machine].efa_max
        assert len(p.group_name_prefix) + 26 <= 63
        assert p.shape_key in p.group_name_prefix


@given(POOLS, st.randoms(use_true_random=False))
@examples(60)
def test_order_changes_nothing(rows: list[tuple[str, int, str, str]], random: Any) -> None:
    pools = drawn(rows)
    shuffled = random.sample(pools, len(pools))
    first, second = made(pools), made(shuffled)
    assert {p.name: p for p in first.pools} == {p.name: p for p in second.pools}
    assert first.sites == second.sites
    assert first.relied_on == second.relied_on


@given(POOLS, CHIPS)
@examples(60)
def test_adding_a_pool_or_a_site_changes_no_other(rows: list[tuple[str, int, str, str]], chip: str) -> None:
    pools = drawn(rows)
    before = made(pools)
    more_sites = [site("aaa", "us-west-2", "10.15.0.0/16"), site()]
    after = made([pool("new", chip, 16), *pools], more_sites)
    assert [p for p in after.pools if p.name != "new"] == list(before.pools)
    kept, was = after.site("use2"), before.site("use2")
    assert kept.model_dump(exclude={"addons"}) == was.model_dump(exclude={"addons"})
    assert set(was.addons) <= set(kept.addons) if was.addons else True


@given(st.sampled_from(["h100", "a100", "trn1"]), st.integers(1, 64), st.integers(1, 64))
@examples(60)
def test_scaling_changes_counts_only(chip: str, few: int, many: int) -> None:
    size = 16 if chip == "trn1" else 8
    first, second = one(chip=chip, cards=few * size), one(chip=chip, cards=many * size)
    assert without_counts(first) == without_counts(second)


@pytest.mark.parametrize(
    "change",
    [
        {"chip": "h200"},
        {"machine": "p5.4xlarge"},
        {"zone": "us-east-2b"},
        {"capacity": {"mode": "spot"}},
        {"capacity": {"mode": "reserved", "reservation": "cr-0a1b2c3d"}, "zone": "us-east-2a"},
    ],
)
def test_the_shape_key_tells_shapes_apart(change: dict[str, Any]) -> None:
    assert one(**change).shape_key != one().shape_key


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"team": "a"}},
        {"taints": [{"key": "team"}]},
        {"cards": 64},
        {"runtime": "jax"},
        {"owner": "vision"},
        {"billing": "week"},
        {"scaling": "auto", "max_cards": 32},
    ],
)
def test_the_shape_key_ignores_what_changes_in_place(change: dict[str, Any]) -> None:
    assert one(**change).shape_key == one().shape_key


DEV_KEYS = ["ee6be57e", "e3c2aaa8", "b2753935", "2618013e"]


def test_shape_keys_stay_what_they_were() -> None:
    """A changed key replaces every pool of every fleet: only ever on purpose, with a page that says how to move."""
    assert {e: [p.shape_key for p in env(e).pools] for e in ("dev", "single", "prod")} == {
        "dev": DEV_KEYS,
        "single": ["1ef17969"],
        "prod": ["c8731583", "7f60116e"],
    }


def test_planning_needs_no_pulumi() -> None:
    code = (
        "import sys; from pathlib import Path; from accelerator_fleet import catalog, spec; "
        "from accelerator_fleet.plan import plan; "
        f"plan(spec.load(Path({str(ROOT / 'stacks/fleets/prod.yaml')!r})), catalog.load()); "
        "print([m for m in sys.modules if m.split('.')[0] in ('pulumi', 'lightkube', 'grpc', 'rich')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
