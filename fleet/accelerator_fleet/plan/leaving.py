"""Says what it means that a pool leaves its site, at once or in the two steps of `fleet move`: data stays behind."""

from __future__ import annotations

from collections.abc import Mapping

from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec


def say_moves(spec: FleetSpec, pools: list[PoolPlan], placements: Mapping[str, tuple[str, str]], notes: Notes) -> None:
    """Warns of every pool that is on another site than before, or that takes over the queue of one elsewhere."""
    planned = {p.name: p for p in pools}
    for index, said in enumerate(spec.pools):
        pool, was = planned[said.name], placements.get(said.name)
        if was and was[0] != pool.site:
            step = f"the pool leaves {was[0]}; in one step its old nodes go while new ones come"
            text = "; ".join([f"{step} (`fleet move` makes it two)", *stays(spec, was[0], pool.site)])
            notes.warn(f"pools[{index}].site", pool.site, text)
            continue
        if pool.local_queue == pool.name:
            continue
        old = planned.get(pool.local_queue)
        site = old.site if old else placements.get(pool.local_queue, ("", ""))[0]
        if site and site != pool.site:
            step = f"it takes over the queue of {pool.local_queue}, which {'is on' if old else 'now leaves'} {site}"
            notes.warn(f"pools[{index}].queue", pool.local_queue, "; ".join([step, *stays(spec, site, pool.site)]))


def stays(spec: FleetSpec, old: str, new: str) -> list[str]:
    """What a move does to the data, in at most one sentence."""
    left = [v.name for v in spec.volumes if v.site == old]
    if not left:
        return []
    here = [v.name for v in spec.volumes if v.site == new]
    text = f"the volume {', '.join(left)} stays on {old} and does not follow"
    return [text + (f" ({new} has {', '.join(here)})" if here else f" ({new} has none)")]
