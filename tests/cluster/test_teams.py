"""Two teams with 128 cards each: one borrows, the other takes its own back; the API server's own admissions say so."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.gangs import KUEUE, WORKLOADS, Gangs, Json
from tests.cluster.lab import until

pytestmark = pytest.mark.slow
CARDS = "nvidia.com/gpu"


@pytest.fixture(autouse=True)
def _clear(gangs: Gangs) -> Iterator[None]:
    yield
    gangs.clear()


class Meter(threading.Thread):
    """Reads what is admitted, again and again: cards by queue, at every moment that it sees."""

    def __init__(self, gangs: Gangs) -> None:
        super().__init__(daemon=True)
        self._gangs, self._over = gangs, threading.Event()
        self.samples: list[dict[str, int]] = []

    def run(self) -> None:
        while not self._over.is_set():
            self.samples.append(admitted(self._gangs.client.list(WORKLOADS)))
            time.sleep(0.1)

    def end(self) -> list[dict[str, int]]:
        self._over.set()
        self.join()
        return self.samples


def admitted(loads: list[Json]) -> dict[str, int]:
    """Cards by ClusterQueue: of workloads that hold a reservation of quota."""
    out: dict[str, int] = {}
    for load in loads:
        admission = load.get("status", {}).get("admission")
        for part in admission["podSetAssignments"] if admission else []:
            queue = admission["clusterQueue"]
            out[queue] = out.get(queue, 0) + int(part["resourceUsage"].get(CARDS, 0))
    return out


def test_one_borrows_and_the_other_takes_its_own_back(gangs: Gangs) -> None:
    meter = Meter(gangs)
    meter.start()
    for i in range(3):  # 192 cards: 128 of its own, 64 of vision's
        gangs.started(f"nlp-{i}", 8, gangs.run(f"nlp-{i}", 64, "nlp", topology="preferred"))
    borrowed = admitted(gangs.client.list(WORKLOADS))
    began = gangs.run("vision-0", 128, "vision", topology="preferred")
    seconds = gangs.started("vision-0", 16, began, 120)
    until("the last of nlp to wait", lambda: any(gangs.why(f"nlp-{i}") for i in range(3)), 30)
    after = admitted(gangs.client.list(WORKLOADS))
    samples = meter.end()
    most = {q: max(s.get(q, 0) for s in samples) for q in ("nlp", "vision")}
    both = max(sum(s.values()) for s in samples)
    print(f"{len(samples)} samples: nlp at most {most['nlp']}, vision {most['vision']}, together {both} of 256 cards")
    print(f"vision has its 128 cards back and all of its pods run after {seconds:.1f} s")
    assert borrowed == {"nlp": 192}
    assert after == {"nlp": 128, "vision": 128}
    assert both <= 256
    assert most == {"nlp": 192, "vision": 128}
    preempted = [
        c["message"]
        for load in gangs.client.list(WORKLOADS)
        for c in load["status"]["conditions"]
        if c["type"] == "Preempted" and c["status"] == "True"
    ]
    print(preempted)
    assert len(preempted) == 1
    assert "reclamation within the cohort" in preempted[0] or "fair sharing" in preempted[0].lower()


def test_nobody_goes_over_its_quota_where_nothing_is_idle(gangs: Gangs) -> None:
    for team in ("nlp", "vision"):
        gangs.started(f"{team}-0", 16, gangs.run(f"{team}-0", 128, team, topology="preferred"))
    gangs.run("more", 8 * 2, "nlp", topology="preferred")
    print(gangs.waits("more"))
    assert admitted(gangs.client.list(WORKLOADS)) == {"nlp": 128, "vision": 128}


def test_high_takes_the_cards_of_low_and_low_comes_back(gangs: Gangs) -> None:
    gangs.started("other", 16, gangs.run("other", 128, "vision", topology="preferred"))
    gangs.started("low", 16, gangs.run("low", 128, "nlp", topology="preferred", priority="low"))
    began = gangs.run("high", 64, "nlp", topology="preferred", priority="high")
    seconds = gangs.started("high", 8, began, 90)
    print(f"high runs in low's place after {seconds:.1f} s; low: {gangs.waits('low')}")
    gangs.started("low", 16, gangs.delete("high"), 90)


def test_on_demand_goes_before_spot_and_spot_before_anyone_is_preempted(gangs: Gangs) -> None:
    either: dict[str, Any] = {"topology": "preferred", "others": ("burst",)}
    gangs.started("first", 2, gangs.run("first", 16, "nlp", **either))
    assert _flavors(gangs, "first") == {gangs.plan.pools[0].flavor}
    gangs.delete("first")
    for team in ("nlp", "vision"):
        gangs.started(f"{team}-0", 16, gangs.run(f"{team}-0", 128, team, topology="preferred", priority="low"))
    seconds = gangs.started("later", 2, gangs.run("later", 16, "nlp", priority="high", **either))
    print(f"on demand full: 16 cards of spot run after {seconds:.1f} s, nobody is preempted")
    assert _flavors(gangs, "later") == {gangs.plan.pools[1].flavor}
    assert admitted(gangs.client.list(WORKLOADS)) == {"nlp": 144, "vision": 128}


def _flavors(gangs: Gangs, name: str) -> set[str]:
    parts = gangs.workload(name)["status"]["admission"]["podSetAssignments"]
    return {flavor for part in parts for flavor in part["flavors"].values()}


def test_queues_are_those_of_the_plan(gangs: Gangs) -> None:
    queue = gangs.client.get(f"{KUEUE}/clusterqueues/nlp")
    (group,) = queue["spec"]["resourceGroups"]
    assert [f["resources"][0]["nominalQuota"] for f in group["flavors"]] == ["128", "0"]
    assert queue["spec"]["cohortName"] == "fleet"
    assert gangs.client.get(f"{KUEUE}/cohorts/fleet")["metadata"]["name"] == "fleet"
    (rest,) = gangs.client.get(f"{KUEUE}/clusterqueues/fleet")["spec"]["resourceGroups"]
    assert [f["resources"][0]["nominalQuota"] for f in rest["flavors"]] == ["0", "16"]
    values = {c["metadata"]["name"]: c["value"] for c in gangs.client.list(f"{KUEUE}/workloadpriorityclasses")}
    assert values == {"low": 100, "normal": 1000, "high": 10000}
