"""Figures of one's own: what the spec's `catalog` says stands in the plan, in the money and in what was relied on."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.cost.list_price import pool_month, with_given
from accelerator_fleet.plan import FleetPlan, plan

FLEET = """\
fleet: accel
tags: {owner: a, cost-center: b}
sites:
  - {name: use2, kind: eks, account: "111122223333", region: us-east-2, cidr: 10.16.0.0/16}
pools:
  - {name: a, site: use2, zone: us-east-2c, chip: h100, cards: 16}
"""


def planned(folder: Path, said: str) -> FleetPlan:
    path = folder / "dev.yaml"
    path.write_text(FLEET + said, encoding="utf-8")
    return plan(spec.load(path), catalog.load())


def test_a_price_of_ones_own_is_what_the_month_costs(tmp_path: Path) -> None:
    row = "{machine: p5.48xlarge, region: us-east-2, value: 10, source: our contract, date: 2026-11-30}"
    said = f"catalog:\n  prices:\n    - {row}\n"
    got = planned(tmp_path, said)
    estimate = pool_month(got.pools[0], "us-east-2", with_given(catalog.load_prices(), got.prices))
    assert estimate.usd == 2 * 10 * 730
    assert estimate.price is not None
    assert (estimate.price.source, estimate.price.date) == ("the spec, catalog.prices[0]: our contract", "2026-11-30")


@pytest.mark.parametrize("region", ["us-west-2", "us-east-1"])
def test_a_price_is_of_its_region_only(tmp_path: Path, region: str) -> None:
    said = f"catalog:\n  prices:\n    - {{machine: p5.48xlarge, region: {region}, value: 10, source: x}}\n"
    own = with_given(catalog.load_prices(), planned(tmp_path, said).prices)
    pool = planned(tmp_path, "").pools[0]
    assert pool_month(pool, "us-east-2", own) == pool_month(pool, "us-east-2", catalog.load_prices())


def test_a_figure_of_ones_own_is_named_with_its_source(tmp_path: Path) -> None:
    said = "catalog:\n  machines:\n    p5.48xlarge: {efa_max: 32, source: our measurement, date: 2026-11}\n"
    (fact,) = [f for f in planned(tmp_path, said).relied_on if f.subject == "p5.48xlarge.efa_max"]
    assert (fact.value, fact.source, fact.date) == (
        32,
        "the spec, catalog.machines.p5.48xlarge: our measurement",
        "2026-11",
    )


def test_a_shape_never_depends_on_figures_that_say_the_same(tmp_path: Path) -> None:
    said = "catalog:\n  machines:\n    p5.48xlarge: {efa_max: 32, cards_per_node: 8, source: a data sheet}\n"
    assert planned(tmp_path, said).pools == planned(tmp_path, "").pools
