"""What Google's capacity modes ask beyond their fields: machine, zone, slice, times, counts, and how they are named."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from accelerator_fleet.catalog.model import Catalog, GkeCapacityRule
from accelerator_fleet.plan.machine import Shape
from accelerator_fleet.plan.model import DemandPlan, Taint
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.plan.times import FORMAT, moment, times_errors
from accelerator_fleet.spec.model import FleetSpec

_NAME: Final = r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?"
_PROJECT: Final = r"projects/(?P<project>[a-z][a-z0-9-]{4,28}[a-z0-9])/reservations/"
# https://cloud.google.com/compute/docs/naming-resources; another project's, or a block, is named with its project.
RESERVATION: Final = re.compile(
    rf"({_PROJECT})?(?P<name>{_NAME})"
    rf"|{_PROJECT.replace('project>', 'owner>')}(?P<of>{_NAME})/reservationBlocks/{_NAME}"
)
BARE_BLOCK: Final = re.compile(rf"{_NAME}/reservationBlocks/{_NAME}")
RUN: Final = re.compile(r"(?P<number>[1-9][0-9]{0,5})(?P<unit>[smhd])")
SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def reservation_of(said: str, project: str) -> tuple[str, str]:
    """Project and name of the reservation that a value means: a block is a part of its reservation."""
    found = RESERVATION.fullmatch(said)
    if found is None:
        return project, said
    return found["project"] or found["owner"] or project, found["name"] or found["of"]


def named_well(spec: FleetSpec, path: str, said: str, project: str) -> None:
    """Raises FleetError for what is no reservation of Google Cloud."""
    if BARE_BLOCK.fullmatch(said):
        text = f"GKE finds the block '{said}' only with its project; nearest: projects/{project}/reservations/{said}"
        raise spec.error(path, text)
    if re.fullmatch(r"cr-[0-9a-f]{8,17}", said):
        raise spec.error(path, f"'{said}' is AWS' id and no reservation of Google Cloud: its name, as it lists it")
    if not RESERVATION.fullmatch(said):
        text = f"'{said}' is no name and no reservation of Google Cloud: its name, as it lists it"
        raise spec.error(path, text)


def zones_sold(rule: GkeCapacityRule, machine: str) -> tuple[str, ...]:
    """The zones that a mode is limited to for a machine; (): every zone that has it."""
    return () if rule.sold is None else rule.sold[machine]


def check_shape(spec: FleetSpec, index: int, rule: GkeCapacityRule, shape: Shape) -> None:
    """Raises FleetError where the mode makes no such slice, or not so many nodes at once."""
    pool, path = spec.pools[index], f"pools[{index}]"
    mode = pool.capacity.mode
    if shape.topology is None:
        if rule.most_nodes is not None and shape.nodes > rule.most_nodes:
            most = rule.most_nodes * shape.cards_per_node
            text = f"{shape.nodes} nodes are more than one request of mode {mode} takes ({rule.most_nodes})"
            raise spec.error(f"{path}.cards", f"{text}; nearest: {most}, or several pools")
        return
    if (shape.hosts_per_slice or 1) > 1 and rule.slices_of is not None and shape.word not in rule.slices_of:
        text = f"{mode} of {shape.word} is known for slices of one host only, and {shape.topology} has "
        text += f"{shape.hosts_per_slice}; on several hosts: {', '.join(rule.slices_of)}"
        raise spec.error(f"{path}.capacity.mode", text)
    sizes = rule.chips.get(shape.word)
    if sizes is not None and shape.cards not in sizes:
        near = [n for n in sizes if n < shape.cards][-1:] + [n for n in sizes if n > shape.cards][:1]
        text = f"one request of mode {mode} does not take {shape.cards} chips of {shape.word}"
        raise spec.error(f"{path}.cards", f"{text}; nearest: {' or '.join(map(str, near))}")


def demand_of(spec: FleetSpec, index: int, rule: GkeCapacityRule, catalog: Catalog, notes: Notes) -> DemandPlan | None:
    """How nodes come and go; None where they are simply there. Raises FleetError for times that do not fit."""
    if not rule.demand:
        return None
    pool, path = spec.pools[index], f"pools[{index}].capacity"
    mode = pool.capacity.mode
    notes.rely(catalog.gke_capacity, mode, "demand")
    if rule.days is not None:
        _dates(spec, index, rule.days)
    run = None
    if rule.run_seconds is not None:
        run = _run(spec, f"{path}.max_run", pool.capacity.max_run, mode, rule.run_seconds)
        if pool.capacity.max_run is None:
            notes.because(
                f"{path}.max_run", _said(run), f"the longest that {mode} gives; `max_run:` ends nodes earlier"
            )
    why = "the autoscaler makes nodes when jobs ask for them and takes them away after; `cards` is the most"
    notes.because(f"pools[{index}].scaling", "auto", f"{mode}: {why}")
    return DemandPlan(
        flex_start=rule.flex_start,
        queued=rule.queued,
        max_run_seconds=run,
        auto_repair=rule.auto_repair,
        no_reservation=rule.no_reservation,
        taints=tuple(Taint(key=key, value="true", effect="NoSchedule") for key in rule.taints),
    )


def _run(spec: FleetSpec, path: str, said: str | None, mode: str, bounds: tuple[int, int]) -> int:
    low, high = bounds
    if said is None:
        return high
    found = RUN.fullmatch(said)
    if found is None:
        raise spec.error(path, f"'{said}' is no time that a node runs: a number and s, m, h or d, like 6h")
    seconds = int(found["number"]) * SECONDS[found["unit"]]
    if not low <= seconds <= high:
        near = _said(min(max(seconds, low), high))
        text = f"a node of mode {mode} runs {_said(low)} to {_said(high)}, not {said}; nearest: {near}"
        raise spec.error(path, text)
    return seconds


def _said(seconds: int) -> str:
    unit = next(u for u in "dhms" if seconds % SECONDS[u] == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def _dates(spec: FleetSpec, index: int, days: tuple[int, int]) -> None:
    capacity, path = spec.pools[index].capacity, f"pools[{index}].capacity"
    for error in times_errors(spec, path, capacity.starts, capacity.ends):
        raise error
    starts, ends = moment(str(capacity.starts)), moment(str(capacity.ends))
    assert starts is not None
    assert ends is not None
    low, high = (timedelta(days=d) for d in days)
    if not low <= ends - starts <= high:
        near = (starts + min(max(ends - starts, low), high)).strftime(FORMAT)
        text = f"a calendar reservation lasts {days[0]} to {days[1]} days, and this one {_length(ends - starts)}"
        raise spec.error(f"{path}.ends", f"{text}; nearest: {near}")


def _length(time: timedelta) -> str:
    return f"{time.days} days" if time.days > 1 else f"{time.total_seconds() / 3600:g} hours"
