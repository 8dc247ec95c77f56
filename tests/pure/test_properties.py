"""What every plan promises, over random valid specs: sites, pools and volumes of every kind, in any order."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import pytest
from hypothesis import event, given, reject
from hypothesis import strategies as st

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.derived import names
from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan
from accelerator_fleet.plan.slices import chips, forms
from tests.pure.sites import C, examples, made

Entry = dict[str, Any]
# Five sites, each with a zone of its own where a zonal volume can lie without a pool.
SITES: dict[str, tuple[Entry, str]] = {
    "use2": ({"kind": "eks", "account": "111122223333", "region": "us-east-2"}, "us-east-2c"),
    "use1": ({"kind": "eks", "account": "111122223333", "region": "us-east-1"}, "us-east-1a"),
    "usc1": ({"kind": "gke", "project": "research-123", "region": "us-central1"}, "us-central1-a"),
    "euw4": ({"kind": "gke", "project": "research-123", "region": "europe-west4"}, "europe-west4-b"),
    "byo": ({"kind": "existing", "kubeconfig": {"context": "lab"}}, ""),
}
TPUS = [(word, form) for word in ("tpu-v5e", "tpu-v5p", "tpu-v6e") for form in forms(C.tpu.entries[word])]
SCALING: st.SearchStrategy[Entry] = st.sampled_from([{}, {"scaling": "auto"}, {"scaling": "auto", "max_cards": 512}])
MODES: st.SearchStrategy[Entry] = st.sampled_from([{}, {"capacity": {"mode": "spot"}}])


def gpus(words: list[str], per_node: int, sites: list[str]) -> st.SearchStrategy[Entry]:
    """Whole nodes of one machine, fixed or scaled, on demand or spot."""
    entry: st.SearchStrategy[Entry] = st.fixed_dictionaries(
        {
            "chip": st.sampled_from(words),
            "cards": st.integers(1, 20).map(lambda n: n * per_node),
            "site": st.permutations(sites).map(lambda s: s[: 1 + len(s) // 2]),
        }
    )
    return st.tuples(entry, SCALING, MODES).map(lambda parts: {**parts[0], **parts[1], **parts[2]})


def slices(row: tuple[tuple[str, Any], int]) -> Entry:
    """One to four slices of any listed topology, on the machine of that form."""
    (word, form), count = row
    chosen = {"chip": word, "topology": form.topology, "machine": form.machine, "site": ["usc1", "euw4"]}
    return {**chosen, "cards": form.chips * count}


POOL = st.one_of(
    gpus(["h100", "a100", "h200", "b200"], 8, ["use2", "use1", "usc1", "euw4"]),
    gpus(["trn1", "trn1n", "trn2"], 16, ["use2", "use1"]),
    st.tuples(st.sampled_from(TPUS), st.integers(1, 4)).map(slices),
    st.integers(1, 9).map(lambda n: {"chip": "mi300x", "cards": 8 * n, "cards_per_node": 8, "site": ["byo"]}),
)
SERVICES = {"eks": ["efs", "fsx-lustre"], "gke": ["filestore", "gke-lustre"], "existing": ["nfs"]}
VOLUME = st.tuples(st.sampled_from(sorted(SITES)), st.integers(0, 1), st.integers(1, 60_000))
# Names that are made from others: slices number themselves, other chips' flavours carry a digest.
NAMES = st.lists(st.sampled_from(["a", "a-1", "a-2", "a-1-1", "a-3", "b", "b-1", "tpu", "tpu-1"]), unique=True)


def sites(order: list[str], prefix: int = 16) -> list[Entry]:
    """Blocks by name, so that a site keeps its own whatever else there is."""
    out = []
    for name in order:
        said = {"name": name, **SITES[name][0]}
        if said["kind"] != "existing":
            slot = sorted(SITES).index(name)
            said["cidr"] = str(list(IPv4Network("10.0.0.0/8").subnets(new_prefix=max(prefix, 12)))[slot])
        out.append(said)
    return out


def volume(index: int, row: tuple[str, int, int], pools: list[Entry]) -> Entry:
    """A volume of its own mount; a zonal one says the zone of a pool that is there, else the site's usual one."""
    site, which, gib = row
    offered = SERVICES[SITES[site][0]["kind"]]
    service = offered[which % len(offered)]
    entry = {"name": f"v{index}", "site": site, "size": f"{gib}GiB", "mount": f"/data/v{index}"}
    if service == "nfs":
        return {**entry, "nfs": {"server": "10.250.0.1", "path": "/export"}}
    if service == "efs":
        return {**entry, "service": service}
    there = sorted({p.zone for p in made(pools, sites=sites(list(SITES))).pools if p.site == site})
    return {**entry, "service": service, "zone": there[0] if there else SITES[site][1]}


@st.composite
def specs(draw: st.DrawFn, prefix: str = "p") -> tuple[list[Entry], list[Entry]]:
    """Pools that some site carries, and volumes beside them."""
    pools = []
    for i, row in enumerate(draw(st.lists(POOL, min_size=1, max_size=6))):
        entry = {**row, "name": f"{prefix}{i}"}
        try:
            made([entry], sites=sites(list(SITES)))
        except FleetError:  # no region of these has it: another chip, another day
            continue
        pools.append(entry)
    return pools, [volume(i, row, pools) for i, row in enumerate(draw(st.lists(VOLUME, max_size=4)))]


def planned(pools: list[Entry], volumes: list[Entry], order: list[str] | None = None, **more: Any) -> FleetPlan:
    return made(pools, sites=sites(order or list(SITES), **more), volumes=volumes)


def blocks(site: SitePlan) -> list[IPv4Network]:
    """Every address block of a site's own network."""
    if site.network:
        return [IPv4Network(n.cidr) for n in site.network.subnets]
    if site.gke_network:
        n = site.gke_network
        own = [c for c in (n.nodes_cidr, n.pods_cidr, n.services_cidr, n.peering_cidr) if c]
        return [IPv4Network(c) for c in (*own, *(e.cidr for e in n.extra))]
    return []


@given(specs(), st.sampled_from([16, 17, 18]))
@examples(60)
def test_address_blocks_never_overlap_and_lie_in_their_sites(spec: tuple[list[Entry], list[Entry]], size: int) -> None:
    got = planned(*spec, prefix=size)
    every = [n for s in got.sites for n in blocks(s)]
    assert not any(a.overlaps(b) for i, a in enumerate(every) for b in every[:i])
    for s, said in zip(got.sites, sites(list(SITES), size), strict=True):
        assert all(n.subnet_of(IPv4Network(said["cidr"])) for n in blocks(s))
        assert all(n.prefixlen <= (28 if s.kind == "eks" else 29) for n in blocks(s)), "the smallest that is sold"
    event(f"{len(every)} blocks")


@given(specs())
@examples(80)
def test_cards_are_whole_nodes_within_the_limits_of_their_machine(spec: tuple[list[Entry], list[Entry]]) -> None:
    got = planned(*spec)
    for p in got.pools:
        assert p.cards == p.nodes * p.cards_per_node
        assert p.min_nodes <= p.nodes <= p.max_nodes
        kind = got.site(p.site).kind
        if kind == "eks":
            machine = C.machines.entries[p.machine]
            assert p.cards_per_node == machine.cards_per_node
            assert p.efa_interfaces <= machine.efa_max
            assert len(p.interfaces) <= machine.interfaces_max
            assert {i.network_card for i in p.interfaces} <= set(range(machine.network_cards))
            assert p.extra_networks == ()
        elif kind == "gke":
            google = C.gke_machines.entries[p.machine]
            assert p.cards_per_node == google.cards_per_node
            assert len(p.extra_networks) == google.extra_gvnic + google.extra_rdma
            network = got.site(p.site).gke_network
            assert network is not None
            assert set(p.extra_networks) <= {e.name for e in network.extra}
        else:
            assert (p.machine, p.zone) == ("", "")


@given(specs())
@examples(80)
def test_a_slices_hosts_match_its_topology(spec: tuple[list[Entry], list[Entry]]) -> None:
    for p in planned(*spec).pools:
        if p.topology_shape is None:
            assert (p.slices, p.hosts_per_slice) == (1, None)
            continue
        hosts = p.hosts_per_slice
        assert hosts is not None
        assert chips(p.topology_shape) == hosts * p.cards_per_node
        assert (p.nodes, p.cards) == (p.slices * hosts, p.slices * chips(p.topology_shape))
        assert p.placement_policy is (hosts > 1), "one host takes no policy"


@given(specs(), st.randoms(use_true_random=False))
@examples(40)
def test_order_changes_nothing(spec: tuple[list[Entry], list[Entry]], random: Any) -> None:
    pools, volumes = spec
    first = planned(pools, volumes)
    second = planned(*(random.sample(x, len(x)) for x in (pools, volumes, list(SITES))))
    for kind in ("pools", "volumes", "sites"):
        assert {x.name: x for x in getattr(first, kind)} == {x.name: x for x in getattr(second, kind)}


@given(specs(), specs("q"), st.data())
@examples(40)
def test_what_is_added_or_removed_changes_nothing_else(
    spec: tuple[list[Entry], list[Entry]], more: tuple[list[Entry], list[Entry]], data: st.DataObject
) -> None:
    """Also the other way: taking the same entries out again leaves what was there before."""
    pools, volumes = spec
    extra = [{**v, "name": f"w{i}", "mount": f"/more/{i}"} for i, v in enumerate(more[1]) if "zone" not in v]
    used = {s for p in pools for s in p["site"]} | {v["site"] for v in volumes}
    left = [s for s in SITES if s in used or data.draw(st.booleans())] or ["byo"]
    before = planned(pools, volumes, left)
    try:
        after = planned([*more[0], *pools], [*extra, *volumes])
    except FleetError as refused:  # a zonal volume beside no pool, now that its site has pools
        if "no pool of" not in str(refused):
            raise
        reject()
    was = {p.name: p for p in before.pools}
    assert {p.name: shape(p) for p in after.pools if p.name in was} == {n: shape(p) for n, p in was.items()}
    assert {v.name: v for v in after.volumes if v.name[0] == "v"} == {v.name: v for v in before.volumes}
    for site in before.sites:
        now = after.site(site.name)
        assert fixed(site) == fixed(now)
        assert set(site.addons) <= set(now.addons)
        if site.gke_network and now.gke_network:
            assert set(site.gke_network.extra) <= set(now.gke_network.extra)


def shape(pool: PoolPlan) -> PoolPlan:
    """All of a pool but which volumes its jobs see: those are the site's."""
    return pool.model_copy(update={"volume_claims": ()})


def fixed(site: SitePlan) -> dict[str, Any]:
    """All of a site but what its pools and volumes bring: add-ons, further networks, Google's range."""
    out = site.model_dump(exclude={"addons"})
    if out["gke_network"]:
        out["gke_network"] |= {"extra": (), "peering_cidr": None}
    return out


# --- names ---------------------------------------------------------------------------------------------------------


@given(NAMES, st.lists(st.tuples(st.sampled_from(TPUS[:4]), st.integers(1, 4)), min_size=9, max_size=9), st.randoms())
@examples(150)
def test_no_two_names_of_a_plan_are_one(chosen: list[str], rows: list[Any], random: Any) -> None:
    gpu = {"chip": "a100", "cards": 8, "site": ["usc1"]}
    pools = [{**(random.choice([slices(row), gpu])), "name": n} for n, row in zip(chosen, rows, strict=False)]
    every = [p["name"] for p in pools]
    for p, row in zip(pools, rows, strict=False):
        every += [f"{p['name']}-{n}" for n in range(1, row[1] if "topology" in p else 1)]
    twice = {n for n in every if every.count(n) > 1}
    try:
        got = planned(pools, [])
    except FleetError as refused:
        text = str(refused)
        assert twice, text
        assert "nearest free: " in text
        for name in twice:
            assert f"pools[{chosen.index(name)}].name: '{name}' is also the GKE node pool of slice" in text
        return
    assert not twice
    found = [(d.space, d.name) for d in names(got.sites, got.pools)]
    assert len(found) == len(set(found))


def test_the_nearest_free_name_is_free() -> None:
    tpu = {"name": "tpu", "site": "usc1", "chip": "tpu-v5e", "topology": "4x4", "cards": 32}
    other = {"name": "tpu-1", "site": "usc1", "chip": "a100", "cards": 8}
    with pytest.raises(FleetError, match=r"pools\[1\]\.name: 'tpu-1' is also .*; nearest free: tpu-1b"):
        made([tpu, other])
    assert made([tpu, {**other, "name": "tpu-1b"}]).pools[1].name == "tpu-1b"
    assert made([{**tpu, "cards": 16}, other]).cards == 24, "one slice has the pool's name alone"


def test_a_flavour_with_a_digest_is_no_other_pools() -> None:
    trn = {"name": "a", "site": "use2", "chip": "trn1", "cards": 16}
    flavor = made([trn]).pools[0].flavor
    with pytest.raises(FleetError, match="is also the ResourceFlavor of use2 of pool a"):
        made([trn, {"name": flavor, "site": "use2", "chip": "h100", "cards": 8}])


def test_a_site_is_not_called_like_a_network_of_another() -> None:
    usc1, block = {**SITES["usc1"][0], "name": "c"}, "10.24.0.0/14"
    other = {**usc1, "name": "c-gvnic-0", "cidr": block}
    with pytest.raises(FleetError, match=r"sites\[1\]\.name: .* is also the network of the network gvnic-0 of site c"):
        made([{"name": "a", "site": "c", "chip": "h100", "cards": 8}], sites=[{**usc1, "cidr": "10.20.0.0/14"}, other])


def test_a_google_site_has_room_for_a_service_account() -> None:
    long = {**SITES["usc1"][0], "name": "iowa-first-buildi", "cidr": "10.20.0.0/14"}
    with pytest.raises(FleetError, match="-nodes-…' has 31 characters and 30 fit; at most 16 here"):
        made([], sites=[long], fleet="a")
    assert made([], sites=[{**long, "name": long["name"][:16]}], fleet="a").sites[0].name == "iowa-first-build"


# --- flavours that are up ------------------------------------------------------------------------------------------


def test_a_flavour_that_is_up_keeps_its_name_while_it_is_for_the_same() -> None:
    trn = {"name": "a", "site": "use2", "chip": "trn1n", "cards": 16}
    new = made([trn]).pools[0]
    assert new.flavor.startswith("a-")
    # A program from before the digest called every flavour like its pool; its outputs had the shape key only.
    assert made([trn], {"flavors/a": ("a", f"shape:{new.shape_key}")}).pools[0].flavor == "a"
    # Another chip is another flavour, and never the one that is up: Kueue refuses to change it.
    h100 = {**trn, "chip": "h100"}
    assert made([h100]).pools[0].flavor == "a"
    moved = made([h100], {"flavors/a": ("a", f"shape:{new.shape_key}")}).pools[0]
    assert moved.flavor not in {"a", new.flavor}
