"""Capacity modes: every mode with every field, dates, purchases, and what is over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from accelerator_fleet import catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.placed import placements
from accelerator_fleet.plan.purchases import NO_MONEY_BACK
from accelerator_fleet.plan.times import over
from accelerator_fleet.spec.capacity import CapacitySpec, Mode
from tests.pure.sites import EKS, made, parsed

C = catalog.load()
STARTS, ENDS = "2027-01-04T11:30:00Z", "2027-01-11T11:30:00Z"
# A value that each field takes somewhere.
VALUES: dict[str, object] = {
    "reservation": "cr-0a1b2c3d4e5f60718",
    "placement_group": "pg-ours",
    "starts": STARTS,
    "ends": ENDS,
    "max_run": "6h",
    "valid_until": ENDS,
    "wait": "active",
    "provision": "spot",
}
FIELDS = [f for f in CapacitySpec.model_fields if f != "mode"]
EKS_MODES = list(C.capacity.entries)


def needed(mode: str) -> dict[str, Any]:
    """What a pool of that mode must say, and nothing more."""
    rule = C.capacity.entries[mode]
    said = {f: VALUES[f] for f in rule.needs if f in VALUES}
    return {
        "name": "a",
        "site": "use2",
        "chip": "h100",
        "cards": 16,
        "zone": "us-east-2a",
        "capacity": {"mode": mode, **said},
    }


def refusal(pool: dict[str, Any], **more: Any) -> FleetError:
    with pytest.raises(FleetError) as found:
        made([pool], sites=[EKS], **more)
    return found.value


@pytest.mark.parametrize("mode", EKS_MODES)
def test_a_mode_with_what_it_needs_plans(mode: str) -> None:
    assert made([needed(mode)]).pools[0].capacity_mode == mode


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("mode", EKS_MODES)
def test_every_field_of_every_mode_is_needed_taken_or_refused_with_its_text(mode: str, field: str) -> None:
    rule = C.capacity.entries[mode]
    pool = needed(mode)
    if field in rule.needs:
        del pool["capacity"][field]
        error = refusal(pool)
        assert (error.path, error.message) == (f"pools[0].capacity.{field}", rule.needs[field])
        return
    pool["capacity"][field] = VALUES[field]
    if field in rule.takes:
        assert made([pool]).pools[0].existing_placement_group == "pg-ours"
        return
    error = refusal(pool)
    assert (error.path, error.message) == (f"pools[0].capacity.{field}", rule.forbids[field])


def test_no_two_refusals_of_a_field_read_alike() -> None:
    for field in FIELDS:
        texts = [r.forbids[field] for r in C.capacity.entries.values() if field in r.forbids]
        assert len(set(texts)) == len(texts), field


@pytest.mark.parametrize("mode", sorted(set(get_args(Mode)) - set(EKS_MODES)))
def test_modes_of_google_are_none_of_aws(mode: str) -> None:
    error = refusal({**needed("on-demand"), "capacity": {"mode": mode}})
    known = f"eks sites have no {mode}; they have: {', '.join(EKS_MODES)}"
    assert error.message.startswith(known) or "not yet available" in error.message


def test_a_needed_zone_is_asked_for() -> None:
    for mode in ("reserved", "capacity-block"):
        pool = needed(mode)
        del pool["zone"]
        assert refusal(pool).message == C.capacity.entries[mode].needs["zone"]


# --- dates ---------------------------------------------------------------------------------------------------------


def test_a_block_is_raised_after_its_start_and_drained_before_its_end() -> None:
    p = made([needed("capacity-block")]).pools[0]
    assert (p.starts, p.raised_at) == (STARTS, "2027-01-04T11:35:00Z")
    assert (p.drained_at, p.ends) == ("2027-01-11T10:50:00Z", ENDS)
    assert (p.desired_nodes, p.min_nodes, p.max_nodes, p.nodes) == (0, 0, 2, 2)


def test_dates_are_no_part_of_the_shape() -> None:
    one, other = needed("capacity-block"), needed("capacity-block")
    other["capacity"]["ends"] = "2027-01-12T11:30:00Z"
    assert made([one]).pools[0].shape_key == made([other]).pools[0].shape_key


def test_what_has_ended_is_told_beside_the_plan() -> None:
    pool = needed("capacity-block")
    spec, plan = parsed([pool]), made([pool])
    assert over(spec, plan, datetime(2027, 1, 11, 11, 29, tzinfo=UTC)) == []
    (error,) = over(spec, plan, datetime(2027, 1, 11, 11, 30, tzinfo=UTC))
    assert str(error) == (
        "pools[0].capacity.ends: cr-0a1b2c3d4e5f60718 ended at 2027-01-11T11:30:00Z, and its machines with it; name "
        "another, or take the pool out"
    )


# --- purchases -----------------------------------------------------------------------------------------------------

BLOCK = {
    "name": "jan", "site": "use2", "offering": "cb-0e3bedded00000424", "machine": "p5.48xlarge", "zone": "us-east-2b",
    "nodes": 4, "starts": STARTS, "ends": ENDS, "price": 84000,
}  # fmt: skip
DRAWS = {"name": "a", "site": "use2", "chip": "h100", "cards": 32, "capacity": {"mode": "capacity-block"}}
DRAWS["capacity"] |= {"reservation": "purchase/jan"}  # type: ignore[operator]
BOUGHT = {
    "purchases/jan": ("cb-0e3bedded00000424", "cr-0fee"),
    "purchases/jan/shape": ("p5.48xlarge", "us-east-2b"),
    "purchases/jan/times": (STARTS, ENDS),
    "purchases/jan/place": ("4", "use2"),
}


def test_a_pool_takes_zone_and_dates_of_the_block_that_it_draws_on() -> None:
    plan = made([DRAWS], purchases=[BLOCK])
    p = plan.pools[0]
    assert (p.purchase, p.reservation, p.zone, p.raised_at) == (
        "jan", "purchase/jan", "us-east-2b", "2027-01-04T11:35:00Z",
    )  # fmt: skip
    assert plan.purchases_of("use2")[0].offering == "cb-0e3bedded00000424"


def test_the_plan_says_that_money_does_not_come_back() -> None:
    (before,) = made([], purchases=[BLOCK]).warnings
    assert before.why == (
        "`up` buys cb-0e3bedded00000424, once: 4 p5.48xlarge in us-east-2b, 2027-01-04T11:30:00Z to "
        f"2027-01-11T11:30:00Z, 84,000 USD up front. {NO_MONEY_BACK}"
    )
    (after,) = made([], BOUGHT, purchases=[BLOCK]).warnings
    assert after.why.startswith("is bought: cr-0fee (4 p5.48xlarge in us-east-2b,")
    (gone,) = made([], BOUGHT).warnings
    assert gone.why.startswith("jan (cr-0fee) is bought and no longer in the spec; it stays until it ends.")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("offering", "cb-0e3bedded00000425"),
        ("machine", "p5e.48xlarge"),
        ("zone", "us-east-2a"),
        ("nodes", 8),
        ("starts", "2027-01-03T11:30:00Z"),
        ("ends", "2027-01-10T11:30:00Z"),
    ],
)
def test_what_is_bought_never_changes(field: str, value: object) -> None:
    with pytest.raises(FleetError) as found:
        made([], BOUGHT, purchases=[{**BLOCK, field: value}])
    assert found.value.path == f"purchases[0].{field}"
    assert found.value.message == (
        f"jan is bought (cr-0fee) with {BLOCK[field]}, not {value}; a purchase never changes, as changing it would buy "
        "again: put it back, and give another block an entry of its own"
    )


def test_an_extension_moves_the_end_of_what_is_bought() -> None:
    plan = made([DRAWS], BOUGHT, purchases=[{**BLOCK, "ends": "2027-01-12T11:30:00Z"}])
    assert plan.pools[0].drained_at == "2027-01-12T10:50:00Z"


def test_a_block_that_is_over_is_not_bought() -> None:
    spec, late = parsed([], purchases=[BLOCK]), datetime(2027, 2, 1, tzinfo=UTC)
    (error,) = over(spec, made([], purchases=[BLOCK]), late)
    assert str(error).startswith("purchases[0].ends: the block of cb-0e3bedded00000424 ended at 2027-01-11T11:30:00Z")
    assert over(spec, made([], BOUGHT, purchases=[BLOCK]), late) == [], "what is bought may stay where it stands"
    assert over(spec, made([], purchases=[BLOCK]), late, outputs=False) == [], "nobody knows whether it is bought"


def test_outputs_say_what_was_bought_with_the_engines_numbers() -> None:
    one = {"id": "cr-0fee", "offering": BLOCK["offering"], "site": "use2", "machine": "p5.48xlarge", "nodes": 4.0}
    out = placements({"purchases": {"jan": {**one, "zone": "us-east-2b", "starts": STARTS, "ends": ENDS}}})
    assert out == BOUGHT
