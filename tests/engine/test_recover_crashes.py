"""The crash matrix: engine, providers and program killed at many points of `up` and `destroy`, then recovered.

`make crashes`. Crashes follow each other without a pause in between: the next run starts from what the last recovery
left, and at the end of each row an undisturbed `up` makes the rest. After every recovery cloud and state agree.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from accelerator_fleet.cli import table
from tests.engine.conftest import stop
from tests.engine.crashes import Fleet, Outcome, Point
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.crashes]

SPEC = """
extends: single
volumes:
  - {name: shared, site: use2, size: 1TiB}
"""
ALL: list[Outcome] = []
FILES = "aws:efs/fileSystem:FileSystem"
VOLUME = (
    "urn:pulumi:crash::accelerator-fleet::accelerator-fleet:index:Fleet$accelerator-fleet:index:Volume$"
    "aws:efs/fileSystem:FileSystem::shared"
)
# Row -> (verb, victim, how many resources each run begins before somebody dies, runs at most). The next run goes on
# behind the last. An `up` that comes through ends its row; after a `destroy` that does, all is brought up again. A
# `destroy` takes objects out of the state before their cluster is gone, asking nobody, and recovery takes them back:
# its runs go further.
ROWS: dict[str, tuple[str, str, tuple[int, ...], int]] = {
    "up, engine": ("up", "engine", (1, 4, 7, 5, 3, 2), 12),
    "up, providers": ("up", "provider", (2, 6, 8, 4, 3, 1), 10),
    "up, program": ("up", "program", (3, 9, 14, 6), 5),
    "destroy, engine": ("destroy", "engine", (3, 12, 18, 15, 6, 9, 7), 8),
    "destroy, providers": ("destroy", "provider", (13, 15, 17, 14, 8, 5), 7),
}
AT_LEAST = {"up": 20, "destroy": 10}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """One datacentre for all rows."""
    project = Project(tmp_path_factory.mktemp("crashes") / "project")
    project.add("crash", SPEC)
    try:
        project.fleet("sim", "start", "--speed", "300")
        made = Fleet(project, "crash")
        made.kept = VOLUME
        yield made
    finally:
        stop(project)


def files(fleet: Fleet) -> list[str]:
    """Ids of the file systems in the cloud."""
    return sorted(identity for kind, identity in fleet.in_cloud() if kind == FILES)


def crash(fleet: Fleet, point: Point) -> Outcome:
    """One crash and its recovery."""
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
    """Everything but the file system goes."""
    if fleet.state().get("resources"):
        fleet.destroy()


@pytest.mark.parametrize("row", ROWS, ids=[name.replace(", ", "-") for name in ROWS])
def test_a_row_of_crashes(fleet: Fleet, row: str) -> None:
    if row.startswith("up"):
        empty(fleet)
    elif not fleet.in_state():
        fleet.up()
    verb, victim, sizes, most = ROWS[row]
    done: list[Outcome] = []
    began = time.monotonic()
    try:
        for size in itertools.islice(itertools.cycle(sizes), most):
            done.append(crash(fleet, Point(verb, victim, size)))
            if not done[-1].happened:
                print("\n".join(done[-1].said))
                if verb == "up":
                    break
                fleet.up()
    finally:
        show(row, done, time.monotonic() - began)
        ALL.extend(o for o in done if o.happened)
    fleet.up()
    assert fleet.in_cloud() == fleet.in_state()
    assert max(fleet.in_cloud().values()) == 1
    assert fleet.project.preview(fleet.env) == []
    assert len(files(fleet)) == 1
    # A provider that dies while it deletes leaves what it was at in the state.
    if victim != "program" and row != "destroy, providers":
        assert sum(o.orphans + o.adopted for o in done) > 0, "nothing was left behind: then nothing was shown"


def test_there_were_enough_crashes() -> None:
    """After all rows; a part of the matrix shows nothing about the whole."""
    counts = Counter(o.point.verb for o in ALL)
    print("crashes:", dict(counts), "orphans:", sum(o.orphans for o in ALL), "adopted:", sum(o.adopted for o in ALL))
    for verb, number in AT_LEAST.items():
        assert counts[verb] >= number


def test_without_recovery_orphans_stay(fleet: Fleet) -> None:
    """The simulator hides nothing: the next `up` meets them (a subnet whose range is taken), or makes them again."""
    empty(fleet)
    fleet.crash(Point("up", "engine", 9))
    fleet.settle()
    left = fleet.orphans()
    assert left
    fleet.cancel()
    fleet.pulumi("up", "--yes", "--skip-preview", ok=False)
    stay = fleet.orphans()
    assert stay  # but for what AWS makes once however often it is asked, as a policy of a role
    assert not stay - left
    print(fleet.recover("--yes"))
    unasked = fleet.orphans()  # made again beside, so that nothing asks for them: not deleted without a word
    assert not unasked - stay
    print(fleet.recover("--yes", "--delete"))
    assert not fleet.orphans()
    fleet.up()
    assert fleet.in_cloud() == fleet.in_state()
    assert fleet.project.preview(fleet.env) == []


def test_what_was_adopted_can_be_changed(fleet: Fleet) -> None:
    """Objects in clusters too: under the name of who applied them, or the API server refuses it."""
    if not fleet.in_state():
        fleet.up()
    fleet.forget()
    fleet.recover("--yes")
    fleet.project.edit("fleets/single.yaml", "cards: 16", "cards: 24")
    changed = [s["urn"].rpartition("::")[2] for s in fleet.project.preview(fleet.env)]
    assert set(changed) == {"pretrain", "use2-clusterqueue-fleet"}
    assert fleet.up()["update"] == len(changed)
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
