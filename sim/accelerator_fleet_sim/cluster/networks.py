"""Further networks of GKE nodes: what Google's controllers make of `Network` and `GKENetworkParamSet` objects.

Conditions, reasons and annotations as in kubernetes/cloud-provider-gcp (pkg/controller/gkenetworkparamset and
pkg/controller/nodeipam/ipam). A network of type Device is one interface of a node, which the node shows as
`networking.gke.io.networks/<name>: 1`. What no public source says is left out: `<name>.IP`, and what GKE's webhook does
with a pod that names a network.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from typing import NamedTuple

from accelerator_fleet_sim.cluster.kube import MERGE, ApiError, KubeClient
from accelerator_fleet_sim.cluster.model import Json, Log
from accelerator_fleet_sim.cluster.nodes import INTERFACES

API = "/apis/networking.gke.io/v1"
RESOURCE = "networking.gke.io.networks/"
NORTH = "networking.gke.io/north-interfaces"
PARAMS = "GKENetworkParamSet"


class Interface(NamedTuple):
    """A node's further interface: names of its VPC and subnetwork, its address, the subnetwork's range."""

    vpc: str
    subnet: str
    address: str
    cidr: str


class NodeNetworks:
    """The two controllers of one cluster, and what kubelets report of interfaces."""

    def __init__(self, client: KubeClient, log: Log) -> None:
        self._client = client
        self._log = log

    def reconcile(self, nodes: Iterable[Json]) -> bool:
        """One look. True while some node has further interfaces: then objects may come at any time."""
        found = {n["metadata"]["name"]: (n, interfaces(n)) for n in nodes}
        with_some = {name: pair for name, pair in found.items() if pair[1]}
        if not with_some:
            return False
        try:
            params = {p["metadata"]["name"]: p for p in self._client.list(f"{API}/gkenetworkparamsets")}
            networks = self._client.list(f"{API}/networks")
        except ApiError as error:
            if error.status != 404:  # a cluster without multi-networking
                self._log(f"networks: {error}")
            return True
        known = {(i.vpc, i.subnet): i for _, own in with_some.values() for i in own}
        ready: dict[str, Interface] = {}
        for network in networks:
            interface = self._network(network, params, known)
            if interface is not None:
                ready[network["metadata"]["name"]] = interface
        for node, own in with_some.values():
            self._node(node, own, ready)
        return True

    def _network(
        self, network: Json, params: dict[str, Json], known: dict[tuple[str, str], Interface]
    ) -> Interface | None:
        """Conditions of a network and its parameters; the interface that it is, where it is one that nodes have."""
        spec, name = network.get("spec", {}), network["metadata"]["name"]
        reference = spec.get("parametersRef") or {}
        given = params.get(reference.get("name", "")) if reference.get("kind") == PARAMS else None
        if given is None or spec.get("type") != "Device":
            return None
        wanted = given.get("spec", {})
        interface = known.get((wanted.get("vpc", ""), wanted.get("vpcSubnet", "")))
        if interface is None:
            return None  # no node has it: whether VPC and subnetwork exist is not known here
        wrong = _invalid(wanted)
        if wrong is not None:
            self._condition("gkenetworkparamsets", given, [("Ready", "False", *wrong)])
            return None
        status = {"networkName": name, "podCIDRs": {"cidrBlocks": [interface.cidr]}}
        self._condition("gkenetworkparamsets", given, [("Ready", "True", "GNPReady", "")], status)
        both = [("ParamsReady", "True", "GNPParamsReady", ""), ("Ready", "True", "NetworkReady", "")]
        self._condition("networks", network, both)
        return interface

    def _condition(
        self, kind: str, item: Json, wanted: list[tuple[str, str, str, str]], more: Json | None = None
    ) -> None:
        shown = {c["type"]: c for c in item.get("status", {}).get("conditions", [])}
        have = {t: (c["status"], c["reason"], c.get("message", "")) for t, c in shown.items()}
        same = all(have.get(t) == (s, r, m) for t, s, r, m in wanted)
        if same and (more or {}).items() <= item.get("status", {}).items():
            return
        now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        made = {
            t: {"type": t, "status": s, "reason": r, "message": m, "lastTransitionTime": now} for t, s, r, m in wanted
        }
        path = f"{API}/{kind}/{item['metadata']['name']}/status"
        self._patch(path, {"status": {**(more or {}), "conditions": list({**shown, **made}.values())}})

    def _node(self, node: Json, own: list[Interface], ready: dict[str, Interface]) -> None:
        """What the node shows of the networks that it is in; a network that is gone goes from it too."""
        mine = {
            name: next(i for i in own if (i.vpc, i.subnet) == (one.vpc, one.subnet))
            for name, one in ready.items()
            if any((i.vpc, i.subnet) == (one.vpc, one.subnet) for i in own)
        }
        north = json.dumps([{"network": n, "ipAddress": i.address} for n, i in sorted(mine.items())])
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        if node["metadata"].get("annotations", {}).get(NORTH, "[]") != north:
            self._patch(path, {"metadata": {"annotations": {NORTH: north}}})
        change: Json = {}
        for part in ("capacity", "allocatable"):
            shown = {k: v for k, v in node.get("status", {}).get(part, {}).items() if k.startswith(RESOURCE)}
            wanted = {f"{RESOURCE}{name}": "1" for name in mine}
            if shown != wanted:
                change[part] = {**dict.fromkeys(shown), **wanted}
        if change:
            self._patch(f"{path}/status", {"status": change})

    def _patch(self, path: str, body: Json) -> None:
        try:
            self._client.patch(path, body, MERGE)
        except ApiError as error:
            if error.status != 404:
                self._log(f"networks: {path}: {error}")


def interfaces(node: Json) -> list[Interface]:
    """The further interfaces that the machine was made with."""
    return [Interface(*row) for row in json.loads(node["metadata"].get("annotations", {}).get(INTERFACES, "[]"))]


def _invalid(spec: Json) -> tuple[str, str] | None:
    """(reason, message) of a combination that the controller refuses."""
    ranges = (spec.get("podIPv4Ranges") or {}).get("rangeNames")
    if ranges and spec.get("deviceMode"):
        text = "PodIPv4Ranges and DeviceMode can not be specified at the same time"
        return "DeviceModeCantBeUsedWithSecondaryRange", text
    if not ranges and not spec.get("deviceMode"):
        return "SecondaryRangeAndDeviceModeUnspecified", "One of PodIPV4Ranges or DeviceMode must be specified."
    return None
