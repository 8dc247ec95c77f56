"""Chooses a pool's one zone, says why, and names where the machine is when it is not there."""

from __future__ import annotations

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import unknown
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec, SiteSpec


def zones_of(catalog: Catalog, region: str) -> tuple[str, ...]:
    """All zones of a region: us-east-2a, …"""
    return tuple(f"{region}{letter}" for letter in sorted(catalog.zones.entries[region].zones))


def offering(catalog: Catalog, region: str, machine: str) -> tuple[str, ...]:
    """Zones of a region that offer a machine, as AWS lists them."""
    zones = catalog.zones.entries[region].zones
    return tuple(f"{region}{letter}" for letter in sorted(zones) if machine in zones[letter].machines)


def choose_zone(
    spec: FleetSpec, index: int, site_index: int, site: SiteSpec, machine: str, catalog: Catalog, notes: Notes
) -> str:
    """The zone of `pools[index]` on this site. Raises FleetError with the zones or regions that would do."""
    pool = spec.pools[index]
    path = f"pools[{index}].zone"
    region = site.region
    offered = offering(catalog, region, machine)
    reached = _reached(spec, site_index, site, catalog)
    if pool.zone is not None:
        known = zones_of(catalog, region)
        if pool.zone not in known:
            raise spec.error(path, unknown(f"zone of {region}", pool.zone, known))
        if pool.zone not in offered:
            raise spec.error(path, f"{pool.zone} has no {machine}; {_elsewhere(catalog, region, machine)}")
        if pool.zone not in reached:
            text = f"the VPC of {site.name} has no subnet in {pool.zone}; it has them in: "
            raise spec.error(path, text + ", ".join(reached))
        why = "the spec says so" if pool.capacity.reservation is None else "the spec says so, for its reservation"
        notes.because(path, pool.zone, why)
        return pool.zone
    if not offered:
        raise spec.error(f"pools[{index}].site", f"{region} has no {machine}; {_elsewhere(catalog, region, machine)}")
    usable = [z for z in offered if z in reached]
    if not usable:
        text = f"the VPC of {site.name} has no subnet in a zone with {machine}; give one of: {', '.join(offered)}"
        raise spec.error(f"sites[{site_index}].vpc.subnets", text)
    why = f"first of the zones of {region} that offer {machine} ({', '.join(offered)}); `zone:` fixes another"
    notes.because(path, usable[0], why)
    return usable[0]


def _reached(spec: FleetSpec, site_index: int, site: SiteSpec, catalog: Catalog) -> tuple[str, ...]:
    """Zones in which the site has a subnet."""
    if site.vpc is None:
        return zones_of(catalog, site.region)
    known = zones_of(catalog, site.region)
    for zone in site.vpc.subnets:
        if zone not in known:
            text = unknown(f"zone of {site.region}", zone, known)
            raise spec.error(f"sites[{site_index}].vpc.subnets.{zone}", text)
    return tuple(sorted(site.vpc.subnets))


def _elsewhere(catalog: Catalog, region: str, machine: str) -> str:
    here = offering(catalog, region, machine)
    if here:
        return f"zones that have it: {', '.join(here)}"
    regions = [r for r in sorted(catalog.zones.entries) if offering(catalog, r, machine)]
    return f"regions that have it: {', '.join(regions)}" if regions else "no region of the catalogue has it"
