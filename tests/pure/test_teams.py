"""Teams' quotas: cards by pool, together never more than there are, whoever stands first in the spec."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import FleetPlan
from tests.pure.sites import examples

HEAD = """
fleet: accel
tags: {owner: ml-platform, cost-center: research}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
"""
RESERVED = "capacity: {mode: reserved, reservation: cr-0a1b2c3d4e5f60718}"
POOLS = f"""
pools:
  - {{name: own, site: use2, zone: us-east-2a, chip: h100, cards: 128, {RESERVED}}}
  - {{name: more, site: use2, zone: us-east-2c, chip: h100, cards: 64}}
  - {{name: trn, site: use2, zone: us-east-2c, chip: trn1n, cards: 32, owner: vision}}
"""
CATALOG = catalog.load()


def planned(folder: Path, teams: str, pools: str = POOLS) -> FleetPlan:
    path = folder / "shared.yaml"
    path.write_text(f"{HEAD}{pools}\nteams: {teams}\n")
    return plan(spec.load(path), CATALOG)


def test_a_chips_cards_lie_in_its_pools_as_these_are_large(tmp_path: Path) -> None:
    nlp, vision = planned(tmp_path, "[{name: vision, quotas: {h100: 96}}, {name: nlp, quotas: {h100: 96}}]").teams
    assert nlp.quotas == {"own": 64, "more": 32, "trn": 0}
    assert vision.quotas == {"own": 64, "more": 32, "trn": 32}  # trn is its owner's whole


def test_a_pools_name_goes_before_its_chip(tmp_path: Path) -> None:
    nlp, vision = planned(tmp_path, "[{name: nlp, quotas: {h100: 64}}, {name: vision, quotas: {own: 128}}]").teams
    assert nlp.quotas["own"] == 0
    assert nlp.quotas["more"] == 64
    assert vision.quotas["own"] == 128


def test_a_limit_of_borrowing_and_a_weight(tmp_path: Path) -> None:
    (nlp,) = planned(tmp_path, "[{name: nlp, quotas: {own: 8}, borrow: {own: 16, trn: 0}, weight: 2}]").teams
    assert nlp.borrow == {"own": 16, "trn": 0}
    assert nlp.weight == 2


@examples(25)
@given(st.lists(st.integers(0, 192), min_size=2, max_size=4), st.randoms())
def test_no_pool_is_given_away_twice_and_the_order_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, cards: list[int], chance: object
) -> None:
    folder = tmp_path_factory.mktemp("teams")
    rows = [f"{{name: team-{i}, quotas: {{h100: {c}}}}}" for i, c in enumerate(cards)]
    if sum(cards) > 192:
        with pytest.raises(FleetError, match="nearest: "):
            planned(folder, f"[{', '.join(rows)}]")
        return
    made = planned(folder, f"[{', '.join(rows)}]")
    for pool in made.pools:
        assert sum(t.quotas[pool.name] for t in made.teams) <= pool.cards
    assert [t.quotas["own"] + t.quotas["more"] for t in made.teams] == cards
    chance.shuffle(rows)  # type: ignore[attr-defined]
    assert planned(folder, f"[{', '.join(rows)}]").teams == made.teams


def test_jobset_comes_with_teams_or_when_it_is_said_and_not_else(tmp_path: Path) -> None:
    def addons(made: FleetPlan) -> set[str]:
        return {a.name for a in made.sites[0].addons if a.state == "managed"}

    assert "jobset" in addons(planned(tmp_path, "[{name: nlp}]"))
    assert "jobset" not in addons(planned(tmp_path, "[]"))
    said = HEAD.replace("cidr: 10.16.0.0/16}", "cidr: 10.16.0.0/16, addons: {jobset: {state: managed}}}")
    (tmp_path / "said.yaml").write_text(said + POOLS)
    assert "jobset" in addons(plan(spec.load(tmp_path / "said.yaml"), CATALOG))
