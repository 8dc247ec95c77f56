"""Every force-new path of every Google type that a fleet uses, through the real engine: operation and paths as facts.

Expected values come from data/google_force_new.json, a copy of the project's facts and of their corrections, which win;
never from the simulator. Shapes and enums, to make other values of, come from its rules.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pulumi_gcp as gcp
import pytest

from accelerator_fleet_sim.core.rules import Rules
from accelerator_fleet_sim.google.catalog import DATA
from tests.engine.force_new_google_world import BASES, FIRST, THEN, World
from tests.engine.force_new_world import Any_
from tests.engine.google_mutations import mutated
from tests.engine.test_force_new_aws import Step, covers
from tests.sim.cloud import Cloud, events, running

pytestmark = [pytest.mark.engine, pytest.mark.slow]
FILE = json.loads((Path(__file__).parent / "data" / "google_force_new.json").read_text())
FACTS: dict[str, Any] = FILE["types"]
RULES = Rules.load(DATA / "rules.json")
# Corrections that say "update" of a path that the facts call force-new.
SAYS = ("nodeConfig is optional", "update", "optional+computed", "the pscConfig", "an empty")
UPDATES = {
    (c["token"], c["path"]) for c in FILE["corrections"]
    if c["path"] in FACTS[c["token"]]["force_new"] + FACTS[c["token"]]["force_new_presence"]
    and c["provider_says"].startswith(SAYS)
}  # fmt: skip


def paths(token: str) -> list[str]:
    """Every path of a type that the facts say replaces."""
    facts = FACTS[token]
    found = {*facts["force_new"], *facts["force_new_presence"], *(c["path"] for c in facts["force_new_if"])}
    return sorted(p for p in found if (token, p) not in UPDATES)


# Its condition is an Autopilot cluster, which is not simulated.
NOT_HERE = {("gcp:container/cluster:Cluster", "dnsConfig.additiveVpcScopeDnsDomain")}
LIST = [(token, path) for token in FACTS for path in paths(token) if (token, path) not in NOT_HERE]


def changed(world: World, token: str, path: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs with that path changed: by hand where another value needs company, else by shape."""
    own = THEN.get((token, path))
    if own is not None:
        laid = {**inputs, **(own(world) if callable(own) else own)}
        return {k: v for k, v in laid.items() if v is not None}
    rules = RULES.get(token)
    assert rules is not None
    made = mutated(rules.inputs, inputs, path, rules.table("enums"), rules.defaults)
    for group in rules.lists("conflicts"):
        if path in group or any(path.startswith(f"{g}.") for g in group):
            for other in group:
                if "." not in other and not path.startswith(other):
                    made.pop(other, None)
    return made


def program(mode: str) -> Any:
    """The stack's program: first, then (every case mutated)."""

    def run() -> None:
        provider = gcp.Provider("gcp", project="embedded-test", region="us-central1")
        world = World(provider)
        options = pulumi.ResourceOptions(provider=provider, depends_on=world.all)
        for number, (token, path) in enumerate(LIST, 10):
            inputs = {**BASES[token](world, number), **FIRST.get((token, path), {})}
            if mode == "then":
                inputs = changed(world, token, path, inputs)
            Any_(token, f"case-{number}", inputs, options)

    return run


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running(tmp_path_factory.mktemp("force-new")) as made:
        made.environment["PULUMI_SKIP_CHECKPOINTS"] = "true"
        made.stack("all", program("first")).up()
        yield made


def steps(cloud: Cloud, mode: str) -> dict[str, Step]:
    """The preview of a mode, by resource name."""
    found: dict[str, Step] = defaultdict(lambda: Step([], {}))
    for event in events(cloud.stack("all", program(mode)), preview=True):
        step = found[event.urn.rpartition("::")[2]]
        step.ops.append(event.op.value)
        for path, change in (event.detailed_diff or {}).items():
            step.changes[re.sub(r"\[[^\]]*\]", "", path)] = change.diff_kind.value
    return dict(found)


def test_nothing_changes_without_a_change(cloud: Cloud) -> None:
    assert {s for step in steps(cloud, "first").values() for s in step.ops} == {"same"}


def test_every_path_replaces_as_in_the_facts(cloud: Cloud) -> None:
    found = steps(cloud, "then")
    wrong = []
    for number, (token, path) in enumerate(LIST, 10):
        step = found[f"case-{number}"]
        where = f"{token} {path}: {step}"
        if "replace" not in step.ops or not any(covers(r, path) for r in step.replacing):
            wrong.append(f"must replace: {where}")
        if any(not any(covers(r, k) for k in paths(token)) for r in step.replacing):
            wrong.append(f"replaces for a path that the facts do not have: {where}")
    print(f"\nforce-new paths through the engine: {len(LIST)}, of {len(FACTS)} types; taken out by corrections: "
          f"{len(UPDATES)}; wrong: {len(wrong)}")  # fmt: skip
    assert not wrong, "\n".join(wrong)
