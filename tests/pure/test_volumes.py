"""Volumes beside their pools, at sizes that are sold; and pools that move while volumes stay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import FleetPlan, VolumePlan
from accelerator_fleet.plan.move import Wanted, move
from tests.pure.sites import C, examples, made, parsed

# --- volumes -------------------------------------------------------------------------------------------------------


def volume(**more: Any) -> tuple[VolumePlan, FleetPlan]:
    pools: list[dict[str, Any]] = [
        {"name": "a", "site": "use2", "zone": "us-east-2c", "chip": "h100", "cards": 8},
        {"name": "b", "site": "usc1", "chip": "tpu-v5e", "topology": "4x4"},
    ]
    placed = more.pop("placements", None)
    got = made(pools, placed, volumes=[{"name": "shared", **more}], env="prod")
    return got.volumes[0], got


@pytest.mark.parametrize(
    ("said", "service", "sold", "zone"),
    [
        ({"site": "use2", "size": "10TiB"}, "efs", 10240, None),
        ({"site": "use2", "size": "1TiB", "service": "fsx-lustre"}, "fsx-lustre", 1200, "us-east-2c"),
        ({"site": "use2", "size": "1200GiB", "service": "fsx-lustre"}, "fsx-lustre", 1200, "us-east-2c"),
        ({"site": "use2", "size": "1201GiB", "service": "fsx-lustre"}, "fsx-lustre", 2400, "us-east-2c"),
        ({"site": "use2", "size": "10TiB", "service": "fsx-lustre"}, "fsx-lustre", 12000, "us-east-2c"),
        ({"site": "usc1", "size": "100GiB"}, "filestore", 1024, "us-central1-a"),
        ({"site": "usc1", "size": "11TiB"}, "filestore", 12800, "us-central1-a"),
        ({"site": "usc1", "size": "11TiB", "tier": "REGIONAL"}, "filestore", 12800, None),
        ({"site": "usc1", "size": "10TiB", "service": "gke-lustre"}, "gke-lustre", 18000, "us-central1-a"),
    ],
)
def test_sizes_are_rounded_up_to_what_is_sold(said: dict[str, str], service: str, sold: int, zone: str | None) -> None:
    v, got = volume(**said)
    assert (v.service, v.size_gib, v.zone) == (service, sold, zone)
    assert v.protect
    assert v.retain
    (reason,) = [r for r in got.reasons if r.path == "volumes[0].size"]
    assert reason.choice == f"{sold} GiB"
    if sold != v.asked_gib:
        assert f"{v.asked_gib} GiB was asked" in reason.why


def test_volumes_of_dev_are_neither_protected_nor_retained() -> None:
    v = made([], volumes=[{"name": "shared", "site": "use2", "size": "1TiB"}]).volumes[0]
    assert (v.protect, v.retain) == (False, False)


def test_given_file_systems() -> None:
    said = {"name": "data", "site": "byo", "size": "1TiB"}
    nfs = made([], volumes=[{**said, "nfs": {"server": "10.0.0.5", "path": "/export"}}]).volumes[0]
    assert (nfs.service, nfs.nfs_server, nfs.nfs_path, nfs.storage_class) == ("nfs", "10.0.0.5", "/export", None)
    csi = made([], volumes=[{**said, "storage_class": "fast"}]).volumes[0]
    assert (csi.service, csi.storage_class) == ("csi", "fast")


def test_jobs_of_every_pool_of_the_site_claim_its_volumes() -> None:
    _, got = volume(site="use2", size="10TiB")
    assert [p.volume_claims for p in got.pools] == [("shared",), ()]


def test_a_zonal_volume_stays_when_its_pools_have_left() -> None:
    said = {"name": "shared", "site": "use2", "size": "10TiB", "service": "fsx-lustre"}
    placed = {"volumes/shared": ("use2", "us-east-2c")}
    assert made([], placed, volumes=[said]).volumes[0].zone == "us-east-2c"
    assert made([], volumes=[{**said, "zone": "us-east-2b"}]).volumes[0].zone == "us-east-2b"


# --- moving --------------------------------------------------------------------------------------------------------

H100 = {"name": "pretrain", "site": "use2", "zone": "us-east-2c", "chip": "h100", "cards": 16, "owner": "vision"}
SHARED = [{"name": "shared", "site": "use2", "size": "10TiB"}]


def test_a_move_is_two_planned_edits_and_keeps_the_queue() -> None:
    got = move(parsed([H100], volumes=SHARED), C, Wanted("pretrain", "usc1", chip="tpu-v5e"))
    assert got.added == {
        "name": "pretrain-usc1",
        "site": "usc1",
        "chip": "tpu-v5e",
        "cards": 16,
        "owner": "vision",
        "queue": "pretrain",
    }
    assert (got.new.local_queue, got.new.topology_shape, got.new.cards) == ("pretrain", "4x4", 16)
    assert any("does not follow" in m for m in got.mind)
    both = made([H100, got.added], volumes=SHARED)
    assert [p.name for p in both.pools] == ["pretrain", "pretrain-usc1"]
    assert made([got.added], volumes=SHARED).pools[0] == both.pools[1], "the second step leaves the new pool alone"


def test_a_move_to_an_existing_cluster() -> None:
    got = move(parsed([H100]), C, Wanted("pretrain", "byo", chip="mi300x", cards_per_node=8))
    assert (got.new.nodes, got.new.resource) == (2, "amd.com/gpu")


def test_a_move_that_cannot_be_says_why() -> None:
    with pytest.raises(FleetError, match=r"^--cards: no tpu-v5e slice has 24 chips"):
        move(parsed([{**H100, "cards": 24}]), C, Wanted("pretrain", "usc1", chip="tpu-v5e"))
    with pytest.raises(FleetError, match="pretrain is on use2"):
        move(parsed([H100]), C, Wanted("pretrain", "use2"))


@given(st.sampled_from(["filestore", "gke-lustre", "fsx-lustre"]), st.integers(1, 90_000))
@examples(100)
def test_sold_is_never_less_than_asked(service: str, gib: int) -> None:
    site = "use2" if service == "fsx-lustre" else "usc1"
    v, _ = volume(site=site, size=f"{gib}GiB", service=service)
    assert v.size_gib >= v.asked_gib == gib
    assume(service == "fsx-lustre")
    assert v.size_gib == 1200 or v.size_gib % 2400 == 0
