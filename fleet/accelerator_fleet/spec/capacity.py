"""How the nodes of a pool are got: the capacity modes and their fields."""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from accelerator_fleet.spec.base import Model

LATER_MODES: Final = ("queued-resource",)
Mode = Literal["on-demand", "spot", "reserved", "capacity-block", "flex-start", "queued-provisioning", "calendar"]


def _mode(value: object) -> object:
    if value in LATER_MODES:
        text = f"'{value}' is not yet available in this version; available: {', '.join(get_args(Mode))}"
        raise PydanticCustomError("fleet", "{text}", {"text": text})
    return value


CapacityMode = Annotated[Mode, BeforeValidator(_mode)]


class CapacitySpec(Model):
    """How the nodes are got."""

    mode: CapacityMode = Field(
        default="on-demand",
        description="on-demand, spot, reserved; eks: capacity-block; gke: flex-start, queued-provisioning, calendar",
    )
    reservation: str | None = Field(
        default=None,
        description="cr-…: the capacity reservation, or the capacity block's; on Google its name, or "
        "projects/P/reservations/N[/reservationBlocks/B]",
    )
    placement_group: str | None = Field(
        default=None, description="the placement group that the reservation was made in"
    )
    starts: str | None = Field(
        default=None,
        description='capacity-block, calendar: when it starts, RFC 3339, quoted: "2026-12-01T11:30:00Z"',
    )
    ends: str | None = Field(default=None, description="capacity-block, calendar: when it ends, RFC 3339, quoted")
    max_run: str | None = Field(
        default=None, description='flex-start, queued-provisioning: longest life of a node: "6h", "7d" (10m to 7d)'
    )
