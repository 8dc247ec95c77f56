"""Money is nodes x list price x 730 h, and a price that nobody is sure of is no price."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.cli.plan import render
from accelerator_fleet.cost.list_price import Estimate, pool_month
from accelerator_fleet.plan import FleetPlan, plan


def made(**pool: Any) -> FleetPlan:
    data = {
        "fleet": "accel",
        "tags": {"owner": "a", "cost-center": "b"},
        "sites": [
            {"name": "use2", "kind": "eks", "account": "111122223333", "region": "us-east-2", "cidr": "10.1.0.0/16"}
        ],
        "pools": [{"name": "a", "site": "use2", "zone": "us-east-2a", **pool}],
    }
    return plan(spec.parse(data), catalog.load())


def month(**pool: Any) -> Estimate:
    return pool_month(made(**pool).pools[0], "us-east-2", catalog.load_prices())


def test_sixteen_h100_on_demand() -> None:
    assert month(chip="h100", cards=16).usd == pytest.approx(2 * 55.04 * 730)


def test_spot_and_blocks_have_their_own_prices_and_a_reservation_the_on_demand_one() -> None:
    reserved = {"mode": "reserved", "reservation": "cr-0a1b2c3d"}
    block = {"mode": "capacity-block", "reservation": "cr-0a1b2c3d"}
    block |= {"starts": "2027-01-04T11:30:00Z", "ends": "2027-01-11T11:30:00Z"}
    assert month(chip="h100", cards=8, capacity=reserved).usd == pytest.approx(55.04 * 730)
    assert month(chip="h100", cards=8, capacity={"mode": "spot"}).usd == pytest.approx(11.2543 * 730)
    assert month(chip="h100", cards=8, capacity=block).usd == pytest.approx(34.608 * 730)


def test_an_unverified_or_missing_price_is_a_question_mark_and_the_sum_says_so() -> None:
    assert month(chip="trn2", cards=16).usd is None, "the one figure found for trn2 on demand is unverified"
    text = render(made(chip="trn2", cards=16))
    assert text.splitlines()[6].endswith("?")
    assert "≥" in text
    assert "no price known of a" in text
