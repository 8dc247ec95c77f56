"""Plans shared volumes: service and tier, the size as sold, and for zonal services the zone of the pools."""

from __future__ import annotations

from typing import Final

from accelerator_fleet.catalog.model import Catalog, Tier
from accelerator_fleet.errors import unknown
from accelerator_fleet.plan.machine import CLOUD_OF
from accelerator_fleet.plan.model import PoolPlan, VolumePlan
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.zone import zones_of
from accelerator_fleet.spec.kinds import size_gib
from accelerator_fleet.spec.model import FleetSpec, VolumeSpec

USUAL: Final = {"eks": "efs", "gke": "filestore"}


def plan_volume(
    spec: FleetSpec,
    index: int,
    pools: tuple[PoolPlan, ...],
    catalog: Catalog,
    notes: Notes,
    *,
    protect: bool,
    kept: str | None = None,
) -> VolumePlan:
    """`volumes[index]`. `pools` are the ones planned on its site; `kept` is the zone that it is in.

    Raises FleetError with the services, tiers or zones that would do.
    """
    volume, path = spec.volumes[index], f"volumes[{index}]"
    site = next(s for s in spec.sites if s.name == volume.site)
    asked = size_gib(volume.size)
    assert asked is not None
    if site.kind == "existing":
        return _given(volume, asked, spec, path)
    service = _service(spec, path, volume, site.kind, catalog, notes)
    name, tier = _tier(spec, path, volume, service, catalog, notes)
    sold = _sold(spec, f"{path}.size", asked, f"{service} {name}", tier, notes)
    regional = _zone(spec, index, pools, site.region, site.kind, catalog, notes, kept) if tier.zonal else None
    if not tier.zonal and volume.zone is not None:
        raise spec.error(f"{path}.zone", f"{service} {name} is in all zones of the region; leave this out")
    return VolumePlan(
        name=volume.name,
        site=volume.site,
        service=service,  # type: ignore[arg-type]  # checked against the catalogue, whose words are the plan's
        zone=regional,
        size_gib=sold,
        asked_gib=asked,
        tier=None if service == "gke-lustre" else name.partition("/")[0],
        throughput=tier.throughput,
        mount=volume.mount,
        protect=protect,
        retain=protect,
        claim=volume.name,
    )


def _given(volume: VolumeSpec, asked: int, spec: FleetSpec, path: str) -> VolumePlan:
    service = "nfs" if volume.nfs else "csi"
    if volume.service not in (None, service):
        raise spec.error(f"{path}.service", f"the site is an existing cluster and gives {service}; leave this out")
    return VolumePlan(
        name=volume.name,
        site=volume.site,
        service="nfs" if volume.nfs else "csi",
        zone=None,
        size_gib=asked,
        asked_gib=asked,
        mount=volume.mount,
        protect=False,  # nothing of it is ours but the claim
        retain=True,
        claim=volume.name,
        nfs_server=volume.nfs.server if volume.nfs else None,
        nfs_path=volume.nfs.path if volume.nfs else None,
        storage_class=volume.storage_class,
    )


def _service(spec: FleetSpec, path: str, volume: VolumeSpec, kind: str, catalog: Catalog, notes: Notes) -> str:
    fitting = sorted(n for n, s in catalog.volumes.entries.items() if kind in s.kinds)
    if volume.service is None:
        notes.because(f"{path}.service", USUAL[kind], f"the usual one of {kind} sites; they have: {', '.join(fitting)}")
        return USUAL[kind]
    if volume.service not in fitting:
        raise spec.error(f"{path}.service", f"{kind} sites have no {volume.service}; they have: {', '.join(fitting)}")
    return volume.service


def _tier(
    spec: FleetSpec, path: str, volume: VolumeSpec, service: str, catalog: Catalog, notes: Notes
) -> tuple[str, Tier]:
    entry = catalog.volumes.entries[service]
    assert entry.default_tier is not None
    if volume.tier is not None and volume.tier not in entry.tiers:
        raise spec.error(f"{path}.tier", unknown(f"tier of {service}", volume.tier, entry.tiers))
    name = volume.tier or entry.default_tier
    if volume.tier is None and len(entry.tiers) > 1:
        others = ", ".join(t for t in entry.tiers if t != name)
        notes.because(f"{path}.tier", name, f"the usual one of {service}; also: {others}")
    return name, entry.tiers[name]


def _sold(spec: FleetSpec, path: str, asked: int, what: str, tier: Tier, notes: Notes) -> int:
    """The least size that is sold and not below what was asked."""
    if not tier.sizes:
        notes.because(path, f"{asked} GiB", f"{what} grows with what is written: the size is not bought")
        return asked
    for lowest, highest, step in tier.sizes:
        size = max(lowest, lowest + -(-(asked - lowest) // step) * step)
        if highest is None or size <= highest:
            why = "as asked" if size == asked else f"{asked} GiB was asked; {what} is sold as {_ranges(tier)}"
            notes.because(path, f"{size} GiB", why)
            return size
    most = tier.sizes[-1][1]
    raise spec.error(path, f"{what} has at most {most} GiB ({_ranges(tier)})")


def _ranges(tier: Tier) -> str:
    parts = []
    for lowest, highest, step in tier.sizes:
        if lowest == highest:
            parts.append(f"{lowest} GiB")
        else:
            end = f" to {highest}" if highest else " and more"
            parts.append(f"{lowest}{end} GiB in steps of {step}")
    return " or ".join(parts)


def _zone(
    spec: FleetSpec,
    index: int,
    pools: tuple[PoolPlan, ...],
    region: str,
    kind: str,
    catalog: Catalog,
    notes: Notes,
    kept: str | None,
) -> str:
    """The spec's zone, else the one that it is in, else the pools'. Beside pools, where the site has any."""
    volume, path = spec.volumes[index], f"volumes[{index}].zone"
    lie = sorted({p.zone for p in pools})
    where = ", ".join(f"{z} ({', '.join(p.name for p in pools if p.zone == z)})" for z in lie)
    if volume.zone is not None:
        known = zones_of(catalog, region, CLOUD_OF[kind])
        if volume.zone not in known:
            raise spec.error(path, unknown(f"zone of {region}", volume.zone, known))
        # Without any pool the volume stays where it is: its pools may have moved to another site.
        if lie and volume.zone not in lie:
            raise spec.error(path, f"no pool of {volume.site} is in {volume.zone}; they are in: {where}")
        return volume.zone
    if kept is not None:
        notes.because(path, kept, "the volume is there already")
        return kept
    if len(lie) == 1:
        notes.because(path, lie[0], f"where the pools of {volume.site} are")
        return lie[0]
    if not lie:
        raise spec.error(f"volumes[{index}]", f"{volume.site} has no pool to be beside; say `zone`")
    raise spec.error(f"volumes[{index}]", f"pools of {volume.site} are in several zones; say `zone`: {where}")
