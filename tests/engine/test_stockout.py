"""One of three pools runs out of machines: the others come up whole; what is said; and the next `up` asks for it alone.

Printed by `-s`: what a person reads.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project import ROOT, Project

pytestmark = pytest.mark.engine

AWS = """\
extends: base
defaults: {protect: false}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 16, runtime: pytorch}
  - {name: finetune, site: use2, chip: a100, cards: 16, runtime: pytorch}
  - {name: trn, site: use2, chip: trn1n, cards: 16, runtime: neuron}
"""
GOOGLE = """\
extends: base
defaults: {protect: false}
sites:
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: slice, site: usc1, zone: us-central1-a, chip: tpu-v5e, topology: 4x4, runtime: jax}
  - {name: pretrain, site: usc1, zone: us-central1-c, chip: h100, cards: 16, runtime: pytorch}
  - {name: finetune, site: usc1, chip: a100, cards: 16, runtime: pytorch}
"""


def resources(project: Project, env: str) -> dict[str, dict[str, Any]]:
    """The state's resources by URN."""
    exported = json.loads(project.pulumi("stack", "export", env=env).stdout)
    return {r["urn"]: r for r in exported["deployment"]["resources"]}


def pool_of(found: dict[str, dict[str, Any]], name: str) -> dict[str, Any] | None:
    """A pool's node group or node pool in the state."""
    ends = (f"NodeGroup::{name}", f"NodePool::{name}")
    return next((r for urn, r in found.items() if urn.endswith(ends)), None)


def kinds(found: dict[str, dict[str, Any]], kind: str) -> set[str]:
    """Names of a kind of Kubernetes object in the state."""
    return {r["outputs"]["metadata"]["name"] for urn, r in found.items() if f":{kind}::" in urn and "outputs" in r}


def touched(before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> set[str]:
    """What a run has made, changed or taken away; components and the stack itself are no things of a cloud."""
    custom = {urn: r for urn, r in {**before, **after}.items() if r["custom"] and "pulumi:providers" not in urn}
    keys = ("id", "modified")  # outputs with secrets are encrypted anew in every state
    return {
        urn.rpartition("::")[2]
        for urn in custom
        if [before.get(urn, {}).get(k) for k in keys] != [after.get(urn, {}).get(k) for k in keys]
    }


def rows(project: Project, env: str) -> dict[str, tuple[int, int, int]]:
    """pool -> (nodes that are ready, nodes planned, quota)."""
    found = json.loads(project.fleet("status", "--env", env, "--json").stdout)["pools"]
    return {p["pool"]: (p["nodesReady"], p["nodes"], p["quota"]) for p in found}


def sim(project: Project, env: str, *words: str) -> str:
    return project.run_in(env, "fleet", "sim", *words).stdout


def test_one_of_three_pools_on_aws(fresh: Project) -> None:
    fresh.add("three", AWS)
    sim(fresh, "three", "clock", "--speed", "2000")
    sim(fresh, "three", "fault", "add", "insufficient-capacity", "--name", "pretrain", "--times", "2")

    # Without the variable the engine starts nothing more once a pool has failed: nodes without a queue.
    bare = fresh.pulumi("up", "--yes", "--skip-preview", env="three", ok=False, PULUMI_CONTINUE_ON_ERROR="false")
    assert bare.returncode != 0
    undone = resources(fresh, "three")
    print(f"without PULUMI_CONTINUE_ON_ERROR: {len(undone)} resources, queues: {kinds(undone, 'LocalQueue') or 'none'}")
    assert kinds(undone, "LocalQueue") == set()
    failed = pool_of(undone, "pretrain")
    assert failed is not None
    assert failed["initErrors"][0].startswith("creating urn:pulumi:three::")

    # With it, as `fleet env` sets it, everything else comes up; the pool is asked for again, and fails again.
    again = fresh.fleet("up", "--env", "three", ok=False)
    print(again.stdout, again.stderr)
    assert again.returncode == 1
    assert f"retry: pretrain failed to come up; {failed['id']} is given back, then asked for again" in again.stdout
    said = again.stderr.splitlines()
    start = said.index("pool pretrain in us-east-2c (site use2) did not come up: us-east-2c has no p5.48xlarge to "
                       "give now")  # fmt: skip
    assert said[start + 1] == "  try: zone: us-east-2a or us-east-2b (p5.48xlarge is offered there too)"
    assert said[start + 2] == "   or: capacity: {mode: reserved | capacity-block | spot}"
    assert said[start + 3].startswith("   or: wait, then ")
    assert "AsgInstanceLaunchFailures" in again.stderr, "the cloud's own words are there too"
    finished = resources(fresh, "three")
    assert len(finished) > len(undone)
    assert kinds(finished, "LocalQueue") == {"pretrain", "finetune", "trn"}
    assert {n.partition("-")[0] for n in kinds(finished, "ResourceFlavor")} == {"pretrain", "finetune", "trn"}

    # A plain `pulumi up` is no trap: the provider would do nothing and say that all is well.
    plain = fresh.pulumi("up", "--yes", "--skip-preview", env="three", ok=False)
    assert plain.returncode != 0
    assert "an update would do nothing about it" in plain.stdout + plain.stderr

    before = resources(fresh, "three")
    done = fresh.fleet("up", "--env", "three")
    print(done.stdout)
    assert touched(before, resources(fresh, "three")) == {"pretrain"}
    assert rows(fresh, "three") == {"pretrain": (2, 2, 16), "finetune": (2, 2, 16), "trn": (1, 1, 16)}
    assert fresh.preview("three") == []


@pytest.mark.slow
def test_one_of_three_pools_on_google(fresh: Project) -> None:
    fresh.add("three", GOOGLE)
    sim(fresh, "three", "clock", "--speed", "1000")
    sim(fresh, "three", "fault", "add", "stockout", "--type", "NodePool", "--name", "pretrain", "--times", "1")
    first = fresh.fleet("up", "--env", "three", ok=False)
    print(first.stdout, first.stderr)
    assert first.returncode == 1
    assert 'was created in the error state "ERROR"' in first.stderr
    said = first.stderr.splitlines()
    start = next(n for n, line in enumerate(said) if line.startswith("pool pretrain in us-central1-c (site usc1)"))
    assert said[start].endswith("us-central1-c has no a3-highgpu-8g to give now"), "the reason is asked of GKE's API"
    assert said[start + 1] == "  try: zone: us-central1-a or us-central1-b (a3-highgpu-8g is offered there too)"
    found = resources(fresh, "three")
    failed = pool_of(found, "pretrain")
    assert failed is not None
    assert failed["outputs"]["nodeCount"] == 2, "the provider reads a pool in error into the state"
    assert kinds(found, "LocalQueue") == {"pretrain", "finetune", "slice"}
    plain = fresh.pulumi("up", "--yes", "--skip-preview", env="three", ok=False)
    assert plain.returncode != 0
    assert "an update would do nothing about it" in plain.stdout + plain.stderr
    before = resources(fresh, "three")
    done = fresh.fleet("up", "--env", "three")
    print(done.stdout)
    assert touched(before, resources(fresh, "three")) == {"pretrain"}
    assert rows(fresh, "three") == {"slice": (4, 4, 16), "pretrain": (2, 2, 16), "finetune": (2, 2, 16)}
    assert fresh.preview("three") == []


def test_the_variable_is_set_where_people_start(tmp_path: Path) -> None:
    """`fleet env` sets it, and so does everything that goes through it: `fleet up`, the Makefile."""
    from accelerator_fleet_engine.environment import shell_env

    assert shell_env("dev", tmp_path)["PULUMI_CONTINUE_ON_ERROR"] == "true"
    assert "\nexport PULUMI_CONTINUE_ON_ERROR := true\n" in (ROOT / "Makefile").read_text()
