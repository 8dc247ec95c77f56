"""The simulated Google Cloud in this process, without time: what tests of its rules speak to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from accelerator_fleet_sim.daemon.clock import Clock
from accelerator_fleet_sim.daemon.noclusters import NoClusters
from accelerator_fleet_sim.daemon.operations import Operations
from accelerator_fleet_sim.daemon.server import HttpError
from accelerator_fleet_sim.daemon.store import Store
from accelerator_fleet_sim.google.catalog import Catalog
from accelerator_fleet_sim.google.control import ControlPlane
from accelerator_fleet_sim.google.scope import Scope, World

PROJECT, REGION, ZONE = "embedded-test", "us-central1", "us-central1-a"
TYPES = {
    "Network": "compute/network", "Subnetwork": "compute/subnetwork", "Router": "compute/router",
    "RouterNat": "compute/routerNat", "Firewall": "compute/firewall", "GlobalAddress": "compute/globalAddress",
    "Connection": "servicenetworking/connection", "Reservation": "compute/reservation", "Cluster": "container/cluster",
    "NodePool": "container/nodePool", "Account": "serviceaccount/account", "Instance": "filestore/instance",
    "IAMMember": "projects/iAMMember", "ResourcePolicy": "compute/resourcePolicy",
}  # fmt: skip
LUSTRE = "gcp:lustre/instance:Instance"


class Refusal(Exception):
    """What the cloud answered instead of doing it."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body["text"])
        self.code: str = body["code"]
        self.body = body


class Project:
    """One embedded project. Operations end at once."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "cloud.db")
        self.clock = Clock(self.store, 1)
        self.operations = Operations(self.store, self.clock, print)
        self.clusters = NoClusters(folder, print)
        self.world = World(self.store, self.clock, Catalog(), self.clusters, print)
        self.control = ControlPlane(self.world, self.operations)
        self.scope = Scope(self.world, PROJECT)

    @staticmethod
    def token(name: str) -> str:
        return name if ":" in name else f"gcp:{TYPES[name]}:{name}"

    def _finish(self, verb: str, call: dict[str, Any]) -> dict[str, Any]:
        call = {"project": PROJECT, "region": REGION, "zone": "", "labels": {}, "attribution": True, **call}
        try:
            answer = getattr(self.control, verb)(call)
        except HttpError as error:
            raise Refusal(error.body) from error
        if answer["status"] == "running":
            self.operations.end(answer["operation"])
            ended = self.store.operation(answer["operation"])
            assert ended is not None
            while ended.status == "running":  # the cloud tries again later: time passes
                self.clock._base = ended.due
                self.operations.end(answer["operation"])
                ended = self.store.operation(answer["operation"])
                assert ended is not None
            answer = {"id": ended.resource, "status": ended.status, "result": ended.result, "error": ended.error}
        if answer["status"] == "failed":
            raise Refusal(answer["error"])
        return dict(answer)

    def create(self, kind: str, /, **inputs: Any) -> dict[str, Any]:
        """Outputs of a new resource, with its id."""
        made = self._finish("create", {"type": self.token(kind), "inputs": inputs})
        return {**made["result"], "id": made["id"]}

    def update(self, kind: str, identity: str, /, **inputs: Any) -> dict[str, Any]:
        """Outputs after an update."""
        result: dict[str, Any] = self._finish("update", {"type": self.token(kind), "id": identity, "inputs": inputs})[
            "result"
        ]
        return result

    def delete(self, kind: str, identity: str, /, **state: Any) -> None:
        self._finish("delete", {"type": self.token(kind), "id": identity, "state": state})

    def network(self) -> dict[str, Any]:
        """A VPC with a subnetwork for a cluster."""
        vpc = self.create("Network", name="net", autoCreateSubnetworks=False)
        subnet = self.create(
            "Subnetwork", name="sub", network=vpc["id"], region=REGION, ipCidrRange="10.20.0.0/20",
            secondaryIpRanges=[{"rangeName": "pods", "ipCidrRange": "10.21.0.0/16"},
                               {"rangeName": "services", "ipCidrRange": "10.22.0.0/20"}],
        )  # fmt: skip
        return {"vpc": vpc["id"], "subnet": subnet["id"], "link": vpc["selfLink"]}

    def cluster(self, **more: Any) -> dict[str, Any]:
        """A cluster of its own network."""
        net = self.network()
        return self.create("Cluster", **{**cluster_inputs(net), **more})

    def pool(self, cluster: dict[str, Any], name: str, machine: str, count: int, **more: Any) -> dict[str, Any]:
        """A node pool in the first zone."""
        config = {"machineType": machine, **more.pop("nodeConfig", {})}
        return self.create("NodePool", **pool_inputs(cluster, name, count, config, **more))

    def nodes(self, pool: dict[str, Any]) -> list[Any]:
        """The nodes that the cluster was given for a pool."""
        return [n for (_, group), found in self.clusters.nodes_by_group.items() if group == pool["name"] for n in found]


def cluster_inputs(net: dict[str, Any]) -> dict[str, Any]:
    """What a fleet says of a cluster."""
    return {
        "name": "main", "location": REGION, "nodeLocations": [ZONE, "us-central1-c"], "network": net["vpc"],
        "subnetwork": net["subnet"], "initialNodeCount": 1, "removeDefaultNodePool": True,
        "datapathProvider": "ADVANCED_DATAPATH", "enableMultiNetworking": True, "deletionProtection": True,
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
    }  # fmt: skip


def pool_inputs(cluster: dict[str, Any], name: str, count: int, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a fleet says of a node pool."""
    return {"cluster": cluster["name"], "location": REGION, "nodeLocations": [ZONE], "name": name, "nodeCount": count,
            "nodeConfig": config, **more}  # fmt: skip


def slice_of(topology: str) -> dict[str, Any]:
    """The placement of a multi-host TPU slice."""
    return {"placementPolicy": {"type": "COMPACT", "tpuTopology": topology}}


def gpus(kind: str, count: int, driver: str | None = "LATEST") -> dict[str, Any]:
    """The accelerators of a GPU machine."""
    card: dict[str, Any] = {"type": kind, "count": count}
    if driver:
        card["gpuDriverInstallationConfig"] = {"gpuDriverVersion": driver}
    return {"guestAccelerators": [card]}
