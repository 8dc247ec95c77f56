"""Gangs in blocks: whole and in one block, or they wait whole. Real scheduler, real Kueue, real JobSet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.gangs import Gangs

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _clear(gangs: Gangs) -> Iterator[None]:
    yield
    gangs.clear()


def test_a_gang_takes_the_block_that_is_free_whole(gangs: Gangs) -> None:
    began = gangs.run("half", 64, "vision", block="a")
    gangs.started("half", 8, began)
    began = gangs.run("gang", 128, "nlp")
    seconds = gangs.started("gang", 16, began)
    print(f"one block half full: 128 cards run in the other after {seconds:.1f} s")
    assert gangs.blocks("gang") == {"nn-3b"}


def test_with_both_half_full_it_waits_whole_and_starts_when_one_empties(gangs: Gangs) -> None:
    for name, block in (("half-a", "a"), ("half-b", "b")):
        gangs.started(name, 8, gangs.run(name, 64, "vision", block=block))
    gangs.run("gang", 128, "nlp")
    print(f"both half full: waits: {gangs.waits('gang')}")
    began = gangs.delete("half-b")
    seconds = gangs.started("gang", 16, began)
    print(f"one emptied: 128 cards run after {seconds:.1f} s")
    assert gangs.blocks("gang") == {"nn-3b"}


def test_one_node_cordoned_it_waits_and_starts_when_it_is_back(gangs: Gangs) -> None:
    gangs.started("half", 8, gangs.run("half", 64, "vision", block="a"))
    node = gangs.node("b")
    gangs.cordon(node)
    gangs.run("gang", 128, "nlp")
    print(f"one node cordoned: waits: {gangs.waits('gang')}")
    seconds = gangs.started("gang", 16, gangs.cordon(node, False))
    print(f"uncordoned: 128 cards run after {seconds:.1f} s")
    assert gangs.blocks("gang") == {"nn-3b"}
