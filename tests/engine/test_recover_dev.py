"""A lost state of every kind of site at once: AWS, Google Cloud and a cluster that no cloud owns, with volumes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.crashes import Fleet, Point
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """`dev`, killed in the middle of coming up."""
    project = Project(tmp_path_factory.mktemp("dev") / "project")
    try:
        project.fleet("sim", "start", "--speed", "300")
        project.fleet("sim", "seed", "lab")
        yield Fleet(project, "dev")
    finally:
        stop(project)


@pytest.mark.parametrize("event", [14, 24])
def test_a_killed_up_is_recovered(fleet: Fleet, event: int) -> None:
    assert fleet.crash(Point("up", "engine", event)).happened
    orphans = fleet.orphans()
    assert orphans
    fleet.cancel()
    print(fleet.recover("--yes"))
    assert fleet.in_cloud() == fleet.in_state()


def test_a_lost_state_is_rebuilt(fleet: Fleet) -> None:
    fleet.up()
    assert fleet.project.preview("dev") == []
    fleet.forget()
    print(fleet.recover("--yes"))
    calls, writes = fleet.calls(), fleet.writes()
    assert calls
    assert writes
    changes = fleet.up()
    assert not set(changes) - {"same"}
    assert (fleet.calls(), fleet.writes()) == (calls, writes)
    assert fleet.in_cloud() == fleet.in_state()
    assert fleet.project.preview("dev") == []
    assert "nothing to recover" in fleet.recover()
