"""Moving a pool: what rules a chip out, which reservation lets old nodes go first, and what is said of the data."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet.cli.move import render
from accelerator_fleet.clusters import placements
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.move import Move, Wanted, move
from tests.pure.sites import C, made, parsed, refusal

RESERVED = {"mode": "reserved", "reservation": "cr-0a1b2c3d"}
POOL: dict[str, Any] = {"name": "a", "site": "use2", "zone": "us-east-2c", "chip": "h100", "cards": 16}
VOLUMES = [{"name": "shared", "site": "use2", "size": "10TiB"}]
# As the outputs of a stack say it once the pool is up.
UP = {"a": ("use2", "us-east-2c"), "reservations/a": ("cr-0a1b2c3d", "p5.48xlarge")}


def test_outputs_say_what_a_reservation_holds_once_nodes_came_up() -> None:
    pool = {"site": "use2", "zone": "us-east-2c", "machine": "p5.48xlarge", "reservation": "cr-0a1b2c3d"}
    assert placements({"pools": {"a": {**pool, "nodeGroup": "a-1"}}}).items() >= UP.items()
    assert "reservations/a" not in placements({"pools": {"a": pool}}), "nothing came up: nothing is known"
    assert placements({"pools": {"a": {**pool, "reservation": None, "nodeGroup": "a-1"}}})["reservations/a"][0] == ""


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            {"chip": "trn1n"},
            "pools[0].capacity.reservation: cr-0a1b2c3d holds p5.48xlarge, and trn1n is trn1n.32xlarge",
        ),
        ({"zone": "us-east-2a"}, "pools[0].zone: cr-0a1b2c3d lies in us-east-2c and not in us-east-2a"),
        (
            {"zone": "us-east-2a", "chip": "trn1n"},
            "pools[0].zone: us-east-2a has no trn1n.32xlarge; zones that have it: us-east-2c; the reservation",
        ),
    ],
)
def test_a_reservation_rules_out_what_it_does_not_hold(change: dict[str, str], text: str) -> None:
    said = {**POOL, "capacity": RESERVED, **change}
    assert refusal([said], placements=UP).startswith(text)


def test_a_reservation_rules_out_a_chip_and_the_sites_that_can_are_named() -> None:
    text = refusal([{**POOL, "chip": "h200", "capacity": RESERVED}], placements=UP)
    assert "pools[0].capacity.reservation: cr-0a1b2c3d holds p5.48xlarge, and h200 is p5en.48xlarge" in text
    assert "sites that can: usc1 (us-central1-b), byo (existing, if it has h200)" in text
    assert made([{**POOL, "chip": "h200"}], UP).pools[0].machine == "p5en.48xlarge", "without it nothing rules it out"


def test_an_existing_site_is_named_for_chips_of_no_cloud_and_only_for_them() -> None:
    text = refusal([{**POOL, "chip": "mi300x"}])
    assert "sites that can: byo (existing, if it has mi300x), by `site` and `zone`" in text
    assert "`fleet move a --to byo --chip mi300x`" in text
    assert "byo" not in refusal([{**POOL, "chip": "tpu-v5e"}])


def test_old_nodes_go_first_only_where_both_draw_on_one_reservation() -> None:
    def old_first(up: dict[str, tuple[str, str]] | None, **more: Any) -> bool:
        return made([{**POOL, **more}], up).pools[0].old_first

    assert old_first(UP, capacity=RESERVED)
    assert old_first(None, capacity=RESERVED), "not known: as if both did"
    assert not old_first(UP), "it leaves its reservation"
    bought = {**UP, "reservations/a": ("", "p5.48xlarge")}
    assert not old_first(bought, capacity=RESERVED), "bought nodes make no room in a reservation"
    other = {**UP, "reservations/a": ("cr-0ffffffff", "p5.48xlarge")}
    assert not old_first(other, capacity=RESERVED)


# --- to another site, in two steps ---------------------------------------------------------------------------------


def moved(wanted: Wanted, **more: Any) -> Move:
    return move(parsed([POOL], volumes=VOLUMES, **more), C, wanted)


@pytest.mark.parametrize(
    ("wanted", "entry"),
    [
        (
            Wanted("a", "usc1", chip="tpu-v5e"),
            {"name": "a-usc1", "site": "usc1", "chip": "tpu-v5e", "cards": 16, "queue": "a"},
        ),
        (
            Wanted("a", "byo", chip="mi300x", cards=8, cards_per_node=8),
            {"name": "a-byo", "site": "byo", "chip": "mi300x", "cards": 8, "cards_per_node": 8, "queue": "a"},
        ),
    ],
)
def test_a_move_is_two_edits_and_the_volume_does_not_follow(wanted: Wanted, entry: dict[str, Any]) -> None:
    found = moved(wanted)
    assert found.added == entry
    assert found.removed == "a"
    assert "the volume shared stays on use2 and does not follow" in found.mind[0]
    lines = render(found, "dev").splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("step")] == ["step 1, add beside", "step 2, remove"]


@pytest.mark.parametrize("site", ["usc1", "byo"])
def test_both_steps_say_that_the_volume_does_not_follow(site: str) -> None:
    wanted = {"usc1": Wanted("a", "usc1", chip="tpu-v5e"), "byo": Wanted("a", "byo", "mi300x", 8, cards_per_node=8)}
    entry = moved(wanted[site]).added
    (first,) = made([POOL, entry], UP, volumes=VOLUMES).warnings
    assert first.path == "pools[1].queue"
    assert first.why.startswith("it takes over the queue of a, which is on use2; the volume shared stays on use2")
    (second,) = made([entry], {**UP, entry["name"]: (site, "")}, volumes=VOLUMES).warnings
    assert second.why.startswith("it takes over the queue of a, which now leaves use2; the volume shared stays on use2")
    assert made([entry], {entry["name"]: (site, "")}, volumes=VOLUMES).warnings == (), (
        "it has moved: nothing more to say"
    )


def test_a_zonal_volume_stays_when_the_last_pool_beside_it_leaves() -> None:
    volumes = [{"name": "fast", "site": "use2", "size": "10TiB", "service": "fsx-lustre"}]
    found = move(parsed([POOL], volumes=volumes), C, Wanted("a", "usc1", chip="tpu-v5e"))
    assert "the volume fast stays on use2" in found.mind[0]


def test_what_is_missing_there_is_asked_for_by_the_commands_own_word() -> None:
    with pytest.raises(FleetError, match=r"--cards-per-node: .*; give `--cards-per-node N`"):
        moved(Wanted("a", "byo", chip="mi300x"))
