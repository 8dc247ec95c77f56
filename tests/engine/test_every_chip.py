"""Every chip comes up on its cloud, or is there on a cluster of one's own, and a job of one card runs on each.

Also 256 H100 cards and a v5e slice of 16x16, with the seconds they take.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import Node

from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ALSO = ("rtx3090", "rtx4090", "rtx5090", "a6000", "rtx6000ada")
ASCEND = ("910b1", "910b2", "910b2c", "910b3", "910b4", "910b4-1")
HEAD = """
extends: base
defaults: {protect: false}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
"""
GOOGLE = """
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
"""
MORE = """
  - {name: usw2, kind: eks, account: "000000000000", region: us-west-2, cidr: 10.17.0.0/16}
  - name: usc2
    kind: gke
    project: embedded-research
    region: us-central2
    cidr: 10.24.0.0/14
    system: {machine: n2-standard-4}
  - {name: byo, kind: existing, kubeconfig: {context: lab}, addons: {kueue: {state: managed}}}
"""
AMD = {"node_selector": {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}}
NEURON, JAX = {"runtime": "neuron"}, {"runtime": "jax"}
# pool -> site, chip, cards of a job, and the rest. One node each, the smallest that carries the chip.
POOLS: dict[str, tuple[str, str, int, dict[str, Any]]] = {
    "a100": ("use2", "a100", 1, {"cards": 8}),
    "h100": ("use2", "h100", 1, {"cards": 8}),
    "h100-card": ("use2", "h100", 1, {"cards": 1, "billing": "hour"}),
    "h200": ("use2", "h200", 1, {"cards": 8}),
    "b200": ("use2", "b200", 1, {"cards": 8, "zone": "us-east-2c"}),
    "l4": ("use2", "l4", 1, {"cards": 1, "machine": "g6.xlarge"}),
    "a10g": ("use2", "a10g", 1, {"cards": 1, "machine": "g5.xlarge"}),
    "l40s": ("use2", "l40s", 1, {"cards": 1, "machine": "g6e.xlarge"}),
    "inf2": ("use2", "inferentia2", 1, {"cards": 1, "machine": "inf2.xlarge", **NEURON}),
    "trn1": ("use2", "trn1", 1, {"cards": 1, **NEURON}),
    "trn1n": ("use2", "trn1n", 1, {"cards": 16, **NEURON}),
    "trn2": ("use2", "trn2", 1, {"cards": 16, "zone": "us-east-2c", **NEURON}),
    "turns": ("use2", "l4", 1, {"cards": 1, "machine": "g6.xlarge", "sharing": {"time_slicing": 4}}),
    "mps": ("use2", "l4", 1, {"cards": 1, "machine": "g6.xlarge", "sharing": {"mps": 8}}),
    "a100-80": ("usw2", "a100", 1, {"cards": 8, "variant": "80gb"}),
    "b300": ("usw2", "b300", 1, {"cards": 8}),
    "g-a100": ("usc1", "a100", 1, {"cards": 1}),
    "g-a100-80": ("usc1", "a100", 1, {"cards": 1, "variant": "80gb"}),
    "g-h100": ("usc1", "h100", 1, {"cards": 8}),
    "g-h100-mega": ("usc1", "h100", 1, {"cards": 8, "variant": "mega"}),
    "g-h100-card": ("usc1", "h100", 1, {"cards": 1, "capacity": {"mode": "spot"}}),
    "g-h200": ("usc1", "h200", 1, {"cards": 8}),
    "g-b200": ("usc1", "b200", 1, {"cards": 8}),
    "g-l4": ("usc1", "l4", 1, {"cards": 1, "machine": "g2-standard-4"}),
    "g-mig": ("usc1", "a100", 1, {"cards": 1, "sharing": {"mig": "1g.5gb"}}),
    "g-turns": ("usc1", "l4", 1, {"cards": 1, "machine": "g2-standard-4", "sharing": {"time_slicing": 4}}),
    "v5e": ("usc1", "tpu-v5e", 1, {"topology": "1x1", **JAX}),
    "v5p": ("usc1", "tpu-v5p", 4, {"topology": "2x2x1", **JAX}),
    "v6e": ("usc1", "tpu-v6e", 1, {"topology": "1x1", **JAX}),
    "v4": ("usc2", "tpu-v4", 4, {"topology": "2x2x1", **JAX}),
    "mi300x": ("byo", "mi300x", 1, {"cards": 16, "cards_per_node": 8, **AMD}),
    **{
        word: (
            *("byo", word, 1),
            {
                "cards": 8,
                "cards_per_node": 8,
                "node_selector": {"node.kubernetes.io/instance-type": f"{word}-8"},
            },
        )
        for word in ALSO
    },
    **{
        f"ascend-{form}": (
            *("byo", "ascend-910b", 1),
            {
                "variant": form.removeprefix("910"),
                "cards": 8,
                "cards_per_node": 8,
                "node_selector": {"accelerator-fleet.dev/form": form},
            },
        )
        for form in ASCEND
    },
}
# What a node of the pool shows, where it is not its cards.
SHARED = {"turns": "4", "mps": "8", "g-mig": "7", "g-turns": "4"}
BIG = """pools:
  - name: pretrain
    site: use2
    zone: us-east-2a
    chip: h100
    cards: 256
    billing: week
    capacity: {mode: reserved, reservation: cr-0a1b2c3d4e5f60718}
  - {name: tpu, site: usc1, chip: tpu-v5e, topology: 16x16, runtime: jax, billing: week}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = Project(tmp_path_factory.mktemp("chips") / "project")
    try:
        rows = [{"name": n, "site": s, "chip": c, **more} for n, (s, c, _, more) in POOLS.items()]
        made.add("chips", HEAD + GOOGLE.lstrip("\n") + MORE.lstrip("\n") + f"pools: {json.dumps(rows)}\n")
        made.add("big", HEAD + GOOGLE.lstrip("\n") + BIG)
        made.fleet("sim", "start")
        made.fleet("sim", "seed", "lab", "--also", ",".join((*ALSO, *(f"ascend-{a}" for a in ASCEND))))
        yield made
    finally:
        stop(made)


def test_every_chip_previews_comes_up_and_runs_a_job_of_one_card(project: Project) -> None:
    began = time.monotonic()
    project.fleet("up", "--env", "chips", timeout=900)
    took = time.monotonic() - began
    print(f"\n{len(POOLS)} pools on 5 sites up in {took:.0f} s")
    for name, (_, _, cards, _) in POOLS.items():
        project.fleet(*("job", "submit", "hello", "--pool", name, "--name", f"one-{name}"),
                      *("--cards", str(cards), "--wait", "0", "--env", "chips"))  # fmt: skip
    states = _until_all_run(project)
    assert {name: states.get(f"one-{name}") for name in POOLS} == dict.fromkeys(POOLS, "running")
    print(f"a job runs on each, after {time.monotonic() - began:.0f} s")
    status = project.fleet("status", "--env", "chips").stdout
    print(status)
    assert project.preview("chips") == []


def _until_all_run(project: Project, seconds: float = 120) -> dict[str, str]:
    end = time.monotonic() + seconds
    while True:
        rows = [x.split() for x in project.fleet("job", "list", "--env", "chips").stdout.splitlines()]
        states = {row[0]: row[4] for row in rows if row and row[0].startswith("one-")}
        if len(states) == len(POOLS) and set(states.values()) == {"running"}:
            return states
        if time.monotonic() > end:
            print(project.fleet("job", "list", "--env", "chips").stdout)
            return states
        time.sleep(2)


def test_nodes_show_the_parts_of_shared_cards(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PATH", "ACCELERATOR_FLEET_SIM"):
        monkeypatch.setenv(name, project.shell("chips")[name])
    sites = project.outputs("chips")["sites"]
    shown: dict[str, str] = {}
    for site in {POOLS[name][0] for name in SHARED}:
        config = KubeConfig.from_dict(json.loads(sites[site]["kubeconfig"]))
        for node in Client(config=config.get(), trust_env=False).list(Node):
            assert node.metadata is not None
            assert node.status is not None
            pool = (node.metadata.labels or {}).get("accelerator-fleet.dev/pool", "")
            if pool in SHARED:
                shown[pool] = (node.status.allocatable or {}).get("nvidia.com/gpu", "none")
    assert shown == SHARED


def test_256_h100_cards_and_a_v5e_slice_of_256_chips_come_up(project: Project) -> None:
    began = time.monotonic()
    project.fleet("up", "--env", "big", timeout=900)
    print(f"\n256 H100 cards (32 nodes) and a v5e 16x16 (64 hosts) up in {time.monotonic() - began:.0f} s")
    status = project.fleet("status", "--env", "big").stdout
    print(status)
    for pool in ("pretrain", "tpu"):
        done = project.fleet(*("job", "submit", "hello", "--pool", pool, "--cards", "256", "--wait", "90"),
                             *("--env", "big"))  # fmt: skip
        assert "256" in done.stdout.splitlines()[0]
        assert "waiting" not in done.stdout, done.stdout
