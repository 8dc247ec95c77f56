"""Cloud TPU queued resources of the embedded datacentre, through google-cloud-tpu's own client."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions as google
from google.cloud import tpu_v2
from google.protobuf.field_mask_pb2 import FieldMask

from tests.sim.project import PROJECT, Project, slice_of
from tests.sim.queue import PARENT, Queue, queue

EVERY = {"type": "gcp:tpu/v2QueuedResource:V2QueuedResource"}


@pytest.fixture
def q(tmp_path: Path) -> Iterator[Queue]:
    with queue(Project(tmp_path), tmp_path) as made:
        yield made


def test_accepted_to_active(q: Queue) -> None:
    operation = q.create()
    assert not operation.done()
    assert q.states() == ["CREATING", "ACCEPTED", "PROVISIONING", "ACTIVE"]
    assert operation.done()
    assert operation.result().name == f"{PARENT}/queuedResources/qr"
    assert operation.metadata.verb == "create"
    node = q.client.get_node(name=f"{PARENT}/nodes/one")
    assert (node.state.name, node.health.name) == ("READY", "HEALTHY")
    assert node.accelerator_config == tpu_v2.AcceleratorConfig(type_="V5LITE_POD", topology="4x4")
    assert [e.ip_address for e in node.network_endpoints][:2] == ["10.20.15.253", "10.20.15.252"]
    assert (len(node.network_endpoints), node.multislice_node, node.queued_resource) == (4, False, q.get().name)
    assert [n.name for n in q.client.list_nodes(parent=f"projects/{PROJECT}/locations/-")] == [node.name]
    listed = list(q.client.list_queued_resources(parent=PARENT))
    assert [(r.name, r.state.state.name) for r in listed] == [(q.get().name, "ACTIVE")]


def test_multislice_spot_with_labels(q: Queue) -> None:
    names = {"multislice_params": {"node_count": 3, "node_id_prefix": "np"}}
    q.create(names=names, spot={}, node={"labels": {"fleet": "x"}, "tags": ["t"], "metadata": {"a": "b"}})
    q.run()
    nodes = list(q.client.list_nodes(parent=PARENT))
    assert [n.name.rpartition("/")[2] for n in nodes] == ["np-0", "np-1", "np-2"]
    assert all(n.multislice_node and n.scheduling_config.spot and dict(n.labels) == {"fleet": "x"} for n in nodes)
    addresses = [e.ip_address for n in nodes for e in n.network_endpoints]
    assert len(addresses) == len(set(addresses)) == 12


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"node": {"accelerator_type": "v5litepod-12"}}, google.InvalidArgument, "could not be found in the zonal"),
        ({"node": {"accelerator_type": "v4-32"}}, google.InvalidArgument, "v4-32 was not found in zone us-central1-a"),
        ({"node": {"accelerator_config": {"type_": "V5LITE_POD", "topology": "4x4"}}}, google.InvalidArgument,
         "mutually exclusive"),
        ({"node": {"accelerator_type": None}}, google.InvalidArgument, "accelerator type of the node"),
        ({"node": {"accelerator_type": None, "accelerator_config": {"type_": "V5LITE_POD", "topology": "3x3"}}},
         google.InvalidArgument, 'accelerator config, "V5LITE_POD 3x3"'),
        ({"node": {"runtime_version": "v2-alpha-tpuv5"}}, google.InvalidArgument, "runtime version"),
        ({"node": {"runtime_version": None}}, google.InvalidArgument, "runtime version"),
        ({"node_id": "a/b"}, google.InvalidArgument, "must match"),
        ({"names": {"multislice_params": {"node_count": 1}}}, google.InvalidArgument, "greater than 1"),
        ({"parent": f"projects/{PROJECT}/locations/us-central1-c"}, google.InvalidArgument, "node's parent"),
        ({"parent": f"projects/{PROJECT}/locations/-"}, google.InvalidArgument, "one zone"),
        ({"identity": "a b"}, google.InvalidArgument, "must match"),
        ({"node": {"network_config": None}}, google.NotFound, "'default' was not found"),
        ({"node": {"network_config": {"subnetwork": "none"}}}, google.NotFound, "subnetwork 'none'"),
        ({"node": {"service_account": {"email": "x@y"}}}, google.InvalidArgument, "does not exist"),
        ({"node": {"labels": {"Fleet": "x"}}}, google.InvalidArgument, "Label"),
        ({"node": {"description": "x" * 513}}, google.InvalidArgument, "512"),
        ({"node": {"data_disks": [{"source_disk": "d"}]}}, google.MethodNotImplemented, "not simulated"),
        ({"reservation_name": "train-v5e"}, google.InvalidArgument, "must be projects/"),
        ({"reservation_name": f"{PARENT}/reservations/none"}, google.NotFound, "not found"),
        ({"reservation_name": f"{PARENT}/reservations/train-h100"}, google.InvalidArgument, "is of a3-highgpu-8g"),
        ({"spot": {}, "reservation_name": f"{PARENT}/reservations/train-v5e"}, google.InvalidArgument, "Spot"),
        ({"queueing_policy": {"valid_until_time": datetime(2020, 1, 1, tzinfo=UTC)}}, google.InvalidArgument, "future"),
        ({"node": {"accelerator_type": "v5litepod-256"}, "names": {"multislice_params": {"node_count": 3}}},
         google.ResourceExhausted, "'TPUV5sLitepodPerProjectPerZoneForTPUAPI' has been exceeded. Limit: 512"),
    ],
)  # fmt: skip
def test_refusals(q: Queue, change: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        q.create(**change)
    assert list(q.client.list_queued_resources(parent=PARENT)) == []


def test_a_name_is_taken_once_and_a_request_id_means_the_same(q: Queue) -> None:
    first = q.create(request_id="abc")
    assert q.create(request_id="abc").operation.name == first.operation.name
    with pytest.raises(google.AlreadyExists):
        q.create()
    q.run()
    with pytest.raises(google.AlreadyExists, match="nodes/one"):
        q.create("other")


def test_waits_for_machines_then_fails_when_its_time_is_over(q: Queue) -> None:
    q.project.world.catalog.account["stock"]["ct5lp-hightpu-4t"]["us-central1-a"] = 4
    q.create("first")
    q.run()
    q.create("qr", node_id="two", queueing_policy={"valid_until_duration": timedelta(hours=2)})
    assert q.states(steps=4) == ["CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES"]
    q.run(200)
    found = q.get()
    assert found.state.state.name == "FAILED"
    assert "before the end of its validity" in found.state.failed_data.error.message
    assert q.project.clock.now() - found.create_time.timestamp() == pytest.approx(7200, abs=5)
    assert not [n for n in q.client.list_nodes(parent=PARENT) if n.name.endswith("two")]
    q.delete()
    q.run()
    with pytest.raises(google.NotFound):
        q.get()
    q.create("third", node_id="three")
    assert q.states("third", 5)[-1] == "WAITING_FOR_RESOURCES"
    q.delete("first", force=True)
    assert q.states("third", 60)[-1] == "ACTIVE"


def test_a_gke_pool_and_a_queued_resource_share_stock(q: Queue) -> None:
    q.project.world.catalog.account["stock"]["ct5lp-hightpu-4t"]["us-central1-a"] = 4
    q.create()
    q.run()
    from tests.sim.project import Refusal, cluster_inputs

    there = {"vpc": "projects/embedded-test/global/networks/net",
             "subnet": "projects/embedded-test/regions/us-central1/subnetworks/sub"}  # fmt: skip
    made = q.project.create("Cluster", **cluster_inputs(there))
    with pytest.raises(Refusal):
        q.project.pool(made, "tpu", "ct5lp-hightpu-4t", 4, **slice_of("4x4"))


def test_a_reservation_has_room_or_not(q: Queue) -> None:
    q.project.world.catalog.account["reservations"][1]["count"] = 4
    name: dict[str, Any] = {"reservation_name": f"{PARENT}/reservations/train-v5e", "guaranteed": {}}
    q.create("a", node_id="a", **name)
    q.run()
    assert q.state("a") == "ACTIVE"
    q.create("b", node_id="b", **name)
    assert q.states("b", 6)[-1] == "WAITING_FOR_RESOURCES"


def test_delete_needs_force_while_there_are_nodes(q: Queue) -> None:
    q.create()
    q.run()
    with pytest.raises(google.FailedPrecondition):
        q.delete()
    q.delete(force=True)
    assert q.state() == "DELETING"
    q.run()
    with pytest.raises(google.NotFound):
        q.get()
    assert list(q.client.list_nodes(parent=PARENT)) == []
    q.create()  # name and node id are free again


def test_a_deleted_node_suspends_its_queued_resource(q: Queue) -> None:
    q.create()
    q.run()
    q.client.delete_node(name=f"{PARENT}/nodes/one")
    assert q.state() == "SUSPENDING"
    q.run()
    found = q.get().state
    assert (found.state.name, found.state_initiator.name) == ("SUSPENDED", "USER")
    q.delete()
    q.run()


def test_update_node_takes_its_own_fields_only(q: Queue) -> None:
    q.create(node={"labels": {"a": "1"}, "description": "before"})
    q.run()
    name = f"{PARENT}/nodes/one"

    def update(paths: list[str], **fields: Any) -> Any:
        node = tpu_v2.Node(name=name, **fields)
        return q.client.update_node(node=node, update_mask=FieldMask(paths=paths))

    update(["labels", "metadata", "network_config.enable_external_ips"], labels={"b": "2"}, metadata={"k": "v"},
           network_config={"enable_external_ips": True}, description="not in the mask")  # fmt: skip
    assert dict(q.client.get_node(name=name).labels) == {"a": "1"}  # not before the operation is done
    q.run()
    node = q.client.get_node(name=name)
    assert (dict(node.labels), dict(node.metadata), node.description) == ({"b": "2"}, {"k": "v"}, "before")
    assert node.network_config.enable_external_ips
    assert node.network_endpoints[0].access_config.external_ip
    assert dict(q.get().tpu.node_spec[0].node.labels) == {"a": "1"}  # the request stays what it was
    with pytest.raises(google.InvalidArgument, match="accelerator_type; supported fields: description, tags"):
        update(["accelerator_type"], accelerator_type="v5litepod-8")
    with pytest.raises(google.NotFound):
        q.client.update_node(node=tpu_v2.Node(name=f"{PARENT}/nodes/x"), update_mask=FieldMask(paths=["labels"]))


def test_faults_end_it(q: Queue) -> None:
    faults = q.project.world.faults
    faults.add({"kind": "failed", "name": "bad"})
    q.create("bad", node_id="bad")
    assert q.states("bad")[-1] == "FAILED"
    assert q.get("bad").state.failed_data.error.code == 13
    faults.clear()
    q.create("spot", node_id="spot", spot={})
    q.create("sure", node_id="sure")
    q.run()
    q.project.control.queued.look(faults.add({"kind": "preempted"}))
    assert q.states("spot")[-2:] == ["SUSPENDING", "SUSPENDED"]
    assert q.get("spot").state.state_initiator.name == "SERVICE"
    assert q.state("sure") == "ACTIVE"  # only spot is preempted
    q.project.control.queued.look(faults.add({"kind": "suspended", "name": "sure"}))
    q.run()
    assert q.state("sure") == "SUSPENDED"
    assert list(q.client.list_nodes(parent=PARENT)) == []


def test_faults_of_calls(q: Queue) -> None:
    faults = q.project.world.faults
    faults.add({"kind": "5xx", **EVERY, "times": 1})
    with pytest.raises(google.ServiceUnavailable):
        q.create()
    faults.add({"kind": "quota", "times": 1})
    with pytest.raises(google.ResourceExhausted):
        q.create()
    faults.add({"kind": "timeout-after-create", **EVERY, "times": 1})
    with pytest.raises(google.ServiceUnavailable, match="connection reset"):
        q.create()
    assert q.state() == "CREATING"  # it is there
    faults.add({"kind": "stale-read", **EVERY, "seconds": 600})
    with pytest.raises(google.NotFound):
        q.get()


def test_subnetwork_of_a_node_stays(q: Queue) -> None:
    from tests.sim.project import Refusal

    q.create()
    q.run()
    with pytest.raises(Refusal, match="already being used by"):
        q.project.delete("Subnetwork", "projects/embedded-test/regions/us-central1/subnetworks/sub")
