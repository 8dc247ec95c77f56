"""Pools that did not come up, in the fleet's words: where, why, and what to try, from the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from accelerator_fleet.catalog.model import AnyMachine, Catalog
    from accelerator_fleet.plan.model import FleetPlan, PoolPlan
    from accelerator_fleet_engine.events import Failure

NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
NODE_POOL: Final = "gcp:container/nodePool:NodePool"
POOLS: Final = (NODE_GROUP, NODE_POOL)
# (what the cloud's words contain, kind of trouble); the first that is found counts.
SIGNS: Final = (
    (r"InsufficientInstanceCapacity|GCE_STOCKOUT|ZONE_RESOURCE_POOL_EXHAUSTED", "stock"),
    (r"VcpuLimitExceeded|MaxSpotInstanceCountExceeded|QUOTA_EXCEEDED|Insufficient regional quota", "quota"),
    (r"ReservationCapacityExceeded|Specified reservation|Reservation does not have enough resources", "reservation"),
    (r"reservation \"[^\"]+\" not found for node pool", "no reservation"),
    (r"failed to join the kubernetes cluster|registered with the cluster", "join"),
    (r"created in the error state", "error"),
    (r"timeout while waiting|has state \"PROVISIONING\"", "slow"),
    (r"exceeded maximum number of attempts|ServiceUnavailable|backendError|rateLimitExceeded|Throttling", "api"),
)
SAID: Final = {
    "stock": "{zone} has no {machine} to give now",
    "quota": "the account's quota in {region} does not allow {nodes} more {machine}",
    "reservation": "reservation {reservation} has no room for {nodes} {machine}",
    "no reservation": "Google finds no reservation {reservation} in {zone} that this project may use now",
    "join": "the nodes run but do not join the cluster",
    "error": "GKE made it in state ERROR and says no reason; in most cases {zone} has no {machine} to give now, or a "
    "quota is reached",
    "slow": "it was not there in time; the cloud goes on with it",
    "api": "the cloud's API did not answer",
}

ELSEWHERE: Final = ("stock", "quota", "reservation", "no reservation", "error")  # another place or way may do


@dataclass(frozen=True)
class Trouble:
    """One pool that failed. `tries`: what to do, the likeliest first."""

    pool: str
    site: str
    zone: str
    kind: str
    why: str
    tries: tuple[str, ...]

    def lines(self) -> list[str]:
        """What a person reads."""
        head = f"pool {self.pool} in {self.zone} (site {self.site}) did not come up: {self.why}"
        return [head, *(f"  {'try' if n == 0 else ' or'}: {t}" for n, t in enumerate(self.tries))]


def kind_of(text: str) -> str | None:
    """The kind of trouble that an error's words tell of."""
    return next((kind for pattern, kind in SIGNS if re.search(pattern, text)), None)


def pool_of(plan: FleetPlan, name: str) -> PoolPlan | None:
    """The pool that a resource of a pool component belongs to: by its name, or that of a slice (`tpu-2`)."""
    by_name = {p.name: p for p in plan.pools}
    head, _, number = name.rpartition("-")
    return by_name.get(name) or (by_name.get(head) if number.isdigit() else None)


def troubles(plan: FleetPlan, catalog: Catalog, failures: Iterable[Failure], again: str) -> list[Trouble]:
    """One for each pool among the failures. `again`: the command that asks once more. Pure."""
    found: dict[str, Trouble] = {}
    for failure in failures:
        pool = pool_of(plan, failure.name) if failure.type in POOLS else None
        if pool is not None:
            kind = kind_of(failure.text) or "unknown"
            found[pool.name] = _trouble(plan, catalog, pool, kind, failure.text, again)
    return list(found.values())


def _trouble(plan: FleetPlan, catalog: Catalog, pool: PoolPlan, kind: str, text: str, again: str) -> Trouble:
    site = plan.site(pool.site)
    words = {"zone": pool.zone, "region": site.region, "machine": pool.machine, "nodes": pool.nodes,
             "reservation": pool.reservation or ""}  # fmt: skip
    why = SAID[kind].format(**words) if kind in SAID else text.strip().splitlines()[-1].strip(" *\t")
    tries = (
        list(_tries(plan, catalog, pool))
        if kind in ("stock", "quota", "reservation", "no reservation", "error")
        else []
    )
    if kind in ("quota", "error"):
        where = "Service Quotas" if site.kind == "eks" else "IAM & Admin › Quotas"
        tries.insert(0 if kind == "quota" else len(tries), f"more quota for {pool.machine} in {site.region} ({where})")
    later = "wait, then" if kind in ("stock", "api", "slow", "error") else "then"
    return Trouble(
        pool.name, pool.site, pool.zone, kind, why, (*tries, f"{later} {again} (it asks for this pool only)")
    )


def _tries(plan: FleetPlan, catalog: Catalog, pool: PoolPlan) -> Iterator[str]:
    """Other zones of the site, other sites, other ways to buy: those that the catalogue knows to be possible."""
    from accelerator_fleet.plan.zone import offering

    site = plan.site(pool.site)
    cloud = "aws" if site.kind == "eks" else "gcp"
    zones = [z for z in offering(catalog, site.region, pool.machine, cloud) if z != pool.zone]
    if zones:
        yield f"zone: {' or '.join(zones)} ({pool.machine} is offered there too)"
    for other in plan.sites:
        if other.name == site.name or other.kind == "existing":
            continue
        there = "aws" if other.kind == "eks" else "gcp"
        for name, machine in _machines(catalog, there):
            offered = (
                offering(catalog, other.region, name, there) if machine.chip == _chip(catalog, pool, cloud) else ()
            )
            if offered:
                yield f"site: {other.name} ({name} in {' or '.join(offered)})"
                break
    modes = _modes(catalog, pool, cloud)
    if modes:
        yield f"capacity: {{mode: {' | '.join(modes)}}}"


def _machines(catalog: Catalog, cloud: str) -> Iterable[tuple[str, AnyMachine]]:
    return (catalog.machines if cloud == "aws" else catalog.gke_machines).entries.items()


def _chip(catalog: Catalog, pool: PoolPlan, cloud: str) -> str:
    return next((m.chip for name, m in _machines(catalog, cloud) if name == pool.machine), pool.chip)


def _modes(catalog: Catalog, pool: PoolPlan, cloud: str) -> list[str]:
    """Ways to buy the pool's machine beside its own; spot last: it can be taken away."""
    known = [m for name, m in _machines(catalog, cloud) if name == pool.machine]
    rules = (catalog.capacity if cloud == "aws" else catalog.gke_capacity).entries
    found = [mode for mode, rule in rules.items() for m in known if rule.sells(pool.machine, m)]
    found = [mode for mode in found if mode != pool.capacity_mode]
    return sorted(
        (m for m in found if m != "on-demand" or pool.capacity_mode != "on-demand"), key=lambda m: m == "spot"
    )
