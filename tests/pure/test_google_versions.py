"""Versions of GKE sites: pinned from the catalogue when they are made, kept while they are up, changed by the spec."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.google_versions import VERSION
from accelerator_fleet.plan.model import FleetPlan, PoolPlan
from accelerator_fleet.plan.placed import placements
from tests.pure.sites import GKE, C, parsed

NEWEST = C.gke_versions.entries["1.36"].channels["REGULAR"][0]
OTHER = C.gke_versions.entries["1.36"].channels["REGULAR"][1]
OLD = "1.36.2-gke.1096000"


def planned(
    kubernetes: str | None = None,
    version: str | None = None,
    site: dict[str, Any] | None = None,
    up: dict[str, Any] | None = None,
    machine: str = "a3-megagpu-8g",
) -> FleetPlan:
    where = {**GKE, **(site or {}), **({"kubernetes": kubernetes} if kubernetes else {})}
    pool = {"name": "a", "site": "usc1", "chip": "h100", "machine": machine, "cards": 8}
    spec = parsed([{**pool, **({"version": version} if version else {})}], sites=[where])
    return plan(spec, C, placements(up) if up else None)


def up(master: str, pinned: str | None, system: str | None, release: str | None) -> dict[str, Any]:
    """Outputs of a stack: `pinned` None is an older program, which wrote no such thing."""
    site = {"version": master, **({"pinnedVersion": pinned, "systemRelease": system} if pinned else {})}
    pool = {"site": "usc1", "zone": "us-central1-a", "nodePools": ["a-0"], "reservation": None, "machine": "x"}
    return {"sites": {"usc1": site}, "pools": {"a": {**pool, **({"release": release} if pinned else {})}}}


def versions(made: FleetPlan) -> tuple[str | None, str | None, str | None]:
    """Of the control plane, the system nodes, the pool."""
    site = made.sites[0]
    assert site.system_pool is not None
    return site.cluster.version, site.system_pool.release, made.pools[0].release


def refused(**more: Any) -> tuple[str, str]:
    with pytest.raises(FleetError) as found:
        planned(**more)
    return found.value.path, found.value.message


def test_the_catalogue_holds_googles_own_strings() -> None:
    for minor, entry in C.gke_versions.entries.items():
        for channel, row in entry.channels.items():
            assert channel in ("RAPID", "REGULAR", "STABLE", "EXTENDED")
            assert row
            assert all((VERSION.fullmatch(v) or [""])[0].startswith(f"{minor}.") for v in row)


def test_what_is_made_is_pinned_to_its_channel() -> None:
    assert versions(planned()) == (NEWEST, NEWEST, NEWEST)
    rapid = C.gke_versions.entries["1.36"].channels["RAPID"][0]
    assert versions(planned(site={"cluster": {"channel": "RAPID"}})) == (rapid, rapid, rapid)
    relied = {f.subject: f for f in planned().relied_on}
    assert relied["1.36.channels"].date == "2026-10-08"


def test_what_older_programs_made_is_never_pinned_by_a_newer_one() -> None:
    assert versions(planned(up=up(OLD, None, None, None))) == ("1.36", None, None)


def test_what_is_up_stays_when_the_catalogue_moves_on() -> None:
    assert versions(planned(up=up(OLD, OLD, OLD, OLD))) == (OLD, OLD, OLD)


def test_a_version_in_the_spec_pins_and_rolls_the_pool_alone() -> None:
    made = planned(version=OLD, up=up(NEWEST, NEWEST, NEWEST, NEWEST))
    assert versions(made) == (NEWEST, NEWEST, OLD)
    assert made.pools[0].shape_key == planned().pools[0].shape_key


def test_a_sites_version_is_its_control_planes_and_system_nodes() -> None:
    assert versions(planned(site={"version": OTHER}, up=up(NEWEST, NEWEST, NEWEST, NEWEST))) == (OTHER, OTHER, NEWEST)


def test_nodes_follow_a_control_plane_that_is_too_far_ahead() -> None:
    on35 = "1.35.8-gke.1439001"
    one = planned("1.37", site={"cluster": {"channel": "RAPID"}}, up=up(NEWEST, NEWEST, NEWEST, on35))
    assert versions(one) == ("1.37.1-gke.1552000", NEWEST, on35)  # two minor versions are allowed
    two = planned("1.37", site={"cluster": {"channel": "RAPID"}}, up=up(NEWEST, NEWEST, NEWEST, "1.34.11-gke.1102000"))
    assert versions(two)[2] == "1.37.1-gke.1552000"


def test_a_minor_version_that_the_channel_lacks_is_not_pinned() -> None:
    assert versions(planned("1.37")) == ("1.37", None, None)


@pytest.mark.parametrize(
    ("more", "path", "text"),
    [
        (
            {"version": "1.36.4"},
            "pools[0].version",
            "'1.36.4' is no version of GKE, like 1.37.1-gke.1552000; nearest: ",
        ),
        (
            {"version": "1.37.1-gke.1552000"},
            "pools[0].version",
            f"1.37.1-gke.1552000 is newer than the control plane's {NEWEST}, which goes first; nearest: {NEWEST}",
        ),
        (
            {"version": "1.33.13-gke.1647000"},
            "pools[0].version",
            f"1.33.13-gke.1647000 is more than 2 minor versions older than the control plane's {NEWEST}; nearest: "
            "1.34.11-gke.1102000",
        ),
        (
            {"site": {"version": "1.35.8-gke.1439001"}},
            "sites[0].version",
            f"1.35.8-gke.1439001 is of Kubernetes 1.35, and the site says 1.36; nearest: {NEWEST}",
        ),
        (
            {"kubernetes": "1.37", "up": up("1.35.8-gke.1439001", None, None, None)},
            "sites[0].kubernetes",
            "the cluster of usc1 runs 1.35.8-gke.1439001, and GKE goes one minor version at a time, not to 1.37; "
            "nearest: 1.36",
        ),
        (
            {"kubernetes": "1.35", "up": up(NEWEST, NEWEST, NEWEST, NEWEST)},
            "sites[0].kubernetes",
            f"the cluster of usc1 runs {NEWEST}, and GKE takes no cluster back to 1.35; nearest: 1.36",
        ),
    ],
)
def test_what_gke_does_not_do(more: dict[str, Any], path: str, text: str) -> None:
    where, message = refused(site={"kubernetes": "1.36"} if "kubernetes" not in more and "site" not in more else
                             more.pop("site", None), **more)  # fmt: skip
    assert (where, message[: len(text)]) == (path, text)


def test_a_machine_that_refuses_newer_images_is_warned_of() -> None:
    warned = [w.why for w in planned(machine="a3-highgpu-8g").warnings]
    assert len(warned) == 1
    assert "a3-highgpu-8g with images newer than COS 121" in warned[0]
    assert not planned().warnings


def test_what_rolls_is_data() -> None:
    rolls = {e.field for e in C.changes.entries.values() if e.kind == "gke" and e.effect == "roll"}
    assert rolls == {"release", "disk_gib", "ami_type"}
    assert {e.field for e in C.changes.entries.values()} <= set(PoolPlan.model_fields)
