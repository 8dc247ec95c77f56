"""Puts a plan together: sites, pools, volumes, tags; all mistakes of one spec in one answer."""

from __future__ import annotations

from collections.abc import Mapping

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError, raise_all
from accelerator_fleet.plan.derived import collisions, length_errors
from accelerator_fleet.plan.google_versions import Pin, pin_of
from accelerator_fleet.plan.leaving import say_moves
from accelerator_fleet.plan.model import FleetPlan, PoolPlan, VolumePlan
from accelerator_fleet.plan.names import kept_flavor, name_errors
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.overrides import overridden, prices
from accelerator_fleet.plan.pool import plan_pool, with_sites_that_can
from accelerator_fleet.plan.purchases import applied, drawn, naming_errors, plan_purchases
from accelerator_fleet.plan.queued import kind_error
from accelerator_fleet.plan.quotas import quotas
from accelerator_fleet.plan.reservations import shared
from accelerator_fleet.plan.site import plan_site, site_errors
from accelerator_fleet.plan.teams import plan_teams
from accelerator_fleet.plan.versions import upgrade_errors
from accelerator_fleet.plan.volume import plan_volume
from accelerator_fleet.spec.check import check
from accelerator_fleet.spec.model import FleetSpec

UNPROTECTED_ENV = "dev"
Placements = Mapping[str, tuple[str, str]]


def build(spec: FleetSpec, catalog: Catalog, placements: Placements) -> FleetPlan:
    """See `accelerator_fleet.plan.plan`."""
    check(spec)
    raise_all(naming_errors(spec))
    spec = applied(spec)
    catalog = overridden(spec, catalog)
    errors = name_errors(spec, catalog) + upgrade_errors(spec, catalog, placements)
    broken: set[str] = set()
    for i, site in enumerate(spec.sites):
        found = site_errors(spec, i, catalog)
        if found:
            broken.add(site.name)
        errors += found
    said = spec.defaults.protect
    protect = spec.env != UNPROTECTED_ENV if said is None else said
    notes = Notes()
    pins = _pins(spec, catalog, placements, notes, errors, broken)
    purchases = plan_purchases(spec, catalog, placements, notes, errors)
    pools = _pools(spec, catalog, placements, notes, errors, broken, pins, protect=protect)
    errors += [error for _, error in drawn(spec, pools, purchases)]
    teams = plan_teams(spec, pools, errors) if not errors else ()  # quotas of pools that are wrong say nothing
    pools = [p.model_copy(update={"flavor": kept_flavor(p, placements.get(f"flavors/{p.name}"))}) for p in pools]
    raise_all(_once(errors))
    volumes = _volumes(spec, catalog, placements, notes, errors, pools, protect=protect)
    raise_all(_once(errors))
    say_moves(spec, pools, placements, notes)
    sites = tuple(
        plan_site(
            spec,
            i,
            tuple(p for p in pools if p.site == s.name),
            tuple(v for v in volumes if v.site == s.name),
            catalog,
            notes,
            protect=protect,
            version=placements.get(f"versions/sites/{s.name}"),
            pin=pins.get(s.name),
        )
        for i, s in enumerate(spec.sites)
    )
    # What is derived is looked at last: before, a mistake elsewhere would be told as one of names.
    raise_all([*length_errors(spec, sites, volumes, catalog), *collisions(spec, sites, tuple(pools))])
    return FleetPlan(
        env=spec.env,
        fleet=spec.fleet,
        tags={**spec.tags, "fleet": spec.fleet, "environment": spec.env},
        sites=sites,
        pools=tuple(pools),
        relied_on=notes.facts,
        reasons=notes.reasons,
        volumes=tuple(volumes),
        purchases=tuple(purchases),
        teams=teams,
        prices=prices(spec),
        quotas=quotas(pools, sites, catalog),
        warnings=notes.warnings,
    )


def _pins(
    spec: FleetSpec,
    catalog: Catalog,
    placements: Placements,
    notes: Notes,
    errors: list[FleetError],
    broken: set[str],
) -> dict[str, Pin]:
    """The versions of GKE sites by name; a site whose version is wrong is `broken` from here on."""
    pins: dict[str, Pin] = {}
    for i, site in enumerate(spec.sites):
        if site.kind != "gke" or site.name in broken:
            continue
        try:
            pins[site.name] = pin_of(spec, i, placements, catalog, notes)
        except FleetError as e:
            errors += e.errors
            broken.add(site.name)
    return pins


def _pools(
    spec: FleetSpec,
    catalog: Catalog,
    placements: Placements,
    notes: Notes,
    errors: list[FleetError],
    broken: set[str],
    pins: Mapping[str, Pin],
    *,
    protect: bool,
) -> list[PoolPlan]:
    pools: list[PoolPlan] = []
    for i, pool in enumerate(spec.pools):
        if broken.intersection(pool.site):
            continue  # its errors would only follow from the site's
        try:
            kept, held = placements.get(pool.name), placements.get(f"reservations/{pool.name}")
            was = placements.get(f"versions/{pool.name}")
            up = {"kept": kept, "held": held, "version": was}
            made = plan_pool(spec, i, catalog, notes, protect=protect, **up, broken=frozenset(broken), pins=pins)
            pools.append(made)
            changed = kind_error(spec, i, pools[-1], placements)
            errors += [changed] if changed else []
        except FleetError as e:
            errors += e.errors
    errors += [with_sites_that_can(spec, i, e, catalog, frozenset(broken)) for i, e in shared(spec, pools)]
    return pools


def _volumes(
    spec: FleetSpec,
    catalog: Catalog,
    placements: Placements,
    notes: Notes,
    errors: list[FleetError],
    pools: list[PoolPlan],
    *,
    protect: bool,
) -> list[VolumePlan]:
    volumes: list[VolumePlan] = []
    for i, volume in enumerate(spec.volumes):
        was = placements.get(f"volumes/{volume.name}")
        kept = was[1] if was and was[0] == volume.site else None
        beside = tuple(p for p in pools if p.site == volume.site)
        try:
            volumes.append(plan_volume(spec, i, beside, catalog, notes, protect=protect, kept=kept or None))
        except FleetError as e:
            errors += e.errors
    return volumes


def _once(errors: list[FleetError]) -> list[FleetError]:
    """Without repeats: a default that does not fit is found once per site that takes it."""
    seen: dict[str, FleetError] = {}
    for e in errors:
        seen.setdefault(str(e), e)
    return list(seen.values())
