"""What a capacity block is at a moment: EC2 ends its instances from 30 minutes before its end, and EKS drains its
group 40 minutes before (docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html)."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..daemon.store import Resource
from .scope import Scope

DRAIN: Final = 40 * 60.0
TERMINATE: Final = 30 * 60.0


def seconds(text: str) -> float:
    """A time as AWS prints it, in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def state(scope: Scope, block: Resource) -> str:
    """scheduled, active or expired."""
    now = scope.world.clock.now()
    if now < seconds(block.outputs["startDate"]):
        return "scheduled"
    return "active" if now < seconds(block.outputs["endDate"]) else "expired"


def usable(scope: Scope, block: Resource) -> bool:
    """Whether an instance starts in it: from its start until its instances begin to end."""
    return state(scope, block) == "active" and scope.world.clock.now() < seconds(block.outputs["endDate"]) - TERMINATE


def moments(block: Resource) -> list[float]:
    """When something happens to a group on it: its start, the drain, the end of what is left."""
    start, end = seconds(block.outputs["startDate"]), seconds(block.outputs["endDate"])
    return [start, end - DRAIN, end - TERMINATE]
