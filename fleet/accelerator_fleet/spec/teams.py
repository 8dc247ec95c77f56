"""Teams: who shares the fleet's cards, what is theirs, and how far they may take what others leave idle."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from accelerator_fleet.spec.base import Count, Model

Cards = Annotated[Count, Field(ge=0)]


class TeamSpec(Model):
    """One team: a queue of its own on every site where it has cards or may borrow them.

    Quotas count cards (of a TPU: chips) by the chip's word, over all its pools, or by a pool's name. A pool whose
    `owner` is a team and that no team's quotas name is that team's whole.
    """

    name: str = Field(description="the team's and its queue's name; `owner:` of pools and jobs name it")
    quotas: dict[str, Cards] = Field(default_factory=dict, description="chip or pool -> cards that are the team's own")
    borrow: dict[str, Cards] = Field(
        default_factory=dict,
        description="chip or pool -> most idle cards of others beside the quota; default: no limit",
    )
    weight: float = Field(default=1, gt=0, le=1000, description="share of idle cards where several teams want them")
