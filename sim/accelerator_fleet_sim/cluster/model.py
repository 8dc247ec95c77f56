"""What the datacentre hands to its Kubernetes side: kinds of node, nodes, and where a cluster answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# The Kubernetes API speaks JSON objects; their schema is the API server's business, not ours.
Json = dict[str, Any]

# (cluster name, bearer token) -> user info as in a TokenReview (username, uid, groups, extra), or None: not known.
Authenticate = Callable[[str, str], Json | None]

Log = Callable[[str], None]


class ClusterError(Exception):
    """A control plane could not be started or asked; the text says which part and where its log lies."""


@dataclass(frozen=True)
class NodeShape:
    """One kind of node as the cloud's agents register it.

    `capacity` is what kubelet reports by itself (cpu, memory, pods, ephemeral-storage). `device_resources` appear
    on a node only while the pod of the matching device plugin runs there. `taints` are Kubernetes taints:
    key, value, effect as the Kubernetes API spells them (`NoSchedule`).
    """

    labels: dict[str, str]
    taints: list[dict[str, str]]
    capacity: dict[str, str]
    device_resources: dict[str, str] = field(default_factory=dict)
    arch: str = "amd64"
    system: str = "eks"  # whose node it is: eks, gke or plain (nodes.py)


@dataclass(frozen=True)
class NodeSpec:
    """One machine of a node group."""

    name: str
    provider_id: str
    zone: str
    region: str
    instance_type: str
    internal_ip: str
    shape: NodeShape
    interfaces: tuple[tuple[str, ...], ...] = ()  # further ones: VPC, subnetwork, address, the subnetwork's range


@dataclass(frozen=True)
class ClusterEndpoint:
    """Where a cluster answers; both values stay the same over restarts."""

    name: str
    endpoint: str  # https://127.0.0.1:port
    ca_pem: str

    @property
    def as_mapping(self) -> Mapping[str, str]:
        return {"name": self.name, "endpoint": self.endpoint, "ca_pem": self.ca_pem}
