"""The moment that a program runs as of: what has ended, what has begun; never what is built."""

from __future__ import annotations

from datetime import UTC, datetime

import pulumi

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.times import moment


def read() -> datetime:
    """`fleet:asOf` of the stack's configuration, for a look at another day; else now. Raises FleetError."""
    said = pulumi.Config("fleet").get("asOf")
    if said is None:
        return datetime.now(UTC)
    at = moment(said)
    if at is None:
        text = f"'{said}' is no time of UTC in RFC 3339, like 2026-12-01T11:30:00Z"
        raise FleetError("fleet:asOf", text)
    return at
