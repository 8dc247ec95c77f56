"""Cuts a site's block into stable slots: by zone letter, never by position in a list."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import NetworkPlan, SubnetPlan
from accelerator_fleet.spec.model import SiteSpec

SLOTS: Final = "abcdef"  # eighths 0 to 5 are the private subnets of these zone letters
PUBLIC_SLOT: Final = 6  # the seventh eighth, cut into eight again, holds the public subnets
# The last eighth stays free: for what a later version adds, without moving anything.


def private_block(cidr: str, letter: str) -> str:
    """The private subnet of a zone letter: a /19 of a /16."""
    return str(_eighths(IPv4Network(cidr))[SLOTS.index(letter)])


def public_block(cidr: str, letter: str) -> str:
    """The public subnet of a zone letter: a /22 of a /16."""
    return str(_eighths(_eighths(IPv4Network(cidr))[PUBLIC_SLOT])[SLOTS.index(letter)])


def _eighths(block: IPv4Network) -> list[IPv4Network]:
    return list(block.subnets(prefixlen_diff=3))


def plan_network(site: SiteSpec, zones: tuple[str, ...]) -> NetworkPlan:
    """A site's network. `zones` are all zones of its region, so that a new pool never renumbers.

    Raises FleetError for a zone letter without a slot (no region has one today).
    """
    if site.vpc is not None:
        return NetworkPlan(
            cidr=None, existing_vpc=site.vpc.id, existing_subnets=tuple(sorted(site.vpc.subnets.items()))
        )
    assert site.cidr is not None
    subnets: list[SubnetPlan] = []
    for zone in zones:
        letter = zone[-1]
        if letter not in SLOTS:
            raise FleetError("", f"zone {zone} has no slot in the address plan (letters {SLOTS})")
        subnets.append(
            SubnetPlan(key=f"private-{letter}", zone=zone, cidr=private_block(site.cidr, letter), public=False)
        )
        subnets.append(SubnetPlan(key=f"public-{letter}", zone=zone, cidr=public_block(site.cidr, letter), public=True))
    nat = zones if site.network.nat == "per-zone" else zones[:1]
    return NetworkPlan(cidr=site.cidr, subnets=tuple(subnets), nat_zones=nat)
