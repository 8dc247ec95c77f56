"""Every way to get machines on EKS, once through the engine, on one datacentre: on demand, spot, reserved, and a
capacity block that the fleet buys itself: bought once, empty until it starts, drained before it ends.

Printed by `-s`: what people read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = [pytest.mark.engine, pytest.mark.slow]

ENV = "modes"
OFFER = "cb-0e3bedded00000424"
SITE = """\
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
"""
SPEC = """\
extends: base
defaults: {{protect: false, kubernetes: "1.35"}}
sites:
  - {{name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}}
purchases:
  - {{name: jan, site: use2, offering: {offer}, machine: p5.48xlarge, zone: us-east-2b, nodes: 4,
     starts: "{starts}", ends: "{ends}", price: {fee}}}
pools:
  - {{name: demand, site: use2, chip: l4, cards: 1, machine: g6.xlarge, runtime: pytorch}}
  - {{name: spare, site: use2, chip: l4, cards: 1, machine: g6.xlarge, runtime: pytorch, capacity: {{mode: spot}}}}
  - {{name: held, site: use2, zone: us-east-2a, chip: h100, cards: 16, runtime: pytorch,
     capacity: {{mode: reserved, reservation: cr-0a1b2c3d4e5f60718}}}}
  - {{name: block, site: use2, chip: h100, cards: 16, runtime: pytorch,
     capacity: {{mode: capacity-block, reservation: purchase/jan}}}}
"""
ASK = """
import boto3, json, sys
service, operation, params = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
answer = getattr(boto3.client(service, region_name="us-east-2"), operation)(**params)
print(json.dumps(answer, default=lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ")))
"""
BOUGHT = "aws:ec2/capacityBlockReservation:CapacityBlockReservation::jan"


def ask(project: Project, service: str, operation: str, **params: Any) -> Any:
    """A call of boto3 to the datacentre's own API, as people make it to find an offering."""
    done = project.run_in(ENV, sys.executable, "-c", ASK, service, operation, json.dumps(params))
    return json.loads(done.stdout)


def offered(project: Project) -> dict[str, Any]:
    found = ask(project, "ec2", "describe_capacity_block_offerings", CapacityDurationHours=24)
    return {o["CapacityBlockOfferingId"]: o for o in found["CapacityBlockOfferings"]}


def block(project: Project) -> dict[str, Any]:
    found = ask(project, "ec2", "describe_capacity_reservations")["CapacityReservations"]
    (one,) = [r for r in found if r["ReservationType"] == "capacity-block"]
    return dict(one)


def nodes(project: Project, pool: str) -> list[dict[str, Any]]:
    path = f"/api/v1/nodes?labelSelector=accelerator-fleet.dev/pool={pool}"
    return list(project.kubectl("use2", path, env=ENV)["items"])


def until(project: Project, moment: str) -> None:
    """Lets simulated time run fast until a moment."""
    end = datetime.fromisoformat(moment).timestamp()
    while True:
        now = json.loads(project.fleet("sim", "status", "--json").stdout)["time"]
        left = end - datetime.fromisoformat(now).timestamp()
        project.fleet("sim", "clock", "--speed", str(max(60.0, min(10000.0, left / 4))) if left > 0 else "60")
        if left <= 0:
            return
        time.sleep(1)


def after(text: str, **more: float) -> str:
    return (datetime.fromisoformat(text) + timedelta(**more)).strftime("%Y-%m-%dT%H:%M:%SZ")


def changes(project: Project) -> list[tuple[str, str]]:
    return [(s["op"], s["urn"].rpartition("$")[2]) for s in project.preview(ENV)]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = Project(tmp_path_factory.mktemp("modes") / "project")
    try:
        made.add(ENV, "extends: base\n" + SITE)
        made.fleet("sim", "start")
        offer = offered(made)[OFFER]
        text = SPEC.format(offer=OFFER, starts=offer["StartDate"], ends=offer["EndDate"], fee=offer["UpfrontFee"])
        (made.folder / "stacks" / "fleets" / f"{ENV}.yaml").write_text(text)
        yield made
    finally:
        stop(made)


def spec(project: Project) -> Path:
    return project.folder / "stacks" / "fleets" / f"{ENV}.yaml"


def test_the_plan_says_what_is_bought(project: Project) -> None:
    said = project.fleet("plan", "--env", ENV).stdout
    print(said)
    assert f"mind: purchases[0]: `up` buys {OFFER}, once: 4 p5.48xlarge in us-east-2b," in said
    assert "AWS takes no block back: deleting the entry, the stack or the resource gives no money back" in said


def test_every_mode_comes_up_and_the_block_is_bought_once(project: Project) -> None:
    up = project.fleet("up", "--env", ENV)
    print(up.stdout[-3000:])
    assert [len(nodes(project, p)) for p in ("demand", "spare", "held", "block")] == [1, 1, 2, 0]
    bought = block(project)
    assert (bought["State"], bought["TotalInstanceCount"], bought["AvailableInstanceCount"]) == ("scheduled", 4, 0)
    assert OFFER not in offered(project)
    out = project.outputs(ENV)
    assert out["purchases"]["jan"]["id"] == bought["CapacityReservationId"]
    assert out["pools"]["held"]["release"] == "1.35.6-20260714"
    assert changes(project) == []
    actions = ask(project, "autoscaling", "describe_scheduled_actions")["ScheduledUpdateGroupActions"]
    times = sorted((a["StartTime"], a.get("DesiredCapacity")) for a in actions)
    assert times == [(after(bought["StartDate"], minutes=5), 2), (after(bought["EndDate"], minutes=-40), 0)]
    print(*(f"{a['StartTime']} -> {a.get('DesiredCapacity')}: {a['ScheduledActionName']}" for a in actions), sep="\n")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (OFFER, "cb-0e3bedded00000425", f"with {OFFER}, not cb-0e3bedded00000425; a purchase never changes"),
        ("nodes: 4", "nodes: 8", "with 4, not 8; a purchase never changes"),
    ],
)
def test_what_is_bought_cannot_be_edited(project: Project, old: str, new: str, text: str) -> None:
    before = spec(project).read_text()
    spec(project).write_text(before.replace(old, new, 1))
    try:
        done = project.pulumi("preview", env=ENV, ok=False)
        assert done.returncode != 0
        assert text in done.stdout + done.stderr
    finally:
        spec(project).write_text(before)


def test_neither_a_replacement_nor_a_destroy_touches_it(project: Project) -> None:
    exported = json.loads(project.pulumi("stack", "export", env=ENV).stdout)["deployment"]["resources"]
    (urn,) = [r["urn"] for r in exported if r["urn"].endswith(BOUGHT)]
    for command in (("up", "--yes", "--replace", urn), ("destroy", "--yes", "--target", urn)):
        done = project.pulumi(*command, env=ENV, ok=False)
        assert done.returncode != 0
        assert "protect" in done.stdout + done.stderr
    assert block(project)["State"] == "scheduled"


def test_a_block_that_the_state_lost_is_adopted_and_not_bought_again(project: Project) -> None:
    exported = json.loads(project.pulumi("stack", "export", env=ENV).stdout)
    resources = exported["deployment"]["resources"]
    (lost,) = [r["urn"] for r in resources if r["urn"].endswith(BOUGHT)]
    kept = [r for r in resources if r["urn"] != lost]
    for one in kept:
        one["dependencies"] = [u for u in one.get("dependencies") or [] if u != lost]
        pairs = (one.get("propertyDependencies") or {}).items()
        one["propertyDependencies"] = {k: [u for u in urns or [] if u != lost] for k, urns in pairs}
    exported["deployment"]["resources"] = kept
    file = project.folder / "state.json"
    file.write_text(json.dumps(exported))
    project.pulumi("stack", "import", "--file", str(file), env=ENV)
    said = project.fleet("recover", "--env", ENV, "--yes").stdout
    print(said)
    identity = block(project)["CapacityReservationId"]
    assert identity in said
    assert changes(project) == []
    assert project.outputs(ENV)["purchases"]["jan"]["id"] == identity


def test_nodes_come_when_the_block_starts(project: Project) -> None:
    starts = block(project)["StartDate"]
    until(project, after(starts, minutes=-5))
    assert nodes(project, "block") == []
    until(project, after(starts, minutes=10))
    deadline = time.monotonic() + 60
    while len(nodes(project, "block")) < 2 and time.monotonic() < deadline:
        time.sleep(1)
    assert len(nodes(project, "block")) == 2
    assert block(project)["AvailableInstanceCount"] == 2


def test_within_the_block_the_schedule_is_history(project: Project) -> None:
    """AWS deletes an action that has run and takes none for the past: the program asks for none any more."""
    now = after(block(project)["StartDate"], hours=1)
    project.pulumi("config", "set", "fleet:asOf", now, env=ENV)
    (change,) = changes(project)
    assert (change[0], change[1].rpartition("::")[0]) == ("delete", "aws:autoscaling/schedule:Schedule")
    project.pulumi("up", "--yes", "--refresh", env=ENV)
    assert len(nodes(project, "block")) == 2
    assert changes(project) == []


def test_nodes_go_before_the_block_ends(project: Project) -> None:
    ends = block(project)["EndDate"]
    until(project, after(ends, minutes=-38))
    deadline = time.monotonic() + 60
    while nodes(project, "block") and time.monotonic() < deadline:
        time.sleep(1)
    assert nodes(project, "block") == []
    assert [len(nodes(project, p)) for p in ("demand", "spare", "held")] == [1, 1, 2]


def test_an_upgrade_takes_the_nodes_along_after_the_control_plane(project: Project) -> None:
    """And one step at a time; the nodes of the reservation are recycled, in place."""
    before = {n["metadata"]["uid"] for n in nodes(project, "held")}
    spec(project).write_text(spec(project).read_text().replace('"1.35"', '"1.37"'))
    done = project.pulumi("preview", env=ENV, ok=False)
    assert (
        "runs 1.35, and EKS goes one minor version at a time, not to 1.37; nearest: 1.36" in done.stdout + done.stderr
    )
    spec(project).write_text(spec(project).read_text().replace('"1.37"', '"1.36"'))
    groups = {"demand", "spare", "held", "block", f"accel-{ENV}-use2-system"}
    found = changes(project)
    assert {op for op, _ in found} == {"update"}
    assert {f"aws:eks/nodeGroup:NodeGroup::{g}" for g in groups} <= {what for _, what in found}
    project.pulumi("up", "--yes", env=ENV)
    held = nodes(project, "held")
    assert len(held) == 2
    assert not before & {n["metadata"]["uid"] for n in held}
    assert project.outputs(ENV)["pools"]["held"]["release"] == "1.36.3-20260903"
    assert changes(project) == []


def test_a_release_alone_recycles_a_pool_and_none_goes_back(project: Project) -> None:
    text = spec(project).read_text()
    old = "capacity: {mode: reserved, reservation: cr-0a1b2c3d4e5f60718}}"
    spec(project).write_text(text.replace(old, f"version: 1.36.2-20260714, {old}"))
    assert changes(project) == [("update", "aws:eks/nodeGroup:NodeGroup::held")]
    done = project.pulumi("up", "--yes", env=ENV, ok=False)
    assert "You cannot roll back a node group to an earlier AMI version" in done.stdout + done.stderr
    spec(project).write_text(text)
    project.pulumi("up", "--yes", "--refresh", env=ENV)
    assert changes(project) == []


def test_a_block_that_has_ended_is_told_before_anything_is_asked(project: Project) -> None:
    ends = block(project)["EndDate"]
    project.pulumi("config", "set", "fleet:asOf", ends, env=ENV)
    done = project.pulumi("preview", env=ENV, ok=False)
    assert done.returncode != 0
    said = f"pools[3].capacity.reservation: purchase/jan ended at {ends}, and its machines with it; name another, or "
    assert said in done.stdout + done.stderr
    project.pulumi("config", "rm", "fleet:asOf", env=ENV)


def test_forgetting_it_gives_nothing_back(project: Project) -> None:
    """Out of the spec and of the state, it is still there, and its offering is nobody's any more."""
    text = spec(project).read_text()
    spec(project).write_text(text[: text.index("  - {name: block")])
    project.pulumi("up", "--yes", env=ENV)
    text = spec(project).read_text()
    spec(project).write_text(text[: text.index("purchases:")] + text[text.index("pools:") :])
    done = project.pulumi("up", "--yes", env=ENV, ok=False)
    assert "is bought and no longer in the spec; it stays until it ends. AWS takes no block back" in done.stdout
    assert done.returncode != 0, "its protection refuses the delete"
    exported = json.loads(project.pulumi("stack", "export", env=ENV).stdout)["deployment"]["resources"]
    (urn,) = [r["urn"] for r in exported if r["urn"].endswith(BOUGHT)]
    project.pulumi("state", "delete", urn, "--force", "--yes", env=ENV)
    project.pulumi("up", "--yes", env=ENV)
    assert block(project)["TotalInstanceCount"] == 4
    assert OFFER not in offered(project)
