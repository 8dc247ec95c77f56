"""Google's read APIs: shaped by the discovery documents; what is not known is refused, never left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import requests
from google.api_core.exceptions import NotFound, PermissionDenied, Unauthenticated
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuGrpcTransport

from accelerator_fleet_sim.apis.google.access import Access
from accelerator_fleet_sim.apis.google.routes import ROUTES
from accelerator_fleet_sim.apis.google.shapes import Misshapen, checked, shaped
from accelerator_fleet_sim.apis.google.tpu import TpuServer
from accelerator_fleet_sim.google.errors import GoogleError
from tests.sim.api_project import Asker, asking, world
from tests.sim.project import PROJECT, REGION, ZONE, Project, Refusal, gpus

P = f"projects/{PROJECT}"
MAIN = f"v1/{P}/locations/{REGION}/clusters/main"


@pytest.fixture
def ask(project: Project, tmp_path: Path) -> Iterator[Asker]:
    with asking(project, tmp_path) as made:
        yield made


def end_operations(project: Project) -> None:
    """Time passes."""
    for operation in project.store.running():
        project.operations.end(operation.id)


def test_a_cluster_as_gke_shows_it(project: Project, ask: Asker) -> None:
    world(project)
    found = ask("container", f"v1/{P}/locations/-/clusters")["clusters"]
    assert [c["name"] for c in found] == ["main"]
    cluster = ask("container", MAIN)
    assert cluster == found[0]
    assert cluster["selfLink"] == f"https://container.googleapis.com/{MAIN}"
    assert (cluster["status"], cluster["location"], cluster["network"]) == ("RUNNING", REGION, "net")
    assert cluster["networkConfig"]["network"] == f"{P}/global/networks/net"
    assert cluster["networkConfig"]["datapathProvider"] == "ADVANCED_DATAPATH"
    assert cluster["resourceLabels"]["fleet"] == "accel"
    assert cluster["defaultMaxPodsConstraint"] == {"maxPodsPerNode": "110"}
    assert cluster["masterAuthorizedNetworksConfig"]["enabled"] is True
    exclusion = cluster["maintenancePolicy"]["window"]["maintenanceExclusions"]["gangs"]
    assert exclusion["maintenanceExclusionOptions"]["endTimeBehavior"] == "UNTIL_END_OF_SUPPORT"
    assert cluster["loggingConfig"] == {"componentConfig": {"enableComponents": ["SYSTEM_COMPONENTS"]}}
    assert "deletionProtection" not in cluster  # the provider's own
    assert cluster["nodePools"] == ask("container", f"{MAIN}/nodePools")["nodePools"]


def test_node_pools_as_gke_shows_them(project: Project, ask: Asker) -> None:
    world(project)
    tpu = ask("container", f"{MAIN}/nodePools/tpu")
    assert tpu["placementPolicy"] == {"type": "COMPACT", "tpuTopology": "4x4"}
    assert tpu["config"]["machineType"] == "ct5lp-hightpu-4t"
    assert (tpu["locations"], tpu["podIpv4CidrSize"], "nodeCount" in tpu) == ([ZONE], 24, False)
    gpu = ask("container", f"{MAIN}/nodePools/h100")["config"]
    assert gpu["accelerators"][0]["acceleratorCount"] == "8"  # int64 travels as text
    assert gpu["loggingConfig"] == {"variantConfig": {"variant": "DEFAULT"}}
    group = tpu["instanceGroupUrls"][0].partition("/v1/")[2]
    assert ask("compute", group)["targetSize"] == 4


def test_compute(project: Project, ask: Asker) -> None:
    world(project)
    network = ask("compute", f"{P}/global/networks")["items"][0]
    assert network["id"].isdigit()
    assert network["routingConfig"]["routingMode"] == "REGIONAL"
    assert network["peerings"][0]["name"] == "servicenetworking-googleapis-com"
    assert ask("compute", f"{P}/global/networks/{network['id']}") == network
    router = ask("compute", f"{P}/regions/{REGION}/routers/router")
    assert router["nats"][0]["logConfig"] == {"enable": True, "filter": "ALL"}
    assert router["region"].endswith(f"/compute/v1/{P}/regions/{REGION}")
    wall = ask("compute", f"{P}/global/firewalls/inside")
    assert wall["allowed"] == [{"IPProtocol": "tcp", "ports": ["1-65535"]}, {"IPProtocol": "icmp"}]
    address = ask("compute", f"{P}/global/addresses?filter=labels.fleet=accel")["items"][0]
    assert (address["prefixLength"], address["status"]) == (20, "IN_USE")
    assert "items" not in ask("compute", f"{P}/global/addresses?filter=labels.fleet=other")
    found = ask("compute", f"{P}/aggregated/reservations")["items"]
    rows = {r["name"]: r["specificReservation"] for r in found[f"zones/{ZONE}"]["reservations"]}
    assert (rows["own"]["count"], rows["train-h100"]["inUseCount"]) == ("2", "1")
    assert found["zones/us-east1-b"]["warning"]["code"] == "NO_RESULTS_ON_PAGE"
    subnets = ask("compute", f"{P}/aggregated/subnetworks")["items"][f"regions/{REGION}"]["subnetworks"]
    assert [s["name"] for s in subnets] == ["sub"]


def test_the_other_services(project: Project, ask: Asker) -> None:
    it = world(project)
    files = ask("file", f"v1/{P}/locations/-/instances?filter=labels.fleet=accel")["instances"]
    assert files[0]["fileShares"] == [{"name": "data", "capacityGb": "1024"}]
    assert ask("file", f"v1/{P}/locations/{ZONE}/instances/files") == files[0]
    assert ask("lustre", f"v1/{P}/locations/-/instances")["instances"][0]["capacityGib"] == "18000"
    assert ask("iam", f"v1/{P}/serviceAccounts/{it['email']}")["displayName"] == "nodes"
    bindings = ask("cloudresourcemanager", f"v1/{P}:getIamPolicy", "POST", {})["bindings"]
    assert {"role": "roles/viewer", "members": [f"serviceAccount:{it['email']}"]} in bindings
    assert ask("cloudresourcemanager", f"v1/{P}")["projectId"] == PROJECT
    path = f"v1/services/-/connections?network={P}/global/networks/net"
    assert ask("servicenetworking", path)["connections"][0]["reservedPeeringRanges"] == ["range"]


def test_pages(project: Project, ask: Asker) -> None:
    for number in range(5):
        project.create("Network", name=f"n{number}", autoCreateSubnetworks=False)
    names: list[str] = []
    token = ""
    while True:
        found = ask("compute", f"{P}/global/networks?maxResults=2&pageToken={token}")
        assert len(found["items"]) <= 2
        names += [n["name"] for n in found["items"]]
        token = found.get("nextPageToken", "")
        if not token:
            break
    assert names == [f"n{i}" for i in range(5)]


@pytest.mark.parametrize(
    ("api", "path", "status", "text"),
    [
        ("compute", f"{P}/global/networks/gone", 404, f"The resource '{P}/global/networks/gone' was not found"),
        ("container", f"v1/{P}/locations/{REGION}/clusters/x", 404, "Not found: "),
        ("container", f"v1/{P}/locations/nowhere/clusters", 400, 'Location "nowhere" does not exist.'),
        ("compute", f"{P}/regions/nowhere/routers", 400, "Unknown region."),
        ("compute", f"{P}/global/routes", 501, "not served by the embedded datacentre"),
        ("compute", f"{P}/zones/{ZONE}/instances", 501, "not served by the embedded datacentre"),
        ("compute", f"{P}/global/networks?filter=labels.x=y", 400, "Unknown field"),
        ("compute", f"{P}/global/networks?filter=name:(a b)", 400, "serves FIELD=VALUE"),
        ("compute", f"{P}/global/networks?filter=name=a*", 400, "serves FIELD=VALUE"),
        ("compute", f"{P}/global/networks?filter=name eq a.*", 400, "serves FIELD=VALUE"),
        ("compute", f"{P}/global/networks?filter=name=a OR name=b", 400, "serves FIELD=VALUE"),
        ("compute", f"{P}/global/networks?orderBy=name", 400, "Unknown name \"orderBy\""),
        ("compute", f"{P}/global/networks?pageToken=mine", 400, "pageToken"),
        ("compute", "projects/mine/global/networks", 403, "named embedded-*"),
        ("file", f"v1/{P}/locations/nowhere/instances", 400, "nowhere"),
        ("servicenetworking", "v1/services/-/connections", 400, "'network'"),
    ],
)  # fmt: skip
def test_errors(ask: Asker, api: str, path: str, status: int, text: str) -> None:
    found = ask.refused(api, path)
    assert found[0] == status
    assert text in found[1]


def test_deletes_have_the_plugins_refusals(project: Project, ask: Asker) -> None:
    it = world(project)
    assert ask.refused("compute", f"{P}/global/networks/net", "DELETE")[0] == 400
    assert "already being used by" in ask.refused("compute", f"{P}/regions/{REGION}/subnetworks/sub", "DELETE")[1]
    assert ask.refused("file", f"v1/{P}/locations/{ZONE}/instances/files", "DELETE")[0] == 501  # never a volume
    made = ask("container", f"{MAIN}/nodePools/tpu", "DELETE")
    assert (made["operationType"], made["status"]) == ("DELETE_NODE_POOL", "RUNNING")
    assert ask("container", f"{MAIN}/nodePools/tpu")["status"] == "STOPPING"
    end_operations(project)
    where = f"v1/{P}/locations/{REGION}/operations/{made['name']}"
    assert ask("container", where)["status"] == "DONE"
    assert ask.refused("container", f"{MAIN}/nodePools/tpu")[0] == 404
    ask("container", MAIN, "DELETE")  # deletionProtection is the provider's, the API knows none
    end_operations(project)
    assert ask("container", f"v1/{P}/locations/-/clusters") == {}
    ask("compute", f"{P}/regions/{REGION}/routers/router", "PATCH", {"nats": []})
    assert "nats" not in ask("compute", f"{P}/regions/{REGION}/routers/router")
    wanted = ask("cloudresourcemanager", f"v1/{P}:getIamPolicy", "POST", {})
    wanted["bindings"] = [b for b in wanted["bindings"] if b["role"] == "roles/owner"]
    assert (
        ask("cloudresourcemanager", f"v1/{P}:setIamPolicy", "POST", {"policy": wanted})["bindings"]
        == wanted["bindings"]
    )
    ask("iam", f"v1/{P}/serviceAccounts/{it['email']}", "DELETE")
    ask("compute", f"{P}/global/firewalls/inside", "DELETE")
    ask("compute", f"{P}/regions/{REGION}/routers/router", "DELETE")
    end_operations(project)
    kept = {r.type.rpartition(":")[2] for r in project.store.resources(cloud="gcp")}
    assert kept == {"Network", "Subnetwork", "ResourcePolicy", "Reservation", "GlobalAddress", "Connection", "Instance"}


def test_a_pool_in_error_says_why(project: Project, ask: Asker) -> None:
    cluster = project.cluster()
    with pytest.raises(Refusal, match="error state"):
        project.pool(cluster, "big", "a3-highgpu-8g", 40, nodeConfig=gpus("nvidia-h100-80gb", 8))
    found = ask("container", f"{MAIN}/nodePools/big")
    assert found["status"] == "ERROR"
    assert "STOCKOUT" in found["statusMessage"] or "resources" in found["statusMessage"]


def test_nothing_that_a_document_lacks_gets_through() -> None:
    wrong: Any
    for wrong in ({"colour": "red"}, {"id": 5}, {"id": "five"}, {"mtu": "1460"}, {"subnetworks": "x"}):
        with pytest.raises(Misshapen):
            checked("compute", "#Network", wrong)
    with pytest.raises(GoogleError, match="does not know what compute Network calls colour"):
        shaped("compute", "#Network", {"colour": "red"}, {})


def test_every_path_has_a_shape() -> None:
    for route in ROUTES:
        with pytest.raises(Misshapen):
            checked(route.api, route.kind, {"noSuchMember": 1})


def test_a_stranger_is_not_let_in(ask: Asker) -> None:
    path = f"{ask.url}/compute/v1/{P}/global/networks"
    ask("compute", f"{P}/global/networks")
    token = str(ask.credentials.token)

    for header in ({}, {"Authorization": "Bearer ya29.mine"}, {"Authorization": f"Bearer {token[:-1]}x"}):
        assert requests.get(path, headers=header, timeout=10).status_code == 401
    assert requests.get(path, headers={"Authorization": f"Bearer {token}"}, timeout=10).status_code == 200


def test_cloud_tpu_answers_its_own_client(project: Project, tmp_path: Path) -> None:
    server = TpuServer(0, project.world, Access(tmp_path, project.world), print, project.control.queued)
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    client = tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel))
    assert list(client.list_nodes(parent=f"{P}/locations/-")) == []
    assert list(client.list_queued_resources(parent=f"{P}/locations/{ZONE}")) == []
    with pytest.raises(NotFound):
        client.get_node(name=f"{P}/locations/{ZONE}/nodes/x")
    with pytest.raises(PermissionDenied):
        client.list_nodes(parent="projects/mine/locations/-")
    with pytest.raises(PermissionDenied):
        client.list_nodes(parent=f"{P}/locations/nowhere")
    with pytest.raises(Unauthenticated):
        client.list_nodes(parent=f"{P}/locations/-", metadata=[("authorization", "Bearer mine")])
    server.close()


def test_faults_strike_reads_too(project: Project, ask: Asker) -> None:
    world(project)
    faults = project.world.faults
    faults.add({"kind": "5xx", "type": "NodePool"})
    assert ask.refused("container", f"{MAIN}/nodePools")[0] == 503
    assert ask.refused("container", f"{MAIN}/nodePools/tpu")[0] == 503
    assert ask("container", MAIN)["name"] == "main"
    faults.clear()
    faults.add({"kind": "throttling", "cloud": "gcp", "times": 1})
    assert ask.refused("compute", f"{P}/global/networks")[0] in (403, 429)
    assert ask("compute", f"{P}/global/networks")["items"]
    faults.add({"kind": "stale-read", "type": "gcp:compute/network:Network", "seconds": 3600})
    assert "items" not in ask("compute", f"{P}/global/networks")


def test_no_type_that_can_be_made_is_out_of_sight(project: Project, ask: Asker) -> None:
    world(project)
    said = ""
    for api, path in (
        ("container", f"v1/{P}/locations/-/clusters"), ("file", f"v1/{P}/locations/-/instances"),
        ("lustre", f"v1/{P}/locations/-/instances"), ("iam", f"v1/{P}/serviceAccounts"),
        *(("compute", f"{P}/global/{n}") for n in ("networks", "firewalls", "addresses")),
        *(("compute", f"{P}/aggregated/{n}") for n in ("subnetworks", "routers", "resourcePolicies", "reservations")),
        ("servicenetworking", f"v1/services/-/connections?network={P}/global/networks/net"),
    ):  # fmt: skip
        said += repr(ask(api, path))
    said += repr(ask("cloudresourcemanager", f"v1/{P}:getIamPolicy", "POST", {}))
    made = project.store.resources(cloud="gcp", account=PROJECT)
    assert {r.type for r in made} == set(project.control.behaviours)
    for resource in made:
        words = [resource.id, resource.id.rpartition("/")[2], resource.id.rpartition(":")[2]]
        assert any(w in said for w in words), resource.id
