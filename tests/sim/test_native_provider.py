"""The provider `accelerator-fleet-native` through its gRPC methods, on the embedded datacentre's Cloud TPU API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from accelerator_fleet_native.client import OVERRIDE, WrongPlace, check_project, connect
from accelerator_fleet_native.fields import inputs
from accelerator_fleet_native.values import from_struct
from tests.sim.native import ID, Aborted, Native, native
from tests.sim.project import PROJECT, Project


@pytest.fixture
def n(tmp_path: Path) -> Iterator[Native]:
    with native(Project(tmp_path), tmp_path) as made:
        yield made


def test_returns_in_the_queue_or_when_active(n: Native) -> None:
    out = n.create()
    assert out["state"] in ("ACCEPTED", "PROVISIONING", "ACTIVE")
    assert (out["name"], out["labels"], out["nodeId"]) == (ID, {"fleet": "x"}, "qr")
    n.delete()
    assert not n.read().id
    out = n.create(wait="active")
    assert (out["state"], out["nodes"]) == ("ACTIVE", [f"projects/{PROJECT}/locations/us-central1-a/nodes/qr"])
    n.delete()
    n.delete()  # gone is deleted


def test_import_reads_every_input(n: Native) -> None:
    given: dict[str, Any] = {
        "nodeCount": 2, "provision": "spot", "description": "d", "labels": {"a": "b"}, "tags": ["t"],
        "metadata": {"k": "v"}, "validUntil": "2099-01-01T00:00:00Z", "enableExternalIps": True, "wait": "active",
    }  # fmt: skip
    wanted = n.inputs(**given)
    n.create(**given)
    found = n.read()
    assert from_struct(found.inputs) == {k: v for k, v in wanted.items() if k != "__defaults"} | {"wait": "accepted"}
    assert from_struct(n.read(wanted).inputs) == wanted
    assert len(from_struct(found.properties)["nodes"]) == 2


def test_every_field_replaces_but_those_of_update_node(n: Native) -> None:
    old = n.inputs(labels={"a": "1"})
    other: dict[str, Any] = {
        "queuedResourceId": "other", "project": "embedded-other", "zone": "us-west4-a",
        "acceleratorType": "v5litepod-8", "topology": "4x4", "runtimeVersion": "x", "nodeId": "other",
        "nodeCount": 2, "network": "other",
        "subnetwork": "other", "enableExternalIps": True, "serviceAccount": "a@b", "provision": "spot",
        "reservation": "r", "validUntil": "24h", "description": "d", "labels": {"a": "2"}, "tags": ["t"],
        "metadata": {"k": "v"}, "wait": "active",
    }  # fmt: skip
    assert set(other) == set(inputs())
    for key, value in other.items():
        found = n.diff(old, {**old, key: value})
        in_place = inputs()[key].in_place is not None
        assert (list(found.diffs), list(found.replaces)) == ([key], [] if in_place else [key]), key
        assert found.detailedDiff[key].kind == (4 if in_place else 5)
        # A name that stays makes room first; another zone has names of its own.
        assert found.deleteBeforeReplace == (not in_place and key not in ("zone",)), key
    assert n.diff(old, {k: v for k, v in old.items() if k not in ("wait", "nodeCount")}).changes == 1
    both = {**old, "queuedResourceId": "b", "nodeId": "b", "provision": "spot"}
    assert not n.diff(old, both).deleteBeforeReplace


def test_a_drawn_name_is_kept_and_makes_no_room(n: Native) -> None:
    old = n.inputs(queuedResourceId=None)
    assert (old["queuedResourceId"], old["__defaults"]) == ("tpu-3031323", ["queuedResourceId", "nodeId"])
    new = n.inputs(old, queuedResourceId=None, acceleratorType="v5litepod-32")
    assert new["queuedResourceId"] == old["queuedResourceId"]
    found = n.diff(old, new)
    assert (list(found.replaces), found.deleteBeforeReplace) == (["acceleratorType"], False)


def test_update_changes_the_nodes(n: Native) -> None:
    n.create(wait="active")
    old = n.inputs()
    new = n.inputs(labels={"b": "2"}, tags=["t"], metadata={"k": "v"}, description="d", enableExternalIps=True)
    out = n.update(old, new)
    assert out["labels"] == {"b": "2", "fleet": "x"}
    seen = from_struct(n.read(new).inputs)
    assert seen == new
    node = n.project.scope.all("gcp:tpu/v2Vm:V2Vm")[0].outputs
    assert (node["labels"], node["tags"], node["description"]) == ({"b": "2", "fleet": "x"}, ["t"], "d")


def test_nothing_to_change_while_there_are_no_nodes(n: Native) -> None:
    n.project.world.faults.add({"kind": "stockout"})
    n.create()
    with pytest.raises(Aborted, match=r"labels: .* is (ACCEPTED|WAITING_FOR_RESOURCES), without nodes to change yet"):
        n.update(n.inputs(), n.inputs(labels={"b": "2"}))


def test_waits_on_after_the_wait_was_over(n: Native) -> None:
    fault = n.project.world.faults.add({"kind": "stockout"})
    n.servicer.cancelled.set()
    with pytest.raises(Aborted, match=r"is (CREATING|ACCEPTED|WAITING_FOR_RESOURCES): the run was stopped") as found:
        n.create(wait="active")
    assert found.value.detail.id == ID
    n.servicer.cancelled = Event()
    n.project.world.faults.clear(fault.id)
    assert n.update(n.inputs(wait="active"), n.inputs(wait="active"))["state"] == "ACTIVE"


def test_failed_is_remembered_and_not_asked_for_again(n: Native) -> None:
    n.project.world.faults.add({"kind": "failed"})
    with pytest.raises(
        Aborted, match=r"qr in us-central1-a is FAILED: .*internal error.*(?s:.*)fleet up --retry tpu`"
    ) as e:
        n.create(wait="active")
    detail = e.value.detail
    assert (detail.id, from_struct(detail.properties)["state"]) == (ID, "FAILED")
    assert "internal error" in from_struct(detail.properties)["error"]
    n.project.world.faults.clear()
    same = n.inputs(wait="active")
    with pytest.raises(Aborted, match="is FAILED"):  # what the engine does on the next `up`
        n.update(same, same)
    assert n.update(same, n.inputs(wait="active", labels={"b": "2"}))["state"] == "FAILED"  # labels are no trouble
    n.delete()
    assert n.create(wait="active")["state"] == "ACTIVE"


def test_preempted_spot_shows_as_suspended(n: Native) -> None:
    n.create(wait="active", provision="spot")
    n.project.control.queued.look(n.project.world.faults.add({"kind": "preempted"}))
    for _ in range(200):
        out = from_struct(n.read(n.inputs(provision="spot")).properties)
        if out["state"] == "SUSPENDED":
            break
        n.servicer.cancelled.wait(0.05)
    assert (out["state"], out["stateInitiator"], out["nodes"]) == ("SUSPENDED", "SERVICE", [])
    assert n.diff(n.inputs(provision="spot"), n.inputs(provision="spot")).changes == 1  # not replaced by itself


def test_a_lost_answer_does_not_make_it_twice(n: Native) -> None:
    n.project.world.faults.add({"kind": "timeout-after-create", "times": 1})
    assert n.create(wait="active")["state"] == "ACTIVE"
    assert len(n.project.scope.all("gcp:tpu/v2QueuedResource:V2QueuedResource")) == 1
    with pytest.raises(Aborted, match=f"ALREADY_EXISTS(?s:.*)fleet recover(?s:.*)pulumi import .* tpu {ID}"):
        n.create()


def test_what_the_api_refuses_leaves_nothing(n: Native) -> None:
    with pytest.raises(Aborted, match="NOT_FOUND: The network 'none' was not found") as found:
        n.create(network="none", subnetwork=None)
    assert found.value.detail is None


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"acceleratorType": "v5e-16"}, "acceleratorType: 'v5e-16' is no accelerator type; they are v4-N, v5litepod-N"),
        ({"topology": "2x4"}, "topology: v5litepod-16 is 4x4 (16 chips), not 2x4"),
        ({"runtimeVersion": "v2-alpha-tpuv5"}, "'v2-alpha-tpuv5' is not of v5litepod-16; v2-alpha-tpuv5-lite"),
        ({"zone": None}, "zone: is needed"),
        ({"colour": "red"}, "colour: no such property"),
        ({"provision": "free"}, "provision: 'free'; one of: on-demand, spot, reserved"),
        ({"provision": "reserved"}, "reservation: provision reserved names its reservation"),
        ({"provision": "spot", "reservation": "r"}, "reservation: spot uses no reservation"),
        ({"validUntil": "soon"}, "validUntil: 'soon': a time like"),
        ({"validUntil": "2027-01-01T00:00:00"}, "validUntil"),
        ({"nodeCount": 0}, "nodeCount: 0: at least 1"),
        ({"nodeCount": "two"}, "nodeCount: must be of type integer"),
        ({"queuedResourceId": "a b"}, "queuedResourceId: 'a b'"),
        ({"labels": {"a": 1}}, "labels: values must be strings"),
        ({"project": "embedded-other"}, "project: 'embedded-other' is not the provider's project embedded-test"),
    ],
)
def test_wrong_inputs(n: Native, wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError) as found:
        n.inputs(**wrong)
    assert text in str(found.value)


def test_projects_and_endpoints_belong_together() -> None:
    check_project("embedded-x", "http://127.0.0.1:15002/")
    check_project("research", "")
    check_project("research", "https://tpu.example.com/")
    for project, where in (("embedded-x", ""), ("embedded-x", "https://tpu.googleapis.com/"),
                           ("research", "http://127.0.0.1:15002/"), ("research", "localhost:15002")):  # fmt: skip
        with pytest.raises(WrongPlace, match=f"project {project}"):
            check_project(project, where)
    assert OVERRIDE == "CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU"


def test_previews_ask_nobody(n: Native) -> None:
    out = n.create(preview=True, network="none")
    assert repr(out["state"]) == "<unknown>"
    assert n.project.scope.all("gcp:tpu/v2QueuedResource:V2QueuedResource") == []


@pytest.mark.parametrize(
    ("where", "host"),
    [("", "tpu.googleapis.com:443"), ("https://tpu.example.com/", "tpu.example.com:443")],
)
def test_a_real_project_asks_google_with_its_own_credentials(
    where: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import google.auth
    from google.auth.credentials import AnonymousCredentials

    own = AnonymousCredentials()
    monkeypatch.setattr(google.auth, "default", lambda scopes: (own, "research"))
    monkeypatch.setenv(OVERRIDE, where)
    assert connect("research").transport.host == host
    with pytest.raises(WrongPlace):
        connect("embedded-research")
