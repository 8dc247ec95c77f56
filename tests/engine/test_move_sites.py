"""A pool moves to another cloud or to an existing cluster by the two edits of `fleet move`; its data stays behind."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project
from tests.engine.steps import GONE, MADE, Step, claim, naming, replacement_steps, runs

pytestmark = [pytest.mark.engine, pytest.mark.slow]
ENV = "dev"
SPEC = f"fleets/{ENV}.yaml"
FINETUNE = "  - {name: finetune, site: use2, zone: us-east-2c, chip: h100, cards: 8, runtime: pytorch}\n"
STAYS = "the volume shared stays on use2 and does not follow"
VOLUMES = ("shared", "olume", "efs", "filestore", "Filestore")
OTHERS = ("::tpu", "::trn", "::mi")


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose environment dev is up, with a second h100 pool, and eight of the lab's cards to spare."""
    project = Project(tmp_path_factory.mktemp("moves") / "project")
    project.edit(SPEC, "    cards: 16\n    cards_per_node: 8", "    cards: 8\n    cards_per_node: 8")
    project.edit(SPEC, "pools:\n", "pools:\n" + FINETUNE)
    try:
        project.fleet("up", "--env", ENV, timeout=500)
        yield project
    finally:
        stop(project)


def line_of(project: Project, pool: str) -> str:
    """The pool's entry in the spec, which is one line."""
    lines = (project.folder / "stacks" / SPEC).read_text().splitlines(keepends=True)
    (found,) = [line for line in lines if f"name: {pool}," in line]
    return found


def previewed(project: Project) -> tuple[list[Step], str]:
    """The steps, and what the preview says to people, without the engine's line breaks."""
    said = project.fleet("preview", "--env", ENV, timeout=500)
    return replacement_steps(project, ENV), re.sub(r"\s+", " ", said.stdout + said.stderr)


@pytest.mark.parametrize(
    ("pool", "to", "words", "entry"),
    [
        (
            "pretrain",
            "usc1",
            ("--chip", "tpu-v5e"),
            "{name: pretrain-usc1, site: usc1, chip: tpu-v5e, cards: 16, runtime: pytorch, queue: pretrain}",
        ),
        (
            "finetune",
            "byo",
            ("--chip", "mi300x", "--cards-per-node", "8"),
            "{name: finetune-byo, site: byo, chip: mi300x, cards: 8, runtime: pytorch, queue: finetune, "
            "cards_per_node: 8}",
        ),
    ],
    ids=["tpu-v5e", "mi300x"],
)
def test_a_pool_moves_in_two_steps(everywhere: Project, pool: str, to: str, words: tuple[str, ...], entry: str) -> None:
    claimed, new = claim(everywhere, ENV), f"{pool}-{to}"
    runs(everywhere, ENV, pool, f"old-{pool}")
    printed = everywhere.fleet("move", pool, "--to", to, *words, "--env", ENV).stdout
    (added,) = [line.strip()[2:] for line in printed.splitlines() if line.startswith("  + ")]
    assert added == f"- {entry}"
    assert STAYS in printed

    # Step 1: one entry more; nothing goes, and no other pool and no volume is touched.
    old = line_of(everywhere, pool)
    everywhere.edit(SPEC, old, f"{old}  {added}\n")
    steps, said = previewed(everywhere)
    assert STAYS in said
    assert naming(steps, new), steps
    assert [s for s in steps if s[0] in GONE] == []
    assert naming(steps, *VOLUMES) == []
    assert [s for s in steps if s[1].endswith((f"::{pool}", *OTHERS))] == []
    everywhere.fleet("up", "--env", ENV, timeout=500)
    # New work runs there by the old queue's name while the old work still runs here.
    assert f"queue {pool}" in runs(everywhere, ENV, new, f"new-{pool}")
    assert "running" in next(
        line for line in everywhere.fleet("job", "list", "--env", ENV).stdout.splitlines() if f"old-{pool} " in line
    )

    # Step 2: the old entry goes, and with it what was its own.
    everywhere.fleet("job", "delete", f"old-{pool}", "--env", ENV)
    everywhere.edit(SPEC, old, "")
    steps, said = previewed(everywhere)
    assert STAYS in said
    assert [s for s in steps if s[0] in MADE] == []
    assert ("delete", f"aws:eks/nodeGroup:NodeGroup::{pool}") in steps
    assert naming(steps, *VOLUMES, new) == []
    assert [s for s in steps if s[1].endswith(OTHERS)] == []
    everywhere.fleet("up", "--env", ENV, timeout=500)
    lines = everywhere.fleet("job", "list", "--env", ENV).stdout.splitlines()
    assert "running" in next(line for line in lines if line.startswith(f"new-{pool} ")).split()
    assert claim(everywhere, ENV) == claimed
    assert everywhere.preview(ENV) == []
    everywhere.fleet("job", "delete", f"new-{pool}", "--env", ENV)
