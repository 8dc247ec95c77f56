"""A reservation holds machines of one type in one zone: which pools it rules out, and when old nodes go first."""

from __future__ import annotations

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.google_capacity import reservation_of
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.spec.model import FleetSpec

OTHERWISE = "name another reservation, or leave `capacity` out and buy on demand"


def ruled_out(
    spec: FleetSpec, index: int, pool: PoolPlan, kept: tuple[str, str] | None, held: tuple[str, str] | None
) -> FleetError | None:
    """An error where the pool still names the reservation that it came up from, for what that does not hold.

    `kept`: the site and zone that the pool is in; `held`: the reservation and machine of its nodes.
    """
    if kept is None or held is None or pool.reservation is None or held[0] != pool.reservation:
        return None
    capacity = f"pools[{index}].capacity"
    if kept[0] != pool.site:
        text = f"{pool.reservation} is of {kept[0]}, where the pool is, and not of {pool.site}; {OTHERWISE}"
        return spec.error(f"{capacity}.reservation", text)
    if held[1] != pool.machine:
        text = f"{pool.reservation} holds {held[1]}, and {pool.chip} is {pool.machine}; {OTHERWISE}"
        return spec.error(f"{capacity}.reservation", text)
    if kept[1] != pool.zone:
        text = f"{pool.reservation} lies in {kept[1]} and not in {pool.zone}; {OTHERWISE}"
        return spec.error(f"pools[{index}].zone", text)
    return None


def old_goes_first(pool: PoolPlan, held: tuple[str, str] | None) -> bool:
    """Whether both would draw on one reservation, which holds one of them only. Not known: they would."""
    if pool.reservation is None or held is None:
        return pool.reservation is not None
    # A block of Google's is a part of its reservation.
    return reservation_of(held[0], "") == reservation_of(pool.reservation, "")


def shared(spec: FleetSpec, pools: list[PoolPlan]) -> list[tuple[int, FleetError]]:
    """Pools (by their place in the spec) that share a reservation with an earlier one and need another machine."""
    places = {p.name: i for i, p in enumerate(spec.pools)}
    # A name of Google Cloud is one of a project and a zone; an id of AWS is one everywhere.
    projects = {s.name: s.project for s in spec.sites if s.kind == "gke"}
    first: dict[tuple[str, ...], PoolPlan] = {}
    found: list[tuple[int, FleetError]] = []
    for pool in pools:
        if pool.reservation is None:
            continue
        google = pool.site in projects
        whole = reservation_of(pool.reservation, str(projects[pool.site])) if google else ()
        key = (*whole, pool.zone) if google else (pool.reservation,)
        other = first.setdefault(key, pool)
        index = places[pool.name]
        if other.machine != pool.machine:
            text = (
                f"{pool.reservation} is of one machine: pool {other.name} has {other.machine} ({other.chip}) from it, "
            )
            text += f"and {pool.chip} is {pool.machine}; {OTHERWISE}"
            found.append((index, spec.error(f"pools[{index}].capacity.reservation", text)))
        elif other.zone != pool.zone:
            text = f"{pool.reservation} lies in one zone, and pool {other.name} says {other.zone}"
            found.append((index, spec.error(f"pools[{index}].zone", text)))
    return found
