"""How the nodes of a pool are got: the capacity modes and their fields."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from accelerator_fleet.spec.base import Model

Mode = Literal[
    "on-demand", "spot", "reserved", "capacity-block", "flex-start", "queued-provisioning", "calendar",
    "queued-resource",
]  # fmt: skip


class CapacitySpec(Model):
    """How the nodes are got."""

    mode: Mode = Field(
        default="on-demand",
        description="on-demand, spot, reserved; eks: capacity-block; gke: flex-start, queued-provisioning, calendar, "
        "queued-resource",
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
    valid_until: str | None = Field(
        default=None,
        description='queued-resource: when the request lapses: RFC 3339, quoted, or from its creation: "24h"',
    )
    wait: Literal["accepted", "active"] | None = Field(
        default=None, description="queued-resource: `up` goes on when it is queued (default), or when its nodes run"
    )
    provision: Literal["on-demand", "spot", "reserved"] | None = Field(
        default=None, description="queued-resource: how the chips are bought; default: on-demand, or its reservation"
    )
