"""Teams come to a fleet that is up, in place; a gang by the CLI survives a node that the cloud takes."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ENV = "gangs"
SPEC = """
extends: base
defaults: {protect: false}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 24, owner: nlp}
"""
TEAMS = "teams: [{name: nlp}, {name: vision, borrow: {h100: 8}}]\n"
PODS = "/api/v1/namespaces/jobs/pods?labelSelector=accelerator-fleet.dev%2Fjob%3Dgang"


def pods(project: Project) -> list[dict[str, Any]]:
    return list(project.kubectl("use2", PODS, ENV)["items"])


def whole(project: Project, old: set[str]) -> list[dict[str, Any]]:
    """The gang's pods, when both run and none is of `old`."""
    found = pods(project)
    live = [p for p in found if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]]
    return found if len(live) == len(found) == 2 and old.isdisjoint(p["metadata"]["uid"] for p in found) else []


def test_teams_come_in_place_and_a_gang_survives_a_lost_node(fresh: Project) -> None:
    fresh.add(ENV, SPEC)
    fresh.fleet("up", "--env", ENV)
    (fresh.folder / "stacks" / "fleets" / f"{ENV}.yaml").write_text(SPEC + TEAMS)
    steps = [(s["op"], s["urn"].rpartition("::")[2]) for s in fresh.preview(ENV)]
    print(steps)
    assert {op for op, _ in steps} == {"create", "update"}
    assert {name for op, name in steps if op == "update"} >= {"use2-kueue", "use2-clusterqueue-fleet"}
    fresh.fleet("up", "--env", ENV)

    said = fresh.fleet("job", "run", "hello", "--pool", "pretrain", "--cards", "16", "--name", "gang",
                       "--topology", "block", "--priority", "high", "--env", ENV).stdout  # fmt: skip
    print(said)
    assert "queue nlp" in said
    assert "running" in fresh.fleet("job", "list", "--env", ENV).stdout
    before = pods(fresh)
    old, victim = {p["metadata"]["uid"] for p in before}, before[1]["spec"]["nodeName"]
    gone = fresh.fleet("sim", "console", "terminate", victim).stdout
    print(gone)
    assert re.search(r"another comes in 120 simulated s", gone)
    began = time.monotonic()
    while not (after := whole(fresh, old)):
        assert time.monotonic() < began + 150, fresh.fleet("job", "list", "--env", ENV).stdout
        time.sleep(0.5)
    print(f"both pods are new and run {time.monotonic() - began:.1f} s after the node was lost")
    assert victim not in {p["spec"]["nodeName"] for p in after}
    nodes = fresh.kubectl("use2", "/api/v1/nodes?labelSelector=accelerator-fleet.dev%2Fpool%3Dpretrain", ENV)["items"]
    assert len(nodes) == 3  # its Auto Scaling group has replaced it
    assert "kwok" in fresh.fleet("job", "logs", "gang", "--rank", "1", "--env", ENV).stdout
    fresh.fleet("job", "delete", "gang", "--env", ENV)
    assert "no jobs" in fresh.fleet("job", "list", "--env", ENV).stdout
