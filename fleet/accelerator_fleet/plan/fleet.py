"""Puts a plan together: sites, pools, tags; all mistakes of one spec in one answer."""

from __future__ import annotations

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError, raise_all
from accelerator_fleet.plan.model import FleetPlan, PoolPlan
from accelerator_fleet.plan.names import name_errors
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.pool import plan_pool
from accelerator_fleet.plan.site import plan_site, site_errors
from accelerator_fleet.spec.check import check
from accelerator_fleet.spec.model import FleetSpec

UNPROTECTED_ENV = "dev"


def build(spec: FleetSpec, catalog: Catalog) -> FleetPlan:
    """See `accelerator_fleet.plan.plan`."""
    check(spec)
    errors = name_errors(spec, catalog)
    broken: set[str] = set()
    for i, site in enumerate(spec.sites):
        found = site_errors(spec, i, catalog)
        if found:
            broken.add(site.name)
        errors += found
    said = spec.defaults.protect
    protect = spec.env != UNPROTECTED_ENV if said is None else said
    notes = Notes()
    pools: list[PoolPlan] = []
    for i, pool in enumerate(spec.pools):
        if broken.intersection(pool.site):
            continue  # its errors would only follow from the site's
        try:
            pools.append(plan_pool(spec, i, catalog, notes, protect=protect))
        except FleetError as e:
            errors += e.errors
    raise_all(_once(errors))
    sites = tuple(
        plan_site(spec, s, tuple(p for p in pools if p.site == s.name), catalog, notes, protect=protect)
        for s in spec.sites
    )
    return FleetPlan(
        env=spec.env,
        fleet=spec.fleet,
        tags={**spec.tags, "fleet": spec.fleet, "environment": spec.env},
        sites=sites,
        pools=tuple(pools),
        relied_on=notes.facts,
        reasons=notes.reasons,
    )


def _once(errors: list[FleetError]) -> list[FleetError]:
    """Without repeats: a default that does not fit is found once per site that takes it."""
    seen: dict[str, FleetError] = {}
    for e in errors:
        seen.setdefault(str(e), e)
    return list(seen.values())
