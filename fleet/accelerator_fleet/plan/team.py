"""A team in the plan: its cards in every pool. Plain values, read by components, jobs and docs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TeamPlan(BaseModel):
    """Cards of one team. `quotas` names every pool of the fleet's clusters, with 0 where nothing is the team's own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    weight: float
    quotas: dict[str, int]  # pool -> cards
    borrow: dict[str, int]  # pool -> most cards beside the quota; a pool that is not named has no limit
