"""What GKE's controllers make of `Network` objects, on a Kubernetes API of a few dictionaries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accelerator_fleet_sim.cluster import addons
from accelerator_fleet_sim.cluster.kube import ApiError
from accelerator_fleet_sim.cluster.networks import API, NORTH, RESOURCE, NodeNetworks
from accelerator_fleet_sim.cluster.nodes import INTERFACES

Json = dict[str, Any]
NIC = ["v-net", "v-sub", "10.0.0.2", "10.0.0.0/24"]


class Kube:
    """Objects by path; merge patches as the API server applies them."""

    def __init__(self, **kinds: list[Json]) -> None:
        self.kinds = kinds

    def list(self, path: str) -> list[Json]:
        kind = path.rpartition("/")[2]
        if kind not in self.kinds:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return self.kinds[kind]

    def patch(self, path: str, body: Json, _: str) -> None:
        kind, name = path.removesuffix("/status").split("/")[-2:]
        (found,) = [x for x in self.kinds[kind] if x["metadata"]["name"] == name]
        merge(found, body)


def merge(into: Json, patch: Json) -> None:
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value


def world(**spec: Any) -> Kube:
    params = {"vpc": "v-net", "vpcSubnet": "v-sub", "deviceMode": "NetDevice", **spec}
    reference = {"group": "networking.gke.io", "kind": "GKENetworkParamSet", "name": "p"}
    return Kube(
        nodes=[
            {"metadata": {"name": "a", "annotations": {INTERFACES: json.dumps([NIC])}}, "status": {"capacity": {}}},
            {"metadata": {"name": "plain"}, "status": {"capacity": {}}},
        ],
        networks=[{"metadata": {"name": "n"}, "spec": {"type": "Device", "parametersRef": reference}}],
        gkenetworkparamsets=[{"metadata": {"name": "p"}, "spec": params}],
    )


def look(kube: Kube) -> bool:
    told: list[str] = []
    busy = NodeNetworks(kube, told.append).reconcile(kube.kinds["nodes"])  # type: ignore[arg-type]
    assert told == []
    return busy


def conditions(item: Json) -> dict[str, tuple[str, str]]:
    return {c["type"]: (c["status"], c["reason"]) for c in item.get("status", {}).get("conditions", [])}


def test_a_node_shows_the_network_of_its_interface() -> None:
    kube = world()
    assert look(kube)
    node, plain = kube.kinds["nodes"]
    assert node["status"] == {"capacity": {f"{RESOURCE}n": "1"}, "allocatable": {f"{RESOURCE}n": "1"}}
    assert json.loads(node["metadata"]["annotations"][NORTH]) == [{"network": "n", "ipAddress": "10.0.0.2"}]
    assert plain["status"] == {"capacity": {}}
    assert conditions(kube.kinds["networks"][0]) == {
        "ParamsReady": ("True", "GNPParamsReady"),
        "Ready": ("True", "NetworkReady"),
    }
    (params,) = kube.kinds["gkenetworkparamsets"]
    assert conditions(params) == {"Ready": ("True", "GNPReady")}
    assert params["status"]["podCIDRs"] == {"cidrBlocks": ["10.0.0.0/24"]}
    assert params["status"]["networkName"] == "n"


def test_a_network_that_is_gone_goes_from_the_node() -> None:
    kube = world()
    look(kube)
    kube.kinds["networks"].clear()
    look(kube)
    node = kube.kinds["nodes"][0]
    assert node["status"] == {"capacity": {}, "allocatable": {}}
    assert node["metadata"]["annotations"][NORTH] == "[]"


@pytest.mark.parametrize("spec", [{"vpc": "other"}, {"vpcSubnet": "other"}])
def test_a_network_that_no_node_has_is_nothing(spec: Json) -> None:
    kube = world(**spec)
    look(kube)
    assert kube.kinds["nodes"][0]["status"] == {"capacity": {}}
    assert conditions(kube.kinds["networks"][0]) == {}


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"podIPv4Ranges": {"rangeNames": ["pods"]}}, "DeviceModeCantBeUsedWithSecondaryRange"),
        ({"deviceMode": ""}, "SecondaryRangeAndDeviceModeUnspecified"),
    ],
)
def test_combinations_that_gke_refuses(spec: Json, reason: str) -> None:
    kube = world(**spec)
    look(kube)
    assert conditions(kube.kinds["gkenetworkparamsets"][0]) == {"Ready": ("False", reason)}
    assert kube.kinds["nodes"][0]["status"] == {"capacity": {}}


def test_a_cluster_without_multi_networking_has_no_such_kinds() -> None:
    kube = world()
    del kube.kinds["networks"], kube.kinds["gkenetworkparamsets"]
    look(kube)
    assert kube.kinds["nodes"][0]["status"] == {"capacity": {}}
    assert not look(Kube(nodes=[{"metadata": {"name": "plain"}, "status": {}}])), "nothing to look for"


def test_the_kinds_are_googles() -> None:
    found = {o["metadata"]["name"]: o["spec"] for o in addons.objects("gke-networks", "1.36", "us-central1")}
    assert set(found) == {"networks.networking.gke.io", "gkenetworkparamsets.networking.gke.io"}
    for spec in found.values():
        assert (spec["group"], spec["scope"], [v["name"] for v in spec["versions"]]) == (
            API.split("/")[2],
            "Cluster",
            ["v1"],
        )
