"""Every force-new path of every AWS type that a fleet uses, through the real engine: operation and paths as the facts.

Expected values come from data/aws_force_new.json, a copy of the project's facts, never from the simulator.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest
from pulumi import automation as auto

from tests.engine.force_new_cases import CASES, HARMLESS, Case
from tests.engine.force_new_world import BASES, Any_, World
from tests.sim.cloud import ACCOUNT, REGION, Cloud, events, running

pytestmark = [pytest.mark.engine, pytest.mark.slow]
FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "aws_force_new.json").read_text())["types"]
# Pulumi's bridge deletes these first, whatever their name: pulumi-aws provider/resources.go
DELETED_FIRST = {"aws:efs/mountTarget:MountTarget", "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
                 "aws:ecr/lifecyclePolicy:LifecyclePolicy"}  # fmt: skip
NAMES = {"aws:eks/nodeGroup:NodeGroup": "nodeGroupName", "aws:efs/fileSystem:FileSystem": "creationToken",
         "aws:s3/bucket:Bucket": "bucket"}  # fmt: skip
# A path that cannot differ while the value around it stays: the change is seen at or under the path itself.
LIST: list[tuple[str, str, Case]] = [(t, p, c) for t, cases in CASES.items() for p, c in cases.items()]
ALL = LIST + HARMLESS
REGIONAL = {t for t, facts in FACTS.items() if any(c["path"] == "region" for c in facts["force_new_if"])}


@dataclass
class Step:
    """What the engine said about one resource."""

    ops: list[str]
    changes: dict[str, str]  # path without indexes -> kind

    @property
    def replacing(self) -> set[str]:
        return {p for p, kind in self.changes.items() if kind.endswith("-replace")}


def patched(inputs: dict[str, Any], patch: Any, world: World) -> dict[str, Any]:
    """Inputs with a patch laid over them."""
    laid = {**inputs, **(patch(world) if callable(patch) else patch)}
    return {k: v for k, v in laid.items() if v is not None}


def program(mode: str) -> Any:
    """The stack's program: make, first, then (every case mutated), region (one resource a type elsewhere)."""

    def run() -> None:
        provider = aws.Provider("aws", region=REGION, allowed_account_ids=[ACCOUNT])
        world = World(provider)
        after = [*world.attached, *world.after_gateway]
        options = pulumi.ResourceOptions(provider=provider, depends_on=after)
        moved: set[str] = set()
        for number, (token, _, case) in enumerate(ALL, 10):
            inputs = patched(BASES[token](world, number), case.first, world)
            if mode != "make":
                inputs = patched(inputs, case.state, world)
            if mode == "then":
                inputs = patched(inputs, case.then, world)
            if mode == "region" and token in REGIONAL - moved:
                moved.add(token)
                inputs["region"] = "us-west-2"
            Any_(token, f"case-{number}", inputs, options)
        Any_("aws:ec2/internetGateway:InternetGateway", "case-0",
             {"region": "us-west-2"} if mode == "region" else {}, options)  # fmt: skip

    return run


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running(tmp_path_factory.mktemp("force-new")) as made:
        made.environment["PULUMI_SKIP_CHECKPOINTS"] = "true"
        stack = made.stack("all", program("make"))
        stack.up()
        lay_states(stack)
        yield made


def lay_states(stack: auto.Stack) -> None:
    """Lay `state` of the cases over the stack's state."""
    states = {f"case-{number}": case.state for number, (_, _, case) in enumerate(ALL, 10) if case.state}
    deployment = stack.export_stack()
    for resource in (deployment.deployment or {})["resources"]:
        for name, value in states.get(resource["urn"].rpartition("::")[2], {}).items():
            for part in ("inputs", "outputs"):
                resource[part].pop(name, None)
                if value is not None:
                    resource[part][name] = value
    stack.import_stack(deployment)


def steps(cloud: Cloud, mode: str) -> dict[str, Step]:
    """The preview of a mode, by resource name."""
    found: dict[str, Step] = defaultdict(lambda: Step([], {}))
    for event in events(cloud.stack("all", program(mode)), preview=True):
        step = found[event.urn.rpartition("::")[2]]
        step.ops.append(event.op.value)
        for path, change in (event.detailed_diff or {}).items():
            step.changes[re.sub(r"\[[^\]]*\]", "", path)] = change.diff_kind.value
    return dict(found)


def covers(reported: str, path: str) -> bool:
    """The path itself, something under it, or the whole block around it that came or went."""
    return reported == path or reported.startswith(f"{path}.") or path.startswith(f"{reported}.")


def known(token: str) -> set[str]:
    """Every path of a type that the facts say replaces."""
    facts = FACTS[token]
    return {*facts["force_new"], *facts["force_new_presence"], *(c["path"] for c in facts["force_new_if"])}


def named_by_program(token: str, inputs: Any) -> bool:
    return isinstance(inputs, dict) and NAMES.get(token, "name") in inputs


def test_the_cases_are_all_paths_of_the_facts() -> None:
    for token in FACTS:
        assert set(CASES[token]) | {"region"} >= known(token), token
        assert set(CASES[token]) <= known(token), token


def test_nothing_changes_without_a_change(cloud: Cloud) -> None:
    assert {s for step in steps(cloud, "first").values() for s in step.ops} == {"same"}


def test_every_path_replaces_as_in_the_facts(cloud: Cloud) -> None:
    found = steps(cloud, "then")
    wrong = []
    for number, (token, path, case) in enumerate(ALL, 10):
        step = found[f"case-{number}"]
        where = f"{token} {path}: {step}"
        if not case.replaces:
            if "update" not in step.ops or step.replacing or path not in step.changes:
                wrong.append(f"must update: {where}")
            continue
        if "replace" not in step.ops or not any(covers(r, path) for r in step.replacing):
            wrong.append(f"must replace: {where}")
        if any(not any(covers(r, k) for k in known(token)) for r in step.replacing):
            wrong.append(f"replaces for a path that the facts do not have: {where}")
        first = token in DELETED_FIRST or (named_by_program(token, case.first) and named_by_program(token, case.then))
        order = [op for op in step.ops if op in ("create-replacement", "delete-replaced")]
        if order != (["delete-replaced", "create-replacement"] if first else ["create-replacement", "delete-replaced"]):
            wrong.append(f"deleted {'first' if first else 'last'}: {where}")
    print(f"\nforce-new paths through the engine: {len(LIST)}, of {len(CASES)} types; "
          f"changes that must not replace: {len(HARMLESS)}; wrong: {len(wrong)}")  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_another_region_replaces(cloud: Cloud) -> None:
    found = steps(cloud, "region")
    moved = {token: f"case-{n}" for n, (token, _, _) in reversed(list(enumerate(ALL, 10)))}
    moved["aws:ec2/internetGateway:InternetGateway"] = "case-0"
    for token in REGIONAL:
        step = found[moved[token]]
        assert step.replacing == {"region"}, f"{token}: {step}"
    print(f"\nregion through the engine: {len(REGIONAL)} types")
