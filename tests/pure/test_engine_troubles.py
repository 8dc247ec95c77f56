"""What failed pools mean and what to try; which are given back; what a lock says. From data, without an engine."""

from __future__ import annotations

import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.plan import plan
from accelerator_fleet_engine import locks, retry
from accelerator_fleet_engine.events import Failure, Watch
from accelerator_fleet_engine.troubles import NODE_GROUP, NODE_POOL, kind_of, troubles

BASE = Path(__file__).resolve().parents[2] / "stacks" / "fleets" / "base.yaml"
SPEC = """\
extends: base
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 16, runtime: pytorch}
  - {name: slices, site: usc1, zone: us-central1-a, chip: tpu-v5e, topology: 4x4, cards: 32, runtime: jax}
"""


def told(tmp_path: Path, kind: str, name: str, text: str) -> list[str]:
    (tmp_path / "base.yaml").write_text(BASE.read_text())
    (tmp_path / "dev.yaml").write_text(SPEC)
    planned = plan(spec.load(tmp_path / "dev.yaml"), catalog.load())
    urn = f"urn:pulumi:dev::p::a:index:Pool${kind}::{name}"
    return [line for t in troubles(planned, catalog.load(), [Failure(urn, kind, name, text)], "AGAIN")
            for line in t.lines()]  # fmt: skip


def test_a_stock_out_names_zone_sites_and_ways_to_buy(tmp_path: Path) -> None:
    text = "AsgInstanceLaunchFailures: Could not launch On-Demand Instances. InsufficientInstanceCapacity - We"
    assert told(tmp_path, NODE_GROUP, "pretrain", text) == [
        "pool pretrain in us-east-2c (site use2) did not come up: us-east-2c has no p5.48xlarge to give now",
        "  try: zone: us-east-2a or us-east-2b (p5.48xlarge is offered there too)",
        "   or: site: usc1 (a3-highgpu-8g in us-central1-a or us-central1-b or us-central1-c)",
        "   or: capacity: {mode: reserved | capacity-block | spot}",
        "   or: wait, then AGAIN (it asks for this pool only)",
    ]


def test_a_slice_belongs_to_its_pool(tmp_path: Path) -> None:
    lines = told(tmp_path, NODE_POOL, "slices-1", 'NodePool x was created in the error state "ERROR"')
    assert lines[0].startswith(
        "pool slices in us-central1-a (site usc1) did not come up: GKE made it in state ERROR and "
    )
    assert lines[-1] == "   or: wait, then AGAIN (it asks for this pool only)"


def test_what_is_no_pool_gives_no_advice(tmp_path: Path) -> None:
    assert told(tmp_path, "aws:ec2/vpc:Vpc", "pretrain", "InsufficientInstanceCapacity") == []
    assert told(tmp_path, NODE_GROUP, "use2-system", "InsufficientInstanceCapacity") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("VcpuLimitExceeded - You have requested more vCPU", "quota"),
        ("The requested reservation does not: ReservationCapacityExceeded", "reservation"),
        ("Error 429: Reservation does not have enough resources for the request: specific reservation", "reservation"),
        ('reservation "r" not found for node pool "p" at zone "us-east5-a".', "no reservation"),
        ("NodeCreationFailure: Instances failed to join the kubernetes cluster", "join"),
        ("timeout while waiting for state to become 'ACTIVE' (last state: 'CREATING', timeout: 40m0s)", "slow"),
        ("exceeded maximum number of attempts, 25, https response error StatusCode: 503", "api"),
        ("You do not have permission", None),
    ],
)
def test_what_the_clouds_words_mean(text: str, kind: str | None) -> None:
    assert kind_of(text) == kind


def one(**more: object) -> dict[str, object]:
    return {"urn": f"urn:pulumi:d::p::{NODE_GROUP}::pretrain", "type": NODE_GROUP, "id": "c:g", **more}


def test_which_pools_are_given_back() -> None:
    made = retry.failed_pools([one(initErrors=["creating urn:…: 1 error occurred"])])
    assert [(p.name, p.identity, p.protected) for p in made] == [("pretrain", "c:g", False)]
    assert retry.failed_pools([one(outputs={"status": "CREATE_FAILED"}, protect=True)])[0].protected
    # A pool that runs and did not scale keeps its nodes and its work.
    assert retry.failed_pools([one(initErrors=["updating urn:…: 1 error occurred"])]) == []
    assert retry.failed_pools([one(outputs={"status": "ACTIVE"})]) == []
    assert retry.failed_pools([one(initErrors=["creating x"], type="aws:ec2/vpc:Vpc")]) == []


def test_a_lock_says_who_and_since_when(tmp_path: Path) -> None:
    folder = tmp_path / ".pulumi/locks/organization/p/dev"
    folder.mkdir(parents=True)
    holder = {"pid": os.getpid(), "username": "ann", "hostname": "box1", "timestamp": "2026-11-30T10:00:00.123456789Z"}
    (folder / "a.json").write_text(json.dumps(holder))
    (folder / "half.json").write_text('{"pid"')
    (found,) = locks.of_stack(tmp_path, "dev")
    assert not found.dead, "of another machine nobody here can know"
    now = datetime(2026, 11, 30, 10, 7, tzinfo=UTC)
    assert found.sentence(now).startswith(f"ann on box1, process {os.getpid()}, since 2026-11-30 ")
    assert found.sentence(now).endswith(" (7 min ago)")
    gone = {**holder, "hostname": socket.gethostname(), "pid": 2**22 + 1}
    (folder / "a.json").write_text(json.dumps(gone))
    assert next(iter(locks.of_stack(tmp_path, "dev"))).dead


def test_failures_are_kept_with_their_resource() -> None:
    watch = Watch()
    urn = f"urn:pulumi:dev::p::a:index:EksPool${NODE_GROUP}::pretrain"
    watch.take({"diagnosticEvent": {"severity": "error", "message": "no room", "urn": urn}})
    watch.take({"diagnosticEvent": {"severity": "error", "message": "update failed"}})
    assert [(f.type, f.name, f.text) for f in watch.failures] == [(NODE_GROUP, "pretrain", "no room")]
    assert len(watch.errors) == 2
