"""Base inputs for one resource of every Google type that a fleet uses, in a small world that the resources refer to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi

from tests.engine.force_new_world import Any_

Inputs = dict[str, Any]
REGION, ZONE = "us-central1", "us-central1-a"
NETWORK, SUBNETWORK = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"
CLUSTER, NODE_POOL = "gcp:container/cluster:Cluster", "gcp:container/nodePool:NodePool"
RANGES = [("pods", "10.16.0.0/14"), ("services", "10.24.0.0/20")]


class World:
    """What cases refer to; made once in a program."""

    def __init__(self, provider: pulumi.ProviderResource) -> None:
        self.options = pulumi.ResourceOptions(provider=provider)
        self.all: list[pulumi.Resource] = []
        self.network = self.make(NETWORK, "w-net", {"name": "w-net", "autoCreateSubnetworks": False}).id
        self.network2 = self.make(NETWORK, "w-net2", {"name": "w-net2", "autoCreateSubnetworks": False}).id
        self.subnetwork = self.make(SUBNETWORK, "w-sub", {
            "name": "w-sub", "network": self.network, "region": REGION, "ipCidrRange": "10.0.0.0/16",
            "secondaryIpRanges": [{"rangeName": n, "ipCidrRange": c} for n, c in RANGES],
        }).id  # fmt: skip
        self.wide = self.make(SUBNETWORK, "w-wide", {
            "name": "w-wide", "network": self.network2, "region": REGION, "ipCidrRange": "10.1.0.0/16",
        }).id  # fmt: skip
        self.make("gcp:compute/globalAddress:GlobalAddress", "w-range", {
            "name": "w-range", "purpose": "VPC_PEERING", "addressType": "INTERNAL", "address": "10.250.0.0",
            "prefixLength": 16, "network": self.network,
        })  # fmt: skip
        self.make("gcp:servicenetworking/connection:Connection", "w-peering", {
            "network": self.network, "service": "servicenetworking.googleapis.com",
            "reservedPeeringRanges": ["w-range"],
        }, list(self.all))  # fmt: skip
        self.router = self.make("gcp:compute/router:Router", "w-router", {
            "name": "w-router", "network": self.network, "region": REGION,
        })  # fmt: skip
        cluster = self.make(CLUSTER, "w-cluster", {**cluster_inputs(self), "name": "w-cluster"}, list(self.all))
        self.cluster = cluster.id.apply(lambda i: i.rpartition("/")[2])

    def make(self, token: str, name: str, inputs: Inputs, after: list[pulumi.Resource] | None = None) -> Any_:
        """A resource of the world."""
        options = pulumi.ResourceOptions.merge(self.options, pulumi.ResourceOptions(depends_on=after))
        made = Any_(token, name, inputs, options)
        self.all.append(made)
        return made


def cluster_inputs(w: World) -> Inputs:
    """A cluster in routes of aliases; each in a range of its own that GKE makes."""
    return {
        "location": REGION, "nodeLocations": [ZONE], "network": w.network, "subnetwork": w.subnetwork,
        "initialNodeCount": 1, "removeDefaultNodePool": True, "deletionProtection": False,
        "datapathProvider": "LEGACY_DATAPATH",
    }  # fmt: skip


def reservation(w: World, number: int) -> Inputs:
    """Machines of a zone."""
    return {"zone": ZONE, "specificReservation": {"count": 1, "instanceProperties": {"machineType": "n2-standard-4"}}}


def lustre(w: World, number: int) -> Inputs:
    """A file system in the peered network."""
    return {"instanceId": f"lustre-{number}", "location": ZONE, "filesystem": "data", "capacityGib": 9000,
            "network": w.network, "perUnitStorageThroughput": 1000}  # fmt: skip


def pool(w: World, number: int) -> Inputs:
    """An empty pool of plain machines."""
    return {"cluster": w.cluster, "location": REGION, "nodeLocations": [ZONE], "nodeCount": 0,
            "nodeConfig": {"machineType": "e2-standard-4"}}  # fmt: skip


BASES: dict[str, Callable[[World, int], Inputs]] = {
    NETWORK: lambda w, n: {"autoCreateSubnetworks": False},
    SUBNETWORK: lambda w, n: {"network": w.network2, "region": REGION, "ipCidrRange": f"10.{100 + n % 100}.0.0/20"},
    "gcp:compute/router:Router": lambda w, n: {"network": w.network, "region": REGION},
    "gcp:compute/routerNat:RouterNat": lambda w, n: {
        "router": "w-router", "region": REGION, "natIpAllocateOption": "AUTO_ONLY",
        "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
        "subnetworks": [{"name": "w-sub", "sourceIpRangesToNats": ["ALL_IP_RANGES"]}],
    },
    "gcp:compute/firewall:Firewall": lambda w, n: {
        "network": w.network, "sourceRanges": ["10.0.0.0/8"], "allows": [{"protocol": "tcp"}],
    },
    "gcp:compute/resourcePolicy:ResourcePolicy": lambda w, n: {"region": REGION},
    "gcp:compute/reservation:Reservation": reservation,
    CLUSTER: lambda w, n: cluster_inputs(w),
    NODE_POOL: pool,
    "gcp:serviceaccount/account:Account": lambda w, n: {},
    "gcp:projects/iAMMember:IAMMember": lambda w, n: {
        "project": "embedded-test", "role": "roles/viewer", "member": f"user:user-{n}@embedded.example",
    },
    "gcp:filestore/instance:Instance": lambda w, n: {
        "location": ZONE, "tier": "ZONAL", "fileShares": {"name": "data", "capacityGb": 1024},
        "networks": [{"network": "w-net", "modes": ["MODE_IPV4"]}],
    },
    "gcp:lustre/instance:Instance": lustre,
}  # fmt: skip

# Laid over the base where the change needs something to be there first.
FIRST: dict[tuple[str, str], Inputs] = {
    (CLUSTER, "enableL4IlbSubsetting"): {"enableL4IlbSubsetting": True},
    (CLUSTER, "enableFqdnNetworkPolicy"): {"enableFqdnNetworkPolicy": True},
    (CLUSTER, "enableK8sBetaApis.enabledApis"): {"enableK8sBetaApis": {"enabledApis": ["a/v1", "b/v1"]}},
}

UNSHIELDED: Inputs = {
    "nodeConfig": {"machineType": "e2-standard-4", "shieldedInstanceConfig": {"enableIntegrityMonitoring": False}},
}
# Changes that need company, or a value that the shape does not tell.
THEN: dict[tuple[str, str], Inputs | Callable[[World], Inputs]] = {
    (CLUSTER, "enableL4IlbSubsetting"): {"enableL4IlbSubsetting": False},
    (CLUSTER, "enableFqdnNetworkPolicy"): {"enableFqdnNetworkPolicy": False},
    (CLUSTER, "enableK8sBetaApis.enabledApis"): {"enableK8sBetaApis": {"enabledApis": ["a/v1"]}},
    (CLUSTER, "privateClusterConfig.masterIpv4CidrBlock"): {
        "privateClusterConfig": {"enablePrivateNodes": True, "masterIpv4CidrBlock": "172.16.0.0/28"},
    },
    (CLUSTER, "masterAuth.clientCertificateConfig.issueClientCertificate"): {
        "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": True}},
    },
    (CLUSTER, "networkingMode"): {"networkingMode": "ROUTES"},
    (NODE_POOL, "nodeConfig.shieldedInstanceConfig"): UNSHIELDED,
    (NODE_POOL, "nodeConfig.shieldedInstanceConfig.enableIntegrityMonitoring"): UNSHIELDED,
    ("gcp:compute/firewall:Firewall", "direction"): {
        "direction": "EGRESS", "sourceRanges": None, "destinationRanges": ["10.0.0.0/8"],
    },
    ("gcp:compute/reservation:Reservation", "shareSettings.shareType"): {
        "shareSettings": {"shareType": "SPECIFIC_PROJECTS"},
    },
    (SUBNETWORK, "ipCidrRange"): {"ipCidrRange": "172.16.0.0/20"},
}  # fmt: skip
