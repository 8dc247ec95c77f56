"""Times of capacity: RFC 3339 as the spec writes them, and what of them is over at a given moment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from accelerator_fleet.errors import FleetError, raise_all
from accelerator_fleet.plan.model import FleetPlan
from accelerator_fleet.spec.model import FleetSpec

# Whole seconds of UTC: what AWS and Google print, and what an Auto Scaling schedule takes.
TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def moment(text: str) -> datetime | None:
    """The moment that `2026-12-01T11:30:00Z` is; None when it is none."""
    if not TIME.fullmatch(text):
        return None
    try:
        return datetime.strptime(text, FORMAT).replace(tzinfo=UTC)
    except ValueError:  # the 31st of February
        return None


def later(text: str, minutes: int) -> str:
    """Some minutes after a time (before it: a negative number)."""
    at = moment(text)
    assert at is not None
    return (at + timedelta(minutes=minutes)).strftime(FORMAT)


def times_errors(spec: FleetSpec, path: str, starts: str | None, ends: str | None) -> Iterator[FleetError]:
    """What is no time below `path`, and an end that is not after its start."""
    said = {"starts": starts, "ends": ends}
    wrong = [f for f, text in said.items() if text is not None and moment(text) is None]
    for field in wrong:
        text = f"'{said[field]}' is no time of UTC in RFC 3339, quoted, like \"2026-12-01T11:30:00Z\""
        yield spec.error(f"{path}.{field}", text)
    if starts is None or ends is None or wrong:
        return
    if ends <= starts:  # one format, one length: their order is the order of time
        yield spec.error(f"{path}.ends", f"{ends} is not after its start, {starts}")


def over(spec: FleetSpec, plan: FleetPlan, as_of: datetime, *, outputs: bool = True) -> list[FleetError]:
    """Pools whose capacity has ended by `as_of`, and blocks to buy that have. No shape depends on the date: this is
    asked beside the plan, before anything is created. `outputs` False: what is bought already is not known."""
    errors: list[FleetError] = []
    for i, pool in enumerate(spec.pools):
        ends = next((p.ends for p in plan.pools if p.name == pool.name), None) or pool.capacity.ends
        at = moment(ends) if ends else None
        if at is not None and at <= as_of:
            what = pool.capacity.reservation or "its capacity"
            text = f"{what} ended at {ends}, and its machines with it; name another, or take the pool out"
            errors.append(spec.error(f"pools[{i}].capacity.{'ends' if pool.capacity.ends else 'reservation'}", text))
    for i, purchase in enumerate(plan.purchases if outputs else ()):
        at = moment(purchase.ends)
        if at is not None and at <= as_of and not purchase.bought:
            text = f"the block of {purchase.offering} ended at {purchase.ends}: it can no longer be bought"
            errors.append(spec.error(f"purchases[{i}].ends", text))
    return errors


def check_as_of(spec: FleetSpec, plan: FleetPlan, as_of: datetime, *, outputs: bool = True) -> None:
    """Raises what is over at `as_of`; see `over`."""
    raise_all(over(spec, plan, as_of, outputs=outputs))
