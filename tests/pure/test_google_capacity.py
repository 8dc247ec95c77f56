"""Capacity modes on GKE: every mode and field is decided by the data, and what a mode is becomes the plan's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from accelerator_fleet.catalog.model import GkeCapacityRule
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.google_capacity import RESERVATION, reservation_of
from accelerator_fleet.plan.times import check_as_of
from accelerator_fleet.spec.capacity import CapacitySpec, Mode
from tests.pure.sites import GKE, C, made, parsed, refusal

RULES: dict[str, GkeCapacityRule] = C.gke_capacity.entries
MODES = sorted(RULES)
SAID: dict[str, Any] = {
    "reservation": "train-1",
    "placement_group": "policy-1",
    "starts": "2027-01-04T08:00:00Z",
    "ends": "2027-01-18T08:00:00Z",
    "max_run": "6h",
    "valid_until": "2027-01-04T08:00:00Z",
    "wait": "active",
    "provision": "spot",
}
OF_POOL = {"zone": "us-central1-b", "scaling": "fixed", "min_cards": 8}
FIELDS = [f for f in CapacitySpec.model_fields if f != "mode"]
FORBIDDEN = [(m, f) for m in MODES for f in RULES[m].forbids if f in OF_POOL or f in FIELDS]
EAST = {"name": "use5", "kind": "gke", "project": "research-123", "region": "us-east5", "cidr": "10.24.0.0/14"}
SITES: dict[str, Any] = {"sites": [GKE, EAST]}


def pool(mode: str, **more: Any) -> dict[str, Any]:
    """A pool of H200 (or of TPUs, which alone are queued resources) that has everything its mode needs, and no more."""
    needed = {f: SAID[f] for f in RULES[mode].needs if f in SAID}
    zone = {"zone": OF_POOL["zone"]} if "zone" in RULES[mode].needs else {}
    capacity = {"mode": mode, **needed, **more.pop("capacity", {})}
    chip = {"chip": "tpu-v5e", "topology": "2x4"} if mode == "queued-resource" else {"chip": "h200"}
    return {"name": "a", "site": "usc1", **chip, "cards": 16, "capacity": capacity, **zone, **more}


@pytest.mark.parametrize("mode", MODES)
def test_the_data_decides_every_field(mode: str) -> None:
    rule = RULES[mode]
    decided = {*rule.needs, *rule.forbids, *rule.takes}
    assert set(FIELDS) <= decided, f"{mode}: {set(FIELDS) - decided}"
    assert not set(rule.needs) & set(rule.forbids)
    assert mode in {*Mode.__args__}  # type: ignore[attr-defined]


def test_each_refusal_has_its_own_text() -> None:
    texts = [t for rule in RULES.values() for t in rule.forbids.values()]
    texts += [t for rule in RULES.values() for t in rule.needs.values()]
    # The two dates of one mode are one matter; a zone is missed the same way by every reservation.
    assert len(set(texts)) >= len(texts) - len(RULES) - 1


@pytest.mark.parametrize(("mode", "field"), FORBIDDEN)
def test_what_a_mode_excludes_is_refused_with_its_text(mode: str, field: str) -> None:
    if field in OF_POOL:
        auto = {"scaling": "auto"} if field == "min_cards" else {}
        wrong = pool(mode, **auto, **{field: OF_POOL[field]})
        where = field
    else:
        wrong = pool(mode, capacity={field: SAID[field]})
        where = f"capacity.{field}"
    text = refusal([wrong])
    assert f"pools[0].{where}: {RULES[mode].forbids[field]}" in text


@pytest.mark.parametrize(("mode", "field"), [(m, f) for m in MODES for f in RULES[m].needs])
def test_what_a_mode_needs_is_asked_for_with_its_text(mode: str, field: str) -> None:
    short = pool(mode)
    (short if field in OF_POOL else short["capacity"]).pop(field)
    where = field if field in OF_POOL else f"capacity.{field}"
    assert f"pools[0].{where}: {RULES[mode].needs[field]}" in refusal([short])


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_with_what_it_needs_is_a_plan(mode: str) -> None:
    p = made([pool(mode)]).pools[0]
    assert p.capacity_mode == mode
    assert (p.demand is not None) == RULES[mode].demand
    assert p.min_nodes == (0 if RULES[mode].demand else 2)
    assert (p.nodes, p.max_nodes, p.cards) == (2, 2, 16)
    assert p.scaling == ("auto" if RULES[mode].demand else "fixed")


def test_flex_start_nodes_come_for_jobs_without_repair_or_reservation() -> None:
    p = made([pool("flex-start", capacity={"max_run": "6h"})]).pools[0]
    assert p.demand is not None
    assert (p.demand.flex_start, p.demand.queued, p.demand.max_run_seconds) == (True, False, 21600)
    assert (p.demand.auto_repair, p.demand.no_reservation, p.reservation) == (False, True, None)
    assert p.placement_policy  # A3 Ultra may be compact
    assert not p.topology  # Kueue cannot place on nodes that are not there


def test_a_flex_start_node_runs_a_week_when_nothing_is_said() -> None:
    p = made([pool("flex-start")]).pools[0]
    assert p.demand is not None
    assert p.demand.max_run_seconds == 7 * 86400


def test_queued_gpus_take_no_placement_and_carry_gkes_taint() -> None:
    p = made([pool("queued-provisioning")]).pools[0]
    assert p.demand is not None
    assert p.demand.queued
    assert p.demand.flex_start
    assert not p.placement_policy
    assert [(t.key, t.value) for t in p.demand.taints] == [("cloud.google.com/gke-queued", "true")]
    assert p.labels["cloud.google.com/gke-queued"] == "true"
    assert "cloud.google.com/gke-queued" not in {t.key for t in p.taints}  # GKE sets it


@pytest.mark.parametrize(
    ("chip", "machine", "together"),
    [
        ("h100", "a3-highgpu-8g", False),
        ("h100", "a3-megagpu-8g", False),
        ("h200", "a3-ultragpu-8g", True),
        ("b200", "a4-highgpu-8g", True),
    ],
)
def test_flex_start_places_only_some_machines_together(chip: str, machine: str, together: bool) -> None:
    p = made([{**pool("flex-start"), "chip": chip, "machine": machine}]).pools[0]
    assert p.placement_policy is together
    assert made([{**pool("on-demand"), "chip": chip, "machine": machine}]).pools[0].placement_policy


@pytest.mark.parametrize(
    ("mode", "chip", "topology", "zone"),
    [
        ("flex-start", "tpu-v6e", "4x4", "us-east5-a"),
        ("flex-start", "tpu-v6e", "2x4", "us-east5-a"),
        ("flex-start", "tpu-v5p", "2x2x1", "us-east5-a"),
        ("queued-provisioning", "tpu-v6e", "4x4", "us-east5-a"),
        ("calendar", "tpu-v6e", "8x8", "us-east5-a"),
        ("calendar", "tpu-v5p", "4x4x4", "us-east5-a"),
    ],
)
def test_tpus_by_mode(mode: str, chip: str, topology: str, zone: str) -> None:
    dates = {"zone": zone} if mode == "calendar" else {}
    tpu = {**pool(mode), "site": "use5", "chip": chip, "topology": topology, **dates}
    del tpu["cards"]
    p = made([tpu], **SITES).pools[0]
    assert (p.zone, p.scaling, p.min_nodes) == (zone, "auto", 0)
    assert p.placement_policy is ((p.hosts_per_slice or 0) > 1)


def test_a_mode_limited_to_zones_takes_the_first_of_them() -> None:
    p = made([{**pool("flex-start"), "site": "use5", "chip": "tpu-v5p", "cards": 4}], **SITES).pools[0]
    assert p.zone == "us-east5-a"
    plain = made([{**pool("on-demand"), "site": "use5", "chip": "tpu-v5p", "cards": 4}], **SITES).pools[0]
    assert plain.zone in {"us-east5-a", "us-east5-b", "us-east5-c"}


def test_the_life_of_flex_start_nodes_makes_another_pool_and_that_of_queued_ones_does_not() -> None:
    def key(mode: str, run: str) -> str:
        return made([pool(mode, capacity={"max_run": run})]).pools[0].shape_key

    assert key("flex-start", "6h") != key("flex-start", "7h")
    assert key("flex-start", "6h") == key("flex-start", "360m")
    assert key("queued-provisioning", "6h") == key("queued-provisioning", "7h")


@pytest.mark.parametrize(
    ("said", "project", "name"),
    [
        ("train-1", "mine", "train-1"),
        ("projects/other-9/reservations/train-1", "other-9", "train-1"),
        ("projects/other-9/reservations/train-1/reservationBlocks/train-1-block-0002", "other-9", "train-1"),
    ],
)
def test_names_of_reservations(said: str, project: str, name: str) -> None:
    assert RESERVATION.fullmatch(said)
    assert reservation_of(said, "mine") == (project, name)
    p = made([pool("reserved", capacity={"reservation": said})]).pools[0]
    assert p.reservation == said  # as the provider's reservation_affinity takes it


def test_two_blocks_of_one_reservation_stand_side_by_side() -> None:
    whole = "projects/research-123/reservations/r1/reservationBlocks/r1-block-000"
    one, two = ({**pool("reserved", capacity={"reservation": f"{whole}{i}"}), "name": f"p{i}"} for i in (1, 2))
    assert len(made([one, two]).pools) == 2


def test_a_calendar_reservation_that_is_over_is_refused_whatever_the_plan() -> None:
    wanted = parsed([pool("calendar")])
    p = plan(wanted, C)
    assert (p.pools[0].starts, p.pools[0].ends) == (SAID["starts"], SAID["ends"])
    check_as_of(wanted, p, datetime(2027, 1, 18, 7, 59, tzinfo=UTC))
    with pytest.raises(FleetError) as found:
        check_as_of(wanted, p, datetime(2027, 1, 18, 8, 0, tzinfo=UTC))
    assert found.value.path == "pools[0].capacity.ends"
    assert found.value.message.startswith("train-1 ended at 2027-01-18T08:00:00Z, and its machines with it")


def test_old_plans_stay_as_they_were() -> None:
    keys = {m: made([pool(m)]).pools[0].shape_key for m in ("on-demand", "spot", "reserved")}
    assert keys == KEYS


# Of the version before these modes: a pool that is up is not another one now.
KEYS = {"on-demand": "19e53450", "spot": "3ea500c3", "reserved": "76d1b042"}
