"""`fleet recover`: a killed run and a lost state, on the real engine; the short form of the crash matrix."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.crashes import Fleet, Point
from tests.engine.project import Project

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A project with a datacentre, nothing up."""
    project = Project(tmp_path_factory.mktemp("recover") / "project")
    try:
        project.fleet("sim", "start")
        yield Fleet(project)
    finally:
        stop(project)


def check(fleet: Fleet) -> None:
    """Cloud = state = spec, nothing twice."""
    assert fleet.in_cloud() == fleet.in_state()
    assert max(fleet.in_state().values()) == 1
    assert fleet.project.preview(fleet.env) == []


POINTS = (
    Point("up", "engine", 12),
    Point("up", "aws", "accel-single-use2-system"),
    Point("up", "engine", "use2-kueue"),  # Helm has begun an install and not ended it
)


@pytest.mark.parametrize("point", POINTS, ids=[f"{p.victim}-{p.event}" for p in POINTS])
def test_a_killed_up_is_recovered(fleet: Fleet, point: Point) -> None:
    """One crash after the other on the way up; each leaves orphans, none of which is made twice."""
    outcome = fleet.crash(point)
    assert outcome.happened
    orphans = fleet.orphans()
    fleet.cancel()
    said = fleet.recover("--yes")
    print(f"{point.victim} killed at {outcome.at}: {sum(orphans.values())} orphans\n{said}")
    assert fleet.in_cloud() == fleet.in_state()
    assert not fleet.state().get("pending_operations")


def test_after_the_crashes_the_next_up_makes_the_rest(fleet: Fleet) -> None:
    fleet.up()
    check(fleet)


def test_a_lost_state_is_rebuilt(fleet: Fleet) -> None:
    """By import, objects in clusters included; the next `up` asks no cloud and no cluster for anything."""
    before = fleet.in_cloud()
    fleet.forget()
    said = fleet.recover("--yes")
    print(said)
    calls, writes = fleet.calls(), fleet.writes()
    assert calls
    assert writes
    changes = fleet.up()
    assert not set(changes) - {"same"}  # in clouds and clusters; the engine's own entries may be new
    assert (fleet.calls(), fleet.writes()) == (calls, writes)
    assert fleet.in_cloud() == before
    check(fleet)
