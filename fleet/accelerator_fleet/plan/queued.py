"""Plans a pool as a Cloud TPU queued resource: slices that stand beside a GKE site's cluster, in its network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from accelerator_fleet.catalog.accelerator_types import AcceleratorType, accelerator_types
from accelerator_fleet.catalog.model import AnyMachine, Catalog, GkeCapacityRule
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.capacity import check_capacity
from accelerator_fleet.plan.common import common, shaped
from accelerator_fleet.plan.machine import Shape, choose
from accelerator_fleet.plan.model import PoolPlan, QueuedPlan
from accelerator_fleet.plan.names import cluster_name, shape_key
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.times import moment
from accelerator_fleet.plan.zone import choose_zone
from accelerator_fleet.spec.model import FleetSpec

MODE: Final = "queued-resource"
DURATION: Final = re.compile(r"[1-9][0-9]{0,5}[smhd]")
WHAT: Final = {MODE: "a Cloud TPU queued resource", "nodes": "nodes of the cluster"}


def queued_pool(
    spec: FleetSpec, index: int, site_index: int, catalog: Catalog, notes: Notes, *, protect: bool, kept: str | None
) -> PoolPlan:
    """`pools[index]` beside the cluster of a GKE site. Raises FleetError."""
    pool, site, path = spec.pools[index], spec.sites[site_index], f"pools[{index}]"
    shape = choose(spec, index, site.kind, catalog, notes)
    machine = catalog.gke_machines.entries[shape.machine]
    rule = check_capacity(spec, index, site.kind, shape.machine, machine, catalog)
    assert isinstance(rule, GkeCapacityRule)
    kind = _type_of(spec, path, shape, catalog)
    provision = _provision(spec, index, shape.machine, machine)
    _valid_until(spec, f"{path}.capacity.valid_until", pool.capacity.valid_until)
    runtime = _runtime(spec, f"{path}.version", pool.version, kind, catalog, notes)
    zone = choose_zone(spec, index, site_index, site, shape.machine, catalog, notes, kept)
    notes.rely(catalog.cloud_tpu, shape.word, "prefix")
    notes.rely(catalog.cloud_tpu, shape.word, "per_chip")
    notes.because(f"{path}.capacity.mode", MODE, "beside the cluster: no Kubernetes node, no queue, no `fleet job`")
    # Every field of the request: the API changes none of them, so that another one is another queued resource.
    key = shape_key(
        {
            "chip": shape.chip,
            "machine": shape.machine,
            "topology": shape.topology,
            "capacity": [MODE, provision, pool.capacity.reservation, pool.capacity.valid_until],
            "runtime": runtime,
            "slices": shape.slices,
            "placement": [site.name, zone],
        }
    )
    own = common(spec, index, site.name, shape.word, protect=protect)
    return PoolPlan(
        **{**own, "flavor": "", "local_queue": "", "volume_claims": (), "scaling": "fixed"},
        **shaped(pool, shape, zone, key),
        min_nodes=shape.nodes,
        max_nodes=shape.nodes,
        ami_type="",
        labels=dict(sorted(pool.labels.items())),
        taints=(),
        topology=False,
        queued=QueuedPlan(
            id=f"{cluster_name(spec.fleet, spec.env, site.name)}-{pool.name}-{key}",
            accelerator_type=kind.name,
            runtime_version=runtime,
            provision=provision,
            wait=pool.capacity.wait or "accepted",
            valid_until=pool.capacity.valid_until,
        ),
    )


def _type_of(spec: FleetSpec, path: str, shape: Shape, catalog: Catalog) -> AcceleratorType:
    """The accelerator type of the slice; the API names one topology for each count of chips."""
    types = accelerator_types(catalog, shape.word)
    found = next((t for t in types if t.topology == shape.topology), None)
    if found is None:
        chips = shape.cards // shape.slices
        near = [*[t for t in types if t.chips <= chips][-1:], *[t for t in types if t.chips > chips][:1]]
        text = f"the Cloud TPU API has no accelerator type for {shape.topology} of {shape.word}; nearest: "
        raise spec.error(f"{path}.topology", text + " or ".join(f"{t.topology} ({t.name})" for t in near))
    if found.machine != shape.machine:
        text = f"{found.name} is one {found.machine}; the Cloud TPU API has it on no {shape.machine}; leave this out"
        raise spec.error(f"{path}.machine", text)
    return found


def _provision(spec: FleetSpec, index: int, name: str, machine: AnyMachine) -> str:
    """How the chips are bought. Spot and a reservation exclude each other; reserved needs one, and its zone."""
    pool, path = spec.pools[index], f"pools[{index}].capacity"
    said, reservation = pool.capacity.provision, pool.capacity.reservation
    if reservation is not None:
        if said not in (None, "reserved"):
            text = f"{said} chips come from no reservation; leave it out, or say `provision: reserved`"
            raise spec.error(f"{path}.reservation", text)
        if "/reservationBlocks/" in reservation:
            text = f"a queued resource names a whole reservation; nearest: {reservation.partition('/reservationB')[0]}"
            raise spec.error(f"{path}.reservation", text)
        if pool.zone is None:
            text = "a reservation lies in one zone; say which, as Google's console lists it"
            raise spec.error(f"pools[{index}].zone", text)
        return "reserved"
    if said == "reserved":
        raise spec.error(f"{path}.reservation", "`provision: reserved` names its reservation")
    if said == "spot" and "spot" not in machine.usage:
        raise spec.error(f"{path}.provision", f"{name} is not sold as spot; it is as: {', '.join(machine.usage)}")
    return said or "on-demand"


def _valid_until(spec: FleetSpec, path: str, said: str | None) -> None:
    if said is not None and moment(said) is None and not DURATION.fullmatch(said):
        text = (
            f"'{said}' is no time of UTC in RFC 3339, quoted, like \"2026-12-01T11:30:00Z\", and no duration like 24h"
        )
        raise spec.error(path, text)


def _runtime(
    spec: FleetSpec, path: str, said: str | None, kind: AcceleratorType, catalog: Catalog, notes: Notes
) -> str:
    """The runtime version: the spec's `version`, else the catalogue's."""
    entry = catalog.cloud_tpu.entries[kind.chip]
    if said is None:
        notes.rely(catalog.cloud_tpu, kind.chip, "runtime")
        return entry.runtime
    if said not in entry.runtimes:
        text = f"'{said}' is no runtime version of {kind.name}; known: {', '.join(entry.runtimes)}"
        raise spec.error(path, text)
    return said


def kind_error(
    spec: FleetSpec, index: int, pool: PoolPlan, placements: Mapping[str, tuple[str, str]]
) -> FleetError | None:
    """An error where a pool that is up as nodes would become a queued resource in place, or the other way round."""
    was = placements.get(f"kinds/{pool.name}")
    now = MODE if pool.queued else "nodes"
    if was is None or was[0] == now:
        return None
    mode = spec.pools[index].capacity.mode
    text = f"{pool.name} is up as {WHAT[was[0]]} and does not become {WHAT[now]} in place: one is not replaced by the "
    text += f"other. Put its old line back; in two steps: fleet move {pool.name} --to {pool.site} --mode {mode}"
    return spec.error(f"pools[{index}].capacity.mode", text)
