"""Versions of nodes on EKS: pinned, kept, and what an upgrade recycles."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet import catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import FleetPlan, PoolPlan
from accelerator_fleet.plan.placed import placements
from accelerator_fleet.plan.versions import RELEASE
from tests.pure.sites import EKS, made

C = catalog.load()
POOL = {"name": "a", "site": "use2", "chip": "h100", "cards": 16}


def planned(was: dict[str, Any] | None = None, kubernetes: str = "1.36", version: str = "", **more: Any) -> FleetPlan:
    """`was`: the stack's outputs; `version` and `more`: of the pool."""
    site = {**EKS, "kubernetes": kubernetes}
    pool = {**POOL, **more, **({"version": version} if version else {})}
    return made([pool], placements(was or {}), sites=[site])


def up(kubernetes: str | None, release: str | None, **pool: Any) -> dict[str, Any]:
    """Outputs of a stack whose pool and system nodes run these."""
    site = {"kind": "eks", "version": kubernetes, "systemRelease": release}
    one = {"site": "use2", "zone": "us-east-2a", "nodeGroup": "a-1", "kubernetes": kubernetes, "release": release}
    return {"sites": {"use2": site}, "pools": {"a": {**one, **pool}}}


def test_the_catalogues_releases_are_of_their_version() -> None:
    for version, entry in C.eks_versions.entries.items():
        assert entry.release == entry.releases[-1]
        for release in entry.releases:
            found = RELEASE.fullmatch(release)
            assert found is not None
            assert found.group(1) == version


def test_new_nodes_get_the_newest_release_that_the_catalogue_knows() -> None:
    plan = planned()
    assert (plan.pools[0].kubernetes, plan.pools[0].release) == ("1.36", "1.36.3-20260903")
    system = plan.sites[0].system_pool
    assert system is not None
    assert (system.kubernetes, system.release) == ("1.36", "1.36.3-20260903")
    fact = next(f for f in plan.relied_on if f.subject == "1.36.release")
    assert (fact.value, fact.status, fact.date) == ("1.36.3-20260903", "verified", "2026-09-03")


def test_nodes_that_are_up_keep_their_release_whatever_a_newer_catalogue_says() -> None:
    plan = planned(up("1.36", "1.36.2-20260714"))
    assert plan.pools[0].release == "1.36.2-20260714"
    system = plan.sites[0].system_pool
    assert system is not None
    assert system.release == "1.36.2-20260714"
    why = next(r.why for r in plan.reasons if r.path == "pools[0].version")
    assert why == "nodes are up with it; `version:` recycles them; the newest known here is 1.36.3-20260903"


def test_nodes_of_an_earlier_program_stay_as_they_were() -> None:
    old = up("1.36", None)
    del old["pools"]["a"]["kubernetes"], old["pools"]["a"]["release"], old["sites"]["use2"]["systemRelease"]
    p = planned(old).pools[0]
    assert (p.kubernetes, p.release) == ("1.36", None)


def test_an_upgrade_of_the_cluster_takes_its_nodes_along() -> None:
    p = planned(up("1.35", "1.35.6-20260714")).pools[0]
    assert (p.kubernetes, p.release) == ("1.36", "1.36.3-20260903")


def test_a_pool_is_pinned_by_itself_or_by_its_site() -> None:
    assert planned(version="1.36.2-20260625").pools[0].release == "1.36.2-20260625"
    plan = made([POOL], sites=[{**EKS, "version": "1.36.2-20260618"}])
    assert plan.pools[0].release == "1.36.2-20260618"


def test_nodes_may_stay_behind_their_cluster_and_the_plan_says_what_it_means() -> None:
    plan = planned(up("1.35", "1.35.6-20260714"), version="1.35.6-20260714")
    assert (plan.pools[0].kubernetes, plan.pools[0].release) == ("1.35", "1.35.6-20260714")
    (warning,) = plan.warnings
    assert warning.why == (
        "nodes that are up stay on 1.35; EKS makes no new ones older than the cluster's 1.36, and no further upgrade "
        "of the cluster until they follow"
    )


@pytest.mark.parametrize(
    ("was", "wanted", "text"),
    [
        ("1.34", "1.36", "runs 1.34, and EKS goes one minor version at a time, not to 1.36; nearest: 1.35"),
        ("1.36", "1.35", "runs 1.36, and EKS takes no cluster back to 1.35; nearest: 1.36"),
    ],
)
def test_steps_that_eks_does_not_take(was: str, wanted: str, text: str) -> None:
    with pytest.raises(FleetError) as found:
        planned(up(was, None), wanted)
    assert (found.value.path, found.value.message) == ("sites[0].kubernetes", f"the cluster of use2 {text}")


def test_an_unknown_version_is_pinned_to_nothing() -> None:
    p = planned(kubernetes="1.38").pools[0]
    assert (p.kubernetes, p.release) == ("1.38", None)


# --- what a change does --------------------------------------------------------------------------------------------


def test_what_rolls_is_data_and_a_field_of_the_plan() -> None:
    rolls = {e.field for e in C.changes.entries.values() if e.kind == "eks" and e.effect == "roll"}
    assert rolls == {"release", "kubernetes", "disk_gib", "tags"}
    for name, entry in C.changes.entries.items():
        assert name == f"{entry.kind}.{entry.field}"
        assert entry.field in PoolPlan.model_fields


def test_a_release_is_no_part_of_the_shape() -> None:
    one, other = planned().pools[0], planned(version="1.36.2-20260625").pools[0]
    assert one.shape_key == other.shape_key
