"""Plans a pool: everything that follows from its chip, on the first site of its list that can carry it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accelerator_fleet.catalog.model import CapacityRule, Catalog
from accelerator_fleet.errors import FleetError, raise_all
from accelerator_fleet.plan.capacity import check_capacity
from accelerator_fleet.plan.common import common, labels, pool_bounds, shaped, taints
from accelerator_fleet.plan.existing_pool import existing_pool
from accelerator_fleet.plan.google_pool import google_pool
from accelerator_fleet.plan.google_versions import Pin
from accelerator_fleet.plan.interfaces import interfaces
from accelerator_fleet.plan.machine import choose
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.names import flavor_name, shape_key
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.purchases import purchase_of
from accelerator_fleet.plan.reservations import old_goes_first, ruled_out
from accelerator_fleet.plan.sharing import shared
from accelerator_fleet.plan.times import later, times_errors
from accelerator_fleet.plan.versions import node_version
from accelerator_fleet.plan.zone import choose_zone
from accelerator_fleet.spec.capacity import CapacitySpec
from accelerator_fleet.spec.model import FleetSpec

# Fields by which a site cannot carry a pool that another could.
PLACED_BY: Final = ("chip", "site", "zone", "mode", "reservation")
CLOUDS_OWN: Final = ("Google", "AWS")  # whose chips are in no one's racks but theirs


def plan_pool(
    spec: FleetSpec,
    index: int,
    catalog: Catalog,
    notes: Notes,
    *,
    protect: bool,
    kept: tuple[str, str] | None = None,
    held: tuple[str, str] | None = None,
    version: tuple[str, str] | None = None,
    broken: frozenset[str] = frozenset(),
    pins: Mapping[str, Pin] | None = None,
) -> PoolPlan:
    """`pools[index]`. `broken`: sites with errors of their own. `kept`: the site and zone that it is in, which
    stay while they are among the spec's and can carry it; `held`: the reservation and machine of its nodes;
    `version`: their Kubernetes version and release, where it stays on its site; `pins`: versions of GKE sites.

    Raises the FleetError of its first site, with the sites that could, when none of its sites can carry it.
    """
    pool = spec.pools[index]
    names = list(pool.site)
    if kept and kept[0] in names:
        names.sort(key=lambda n: n != kept[0])
    first: FleetError | None = None
    for name in names:
        stays = kept is not None and kept[0] == name
        tried = Notes()
        try:
            zone, of_nodes = (kept[1], version) if kept and stays else (None, None)
            pin = (pins or {}).get(name)
            out = _on_site(spec, index, name, catalog, tried, protect=protect, zone=zone, version=of_nodes, pin=pin)
            wrong = ruled_out(spec, index, out, kept, held)
            if wrong:
                raise wrong
        except FleetError as e:
            first = first or e
            continue
        if len(names) > 1:
            why = "first of the list" if first is None else f"first that can carry it ({first.message})"
            notes.because(f"pools[{index}].site", name, "the pool is there already" if stays else why)
        notes.take(tried)
        return out.model_copy(update={"flavor": flavor_name(out), "old_first": old_goes_first(out, held)})
    assert first is not None
    raise with_sites_that_can(spec, index, first, catalog, broken)


def with_sites_that_can(
    spec: FleetSpec, index: int, error: FleetError, catalog: Catalog, broken: frozenset[str]
) -> FleetError:
    """The error, with the fleet's other sites that could carry the pool, in their own zone and at their own price."""
    pool = spec.pools[index]
    field = error.path.rpartition(".")[2]
    if field not in PLACED_BY or (field == "zone" and pool.zone is None):
        return error
    others = [s.name for s in spec.sites if s.name not in pool.site and s.name not in broken]
    fits = {name: text for name in others if (text := _fits(spec, index, name, catalog)) is not None}
    if not fits:
        return error
    move = f"fleet move {pool.name} --to {next(iter(fits))} --chip {pool.chip}"
    text = f"{error.message}; sites that can: {', '.join(fits.values())}, by `site` and `zone`; "
    text += f"if {pool.name} is up, put its old line back and see `{move}`"
    return FleetError(error.path, text, file=error.file, line=error.line)


def _fits(spec: FleetSpec, index: int, name: str, catalog: Catalog) -> str | None:
    """How a site could carry the pool: with its zone; of an existing cluster nothing is known but by asking it."""
    pool = spec.pools[index]
    site = next(s for s in spec.sites if s.name == name)
    if site.kind == "existing":
        words = catalog.words.entries
        word = next((w for w, e in words.items() if pool.chip.lower() in (w, *e.aliases)), None)
        if word is None or any(catalog.chips.entries[c].vendor in CLOUDS_OWN for c in words[word].variants.values()):
            return None
        return f"{name} (existing, if it has {word})"
    trial = pool.model_copy(update={"zone": None, "capacity": CapacitySpec(), "site": (name,)})
    pools = (*spec.pools[:index], trial, *spec.pools[index + 1 :])
    try:
        out = _on_site(spec.model_copy(update={"pools": pools}), index, name, catalog, Notes(), protect=False)
    except FleetError:
        return None
    return f"{name} ({out.zone})"


def _on_site(
    spec: FleetSpec,
    index: int,
    name: str,
    catalog: Catalog,
    notes: Notes,
    *,
    protect: bool,
    zone: str | None = None,
    version: tuple[str, str] | None = None,
    pin: Pin | None = None,
) -> PoolPlan:
    site_index = next(i for i, s in enumerate(spec.sites) if s.name == name)
    kind = spec.sites[site_index].kind
    match kind:
        case "gke":
            out = google_pool(
                spec, index, site_index, catalog, notes, protect=protect, kept=zone, version=version, pin=pin
            )
        case "existing":
            out = existing_pool(spec, index, site_index, catalog, notes, protect=protect)
        case _:
            out = _eks_pool(spec, index, site_index, catalog, notes, protect=protect, kept=zone, version=version)
    return shared(spec, index, kind, out, catalog, notes)


def _eks_pool(
    spec: FleetSpec,
    index: int,
    site_index: int,
    catalog: Catalog,
    notes: Notes,
    *,
    protect: bool,
    kept: str | None,
    version: tuple[str, str] | None,
) -> PoolPlan:
    pool, site = spec.pools[index], spec.sites[site_index]
    shape = choose(spec, index, site.kind, catalog, notes)
    machine = catalog.machines.entries[shape.machine]
    rule = check_capacity(spec, index, site.kind, shape.machine, machine, catalog)
    zone = choose_zone(spec, index, site_index, site, shape.machine, catalog, notes, kept)
    times = _times(spec, index, rule)
    said = (f"pools[{index}].version", pool.version) if pool.version else None
    if said is None and site.version:
        said = (f"sites[{site_index}].version", site.version)
    of_nodes = node_version(spec, site, f"pools[{index}].version", said, version, catalog, notes)
    layout = interfaces(machine)
    topology = machine.network_node_layers > 0 and catalog.zones.entries[site.region].instance_topology
    new_group = bool(layout) and rule.new_placement_group
    # Counts, labels and taints are not part of it: they change without anything being replaced.
    key = shape_key(
        {
            "chip": shape.chip,
            "machine": shape.machine,
            "interfaces": [[i.network_card, i.device, i.interface_type] for i in layout],
            "capacity": [pool.capacity.mode, pool.capacity.reservation],
            "placement": [site.name, zone, new_group, pool.capacity.placement_group],
        }
    )
    low, high = pool_bounds(spec, index, shape, rule)
    resource = machine.resource
    image = next(i for i in catalog.images.entries.values() if i.resource == resource)
    return PoolPlan(
        **common(spec, index, site.name, shape.word, protect=protect),
        **shaped(pool, shape, zone, key),
        min_nodes=low,
        max_nodes=high,
        efa_interfaces=sum(i.interface_type != "interface" for i in layout),
        interfaces=layout,
        placement_group=new_group,
        ami_type=image.ami_type,
        labels=labels(pool, shape.word, resource, efa=bool(layout)),
        taints=taints(pool, resource),
        topology=topology,
        existing_placement_group=pool.capacity.placement_group,
        desired_nodes=0 if rule.usage == "capacity-block" else None,
        purchase=purchase_of(pool),
        kubernetes=of_nodes.kubernetes,
        release=of_nodes.release,
        **times,
    )


def _times(spec: FleetSpec, index: int, rule: CapacityRule) -> dict[str, Any]:
    """The dates of a capacity block, and what happens at them; nothing where the capacity has none."""
    capacity = spec.pools[index].capacity
    raise_all(list(times_errors(spec, f"pools[{index}].capacity", capacity.starts, capacity.ends)))
    if capacity.starts is None or capacity.ends is None or rule.start_minutes is None or rule.drain_minutes is None:
        return {}
    return {
        "starts": capacity.starts,
        "ends": capacity.ends,
        "raised_at": later(capacity.starts, rule.start_minutes),
        "drained_at": later(capacity.ends, -rule.drain_minutes),
    }
