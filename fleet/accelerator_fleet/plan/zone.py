"""Chooses a pool's one zone, says why, and names where the machine is when it is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from accelerator_fleet.catalog.model import AnyRegion, Catalog
from accelerator_fleet.errors import unknown
from accelerator_fleet.plan.machine import CLOUD_OF
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec, SiteSpec

# cloud -> what stands between a region and its zone's letter
SEPARATOR: Final = {"aws": "", "gcp": "-"}


def regions_of(catalog: Catalog, cloud: str = "aws") -> Mapping[str, AnyRegion]:
    """All catalogued regions of a cloud."""
    return catalog.zones.entries if cloud == "aws" else catalog.gke_zones.entries


def zones_of(catalog: Catalog, region: str, cloud: str = "aws") -> tuple[str, ...]:
    """All catalogued zones of a region: us-east-2a, us-central1-a, …"""
    return tuple(f"{region}{SEPARATOR[cloud]}{letter}" for letter in sorted(regions_of(catalog, cloud)[region].zones))


def offering(catalog: Catalog, region: str, machine: str, cloud: str = "aws") -> tuple[str, ...]:
    """Zones of a region that offer a machine, as the cloud lists them."""
    zones = regions_of(catalog, cloud)[region].zones
    return tuple(f"{region}{SEPARATOR[cloud]}{letter}" for letter in sorted(zones) if machine in zones[letter].machines)


def with_family(catalog: Catalog, region: str, family: str, cloud: str = "aws") -> tuple[str, ...]:
    """Zones of a region that have a general-purpose family."""
    zones = regions_of(catalog, cloud)[region].zones
    return tuple(
        f"{region}{SEPARATOR[cloud]}{letter}" for letter in sorted(zones) if family in zones[letter].general_purpose
    )


def choose_zone(
    spec: FleetSpec,
    index: int,
    site_index: int,
    site: SiteSpec,
    machine: str,
    catalog: Catalog,
    notes: Notes,
    kept: str | None = None,
    only: tuple[str, ...] = (),
) -> str:
    """The zone of `pools[index]` on this site: the spec's, else the one it is in (`kept`), else the first.

    `only`: the zones that the capacity mode is limited to for this machine; (): none is.
    Raises FleetError with the zones or regions that would do.
    """
    pool = spec.pools[index]
    path = f"pools[{index}].zone"
    region, cloud = site.region, CLOUD_OF[site.kind]
    offered = _in_mode(spec, index, site, machine, offering(catalog, region, machine, cloud), only)
    reached = _reached(spec, site_index, site, catalog)
    if pool.zone is not None:
        known = zones_of(catalog, region, cloud)
        if pool.zone not in known:
            raise spec.error(path, unknown(f"zone of {region}", pool.zone, known))
        if pool.zone not in offered:
            text = f"{pool.zone} has no {machine}; {_elsewhere(catalog, region, machine, cloud)}"
            held = pool.capacity.reservation
            if held is not None:
                text += (
                    f"; the reservation {held} is for the nodes in {pool.zone}: name another, or leave `capacity` out"
                )
            raise spec.error(path, text)
        if pool.zone not in reached:
            text = f"the VPC of {site.name} has no subnet in {pool.zone}; it has them in: "
            raise spec.error(path, text + ", ".join(reached))
        why = "the spec says so" if pool.capacity.reservation is None else "the spec says so, for its reservation"
        notes.because(path, pool.zone, why)
        return pool.zone
    if not offered:
        raise spec.error(
            f"pools[{index}].site", f"{region} has no {machine}; {_elsewhere(catalog, region, machine, cloud)}"
        )
    usable = [z for z in offered if z in reached]
    if not usable:
        text = f"the VPC of {site.name} has no subnet in a zone with {machine}; give one of: {', '.join(offered)}"
        raise spec.error(f"sites[{site_index}].vpc.subnets", text)
    if kept in usable:
        notes.because(path, str(kept), "the pool is there already; `zone:` moves it")
        return str(kept)
    why = f"first of the zones of {region} that offer {machine} ({', '.join(offered)}); `zone:` fixes another"
    notes.because(path, usable[0], why)
    return usable[0]


def _in_mode(
    spec: FleetSpec, index: int, site: SiteSpec, machine: str, offered: tuple[str, ...], only: tuple[str, ...]
) -> tuple[str, ...]:
    """The zones of `offered` in which the pool's mode has the machine. Raises FleetError where there is none."""
    pool = spec.pools[index]
    if not only or not offered or (pool.zone is not None and pool.zone not in offered):
        return offered  # told as a zone without the machine
    left = tuple(z for z in offered if z in only)
    if not left or (pool.zone is not None and pool.zone not in left):
        where = pool.zone or site.region
        text = f"{where} has no {machine} by {pool.capacity.mode}; zones that have it: {', '.join(only)}"
        raise spec.error(f"pools[{index}].zone" if pool.zone else f"pools[{index}].capacity.mode", text)
    return left


def _reached(spec: FleetSpec, site_index: int, site: SiteSpec, catalog: Catalog) -> tuple[str, ...]:
    """Zones in which the site has a subnet."""
    if site.vpc is None:
        return zones_of(catalog, site.region, CLOUD_OF[site.kind])
    known = zones_of(catalog, site.region)
    for zone in site.vpc.subnets:
        if zone not in known:
            text = unknown(f"zone of {site.region}", zone, known)
            raise spec.error(f"sites[{site_index}].vpc.subnets.{zone}", text)
    return tuple(sorted(site.vpc.subnets))


def _elsewhere(catalog: Catalog, region: str, machine: str, cloud: str) -> str:
    here = offering(catalog, region, machine, cloud)
    if here:
        return f"zones that have it: {', '.join(here)}"
    regions = [r for r in sorted(regions_of(catalog, cloud)) if offering(catalog, r, machine, cloud)]
    return f"regions that have it: {', '.join(regions)}" if regions else "no region of the catalogue has it"
