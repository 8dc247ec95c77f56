"""A node that fails under a running gang: all its pods start again, together, on spare capacity, or it waits whole."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.cluster.gangs import JOBSETS, Gangs, spread_s
from tests.cluster.lab import until

pytestmark = pytest.mark.slow

# The controller manager takes pods of a node that is gone after 40 s, and looks every 20 s.
PATIENCE_S = 150


@pytest.fixture(autouse=True)
def _clear(gangs: Gangs) -> Iterator[None]:
    yield
    gangs.clear()


def test_with_a_spare_node_the_whole_gang_starts_again_with_new_pods(gangs: Gangs) -> None:
    gangs.started("gang", 15, gangs.run("gang", 120, "nlp", block="a"))
    before = gangs.running("gang", 15)
    assert before is not None
    old = {p["metadata"]["uid"] for p in before}
    victim = before[3]["spec"]["nodeName"]
    failed = gangs.fail(victim)
    until("new pods, all running", lambda: _renewed(gangs, "gang", 15, old), PATIENCE_S)
    seconds = time.monotonic() - failed
    after = gangs.pods("gang")
    print(f"node lost, spare node there: 15 new pods run after {seconds:.1f} s, started within {spread_s(after):.0f} s")
    assert old.isdisjoint(p["metadata"]["uid"] for p in after)
    assert victim not in {p["spec"]["nodeName"] for p in after}
    assert gangs.blocks("gang") == {"nn-3a"}
    gang = gangs.client.get(f"{JOBSETS}/gang")
    assert gang["status"]["restarts"] == 1
    assert gang["status"].get("restartsCountTowardsMax", 0) == 0  # a node's failure is not the program's


def _renewed(gangs: Gangs, name: str, pods: int, old: set[str]) -> bool:
    found = gangs.running(name, pods)
    return found is not None and old.isdisjoint(p["metadata"]["uid"] for p in found)


def test_without_a_spare_node_it_is_evicted_and_waits_whole_until_the_node_is_back(gangs: Gangs) -> None:
    gangs.started("gang", 16, gangs.run("gang", 128, "nlp", block="a"))
    old = {p["metadata"]["uid"] for p in gangs.pods("gang")}
    failed = gangs.fail(gangs.node("a", 5))
    until("the eviction", lambda: _evicted(gangs), PATIENCE_S)
    print(f"node lost, no spare: evicted after {time.monotonic() - failed:.1f} s")
    until("all pods to be gone", lambda: gangs.pods("gang") == [], PATIENCE_S)
    print(f"no pod is left after {time.monotonic() - failed:.1f} s; waits: {gangs.waits('gang')}")
    gangs.gone.clear()
    gangs.place_nodes()
    back = time.monotonic()
    seconds = gangs.started("gang", 16, back, 120)
    spread = spread_s(gangs.pods("gang"))
    print(f"the cloud replaced the node: 16 new pods run after {seconds:.1f} s, started within {spread:.0f} s")
    assert old.isdisjoint(p["metadata"]["uid"] for p in gangs.pods("gang"))
    assert gangs.blocks("gang") == {"nn-3a"}


def _evicted(gangs: Gangs) -> bool:
    conditions = gangs.workload("gang").get("status", {}).get("conditions", [])
    return any(c["type"] == "Evicted" and c["status"] == "True" for c in conditions)
