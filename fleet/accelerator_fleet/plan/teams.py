"""Plans teams: quotas by chip or pool become cards in pools, and together never more than there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.team import TeamPlan
from accelerator_fleet.spec.model import FleetSpec

# In this order pools are filled where a chip has several: what is paid for anyway first, what can be taken away last.
ORDER: Final = {"existing": 0, "reserved": 0, "capacity-block": 0, "calendar": 0, "on-demand": 1, "spot": 2}
DEMAND: Final = 3  # nodes that somebody has to find first


def flavour_order(pool: PoolPlan) -> tuple[int, str]:
    """Sorts pools as Kueue tries them; not by their place in the spec, so that reordering there changes nothing."""
    return ORDER.get(pool.capacity_mode, DEMAND), pool.name


def most_cards(pool: PoolPlan) -> int:
    """Cards of a pool when it is at its largest."""
    return pool.max_nodes * pool.cards_per_node


def plan_teams(spec: FleetSpec, pools: Sequence[PoolPlan], errors: list[FleetError]) -> tuple[TeamPlan, ...]:
    """All teams; what is wrong is added to `errors`. `pools`: those whose nodes are a cluster's."""
    queued = sorted((p for p in pools if p.queued is None), key=flavour_order)
    by_key: dict[str, list[PoolPlan]] = {}
    for pool in queued:
        by_key.setdefault(pool.chip, []).append(pool)
    by_key |= {pool.name: [pool] for pool in queued}  # a pool's name goes before a chip's word
    found = [_key_errors(spec, i, by_key) for i in range(len(spec.teams))]
    errors += [e for some in found for e in some]
    if any(found):
        return ()
    owned = _owned(spec, queued, by_key)
    parts = _shared_out(spec, by_key, owned, errors)
    return tuple(
        TeamPlan(
            name=team.name,
            weight=team.weight,
            quotas={p.name: parts.get((team.name, p.name), 0) for p in queued},
            borrow=_limits(team.borrow, by_key),
        )
        for team in sorted(spec.teams, key=lambda t: t.name)
    )


def _key_errors(spec: FleetSpec, index: int, by_key: Mapping[str, object]) -> list[FleetError]:
    team = spec.teams[index]
    named = [("quotas", key) for key in team.quotas] + [("borrow", key) for key in team.borrow]
    return [
        spec.error(f"teams[{index}].{field}.{key}", unknown("chip or pool", key, by_key))
        for field, key in named
        if key not in by_key
    ]


def _owned(spec: FleetSpec, pools: Sequence[PoolPlan], by_key: Mapping[str, list[PoolPlan]]) -> dict[str, str]:
    """Pools that are a team's whole -> that team."""
    said = {p.name for team in spec.teams for key in team.quotas for p in by_key[key]}
    teams = {team.name for team in spec.teams}
    owners = {p.name: p.owner for p in spec.pools}
    found = {p.name: owners.get(p.name) for p in pools if p.name not in said}
    return {pool: owner for pool, owner in found.items() if owner in teams and owner is not None}


def _shared_out(
    spec: FleetSpec, by_key: Mapping[str, list[PoolPlan]], owned: Mapping[str, str], errors: list[FleetError]
) -> dict[tuple[str, str], int]:
    """(team, pool) -> cards. Pools that are named come before chips; teams by name, not by their place in the spec.

    A chip's cards lie in its pools as these are large, in whole nodes; what is over, in the pools' order.
    """
    left = {p.name: most_cards(p) for pools in by_key.values() for p in pools}
    parts = {(team, pool): left[pool] for pool, team in owned.items()}
    left |= dict.fromkeys(owned, 0)
    entries = [(key != by_key[key][0].name, t.name, i, key) for i, t in enumerate(spec.teams) for key in t.quotas]
    before: dict[str, list[str]] = {}
    for _, team, i, key in sorted(entries):
        pools, cards = by_key[key], spec.teams[i].quotas[key]
        free = sum(left[p.name] for p in pools)
        if cards > free:
            total = f"{sum(most_cards(p) for p in pools)} of {' and '.join(p.name for p in pools)}"
            others = f": {', '.join(before[key])}" if key in before else ""
            text = f"{cards} cards are more than the {free} that are left of {total}{others}; nearest: {free}"
            errors.append(spec.error(f"teams[{i}].quotas.{key}", text))
            continue
        for pool, part in _spread(cards, pools, left).items():
            parts[team, pool] = parts.get((team, pool), 0) + part
            left[pool] -= part
        before.setdefault(key, []).append(f"{team} has {cards}")
    return parts


def _spread(cards: int, pools: Sequence[PoolPlan], left: Mapping[str, int]) -> dict[str, int]:
    total = sum(most_cards(p) for p in pools) or 1
    parts = {}
    for p in pools:
        even = cards * most_cards(p) // total // p.cards_per_node * p.cards_per_node
        parts[p.name] = min(even, left[p.name])
    for p in pools:
        parts[p.name] += min(cards - sum(parts.values()), left[p.name] - parts[p.name])
    return parts


def _limits(said: Mapping[str, int], by_key: Mapping[str, list[PoolPlan]]) -> dict[str, int]:
    """Pool -> most cards beside the quota. A pool's own entry goes before its chip's."""
    out: dict[str, int] = {}
    for key, cards in sorted(said.items(), key=lambda item: item[0] == by_key[item[0]][0].name):
        out |= _spread(cards, by_key[key], {p.name: cards for p in by_key[key]})
    return out
