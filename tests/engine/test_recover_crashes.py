"""The crash matrix: engine, providers and program killed at many points of `up` and `destroy`, then recovered.

`make crashes`. Crashes follow each other without a pause in between: the next run starts from what the last recovery
left, and at the end of each row an undisturbed `up` makes the rest. After every recovery cloud and state agree.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from accelerator_fleet.cli import table
from tests.engine.conftest import stop
from tests.engine.crashes import Fleet, Outcome, Point
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.crashes]

SPEC = """
extends: single
defaults: {protect: true}
volumes:
  - {name: shared, site: use2, size: 1TiB}
"""
FILES = "aws:efs/fileSystem:FileSystem"
# How many resources a run has begun when somebody dies; the next run of the row goes on behind it.
ROWS: dict[str, list[Point]] = {
    "up, engine": [
        *(Point("up", "engine", n) for n in (1, 3, 6, 9, 7)),
        Point("up", "engine", "crash-use2"),
        Point("up", "engine", "pretrain"),
        Point("up", "engine", "use2-kueue", later=2.0),
        Point("up", "engine", 2),
    ],
    "up, providers": [
        *(Point("up", "aws", n) for n in (2, 5, 10, 8)),
        Point("up", "aws", "shared"),
        Point("up", "kubernetes", "use2-kueue", later=1.0),
        Point("up", "kubernetes", 2),
    ],
    "up, program": [*(Point("up", "program", n) for n in (1, 8, 16, 5)), Point("up", "program", "use2-kueue")],
    "destroy, engine": [*(Point("destroy", "engine", n) for n in (1, 4, 5, 6, 8, 10))],
    "destroy, providers": [
        *(Point("destroy", "kubernetes", n) for n in (1, 4)),
        *(Point("destroy", "aws", n) for n in (5, 7, 9)),
        Point("destroy", "engine", "use2-kueue", later=0.5),
    ],
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One datacentre for all rows."""
    project = Project(tmp_path_factory.mktemp("crashes") / "project")
    project.add("crash", SPEC)
    try:
        project.fleet("sim", "start", "--speed", "300")
        yield Fleet(project, "crash")
    finally:
        stop(project)


def files(fleet: Fleet) -> list[str]:
    """Ids of the file systems in the cloud."""
    return sorted(identity for kind, identity in fleet.in_cloud() if kind == FILES)


def crash(fleet: Fleet, point: Point) -> Outcome:
    """One crash and its recovery."""
    if point.verb == "destroy":
        fleet.pulumi("state", "unprotect", "--all", "--yes")
    before = files(fleet)
    outcome = fleet.crash(point)
    outcome.orphans = sum(fleet.orphans().values())
    outcome.pending = len(fleet.state().get("pending_operations") or [])
    fleet.cancel()
    said = fleet.recover("--yes", "--delete", "--wait", "120")
    outcome.adopted = int(said.rpartition(" adopted;")[0].rpartition(" ")[2] or 0)
    assert fleet.in_cloud() == fleet.in_state(), said
    assert not fleet.state().get("pending_operations")
    assert set(before) <= set(files(fleet)), "a volume is gone"
    return outcome


def empty(fleet: Fleet) -> None:
    """Everything but the file system, which its deletion leaves in the cloud and the recovery takes back."""
    if fleet.state().get("resources"):
        fleet.pulumi("state", "unprotect", "--all", "--yes")
        fleet.destroy()
        fleet.recover("--yes")


@pytest.mark.parametrize("row", ROWS, ids=[name.replace(", ", "-") for name in ROWS])
def test_a_row_of_crashes(fleet: Fleet, row: str) -> None:
    if row.startswith("up"):
        empty(fleet)
    elif not fleet.in_state():
        fleet.up()
    done: list[Outcome] = []
    began = time.monotonic()
    try:
        for point in ROWS[row]:
            done.append(crash(fleet, point))
            assert done[-1].happened, "\n".join(["the run ended before:", *done[-1].said])
    finally:
        show(row, done, time.monotonic() - began)
    fleet.up()
    assert fleet.in_cloud() == fleet.in_state()
    assert max(fleet.in_cloud().values()) == 1
    assert fleet.project.preview(fleet.env) == []
    assert len(files(fleet)) == 1
    if row.startswith("up, "):
        assert sum(o.orphans for o in done) > 0, "nothing was left behind: then nothing was shown"


def test_without_recovery_orphans_stay(fleet: Fleet) -> None:
    """The simulator hides nothing: the next `up` makes them again, beside."""
    empty(fleet)
    fleet.crash(Point("up", "engine", 9))
    fleet.settle()
    left = fleet.orphans()
    assert left
    fleet.cancel()
    fleet.up()
    beside = fleet.orphans()
    assert beside  # but for what AWS makes once however often it is asked, as a policy of a role
    assert not beside - left
    said = fleet.recover("--yes")
    assert "nothing in the program asks for it" in said
    assert fleet.orphans() == beside  # nothing is deleted unasked
    print(fleet.recover("--yes", "--delete"))
    assert not fleet.orphans()
    assert fleet.project.preview(fleet.env) == []


def show(row: str, done: list[Outcome], seconds: float) -> None:
    rows = [
        [o.point.verb, o.point.victim, str(o.point.event), o.at or "run ended before", str(o.pending), str(o.orphans),
         str(o.adopted)]
        for o in done
    ]  # fmt: skip
    head = ["run", "killed", "at", "resource", "pending", "orphans", "adopted"]
    text = f"\n{row}: {len(done)} crashes in {seconds:.0f} s\n{table.render(head, rows)}\n"
    print(text)
    if os.environ.get("CRASH_REPORT"):
        with open(os.environ["CRASH_REPORT"], "a", encoding="utf-8") as report:
            report.write(text)
