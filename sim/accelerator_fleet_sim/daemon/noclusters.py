"""Stands in for control planes where none are wanted (tests of the cloud's rules): endpoints in name only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..cluster.model import ClusterError, NodeSpec


@dataclass(frozen=True)
class Nowhere:
    """An endpoint at which nothing listens."""

    name: str
    endpoint: str
    ca_pem: str


class NoClusters:
    """The runtime's interface without processes; remembers nodes and add-ons."""

    def __init__(self, folder: Path, log: Any) -> None:
        self.nodes_by_group: dict[tuple[str, str], list[NodeSpec]] = {}
        self.addons: dict[str, dict[str, str]] = {}

    def ensure(self, name: str, *, version: str, cluster_id: str, authenticate: Any) -> Nowhere:
        return Nowhere(name, "https://127.0.0.1:1", "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")

    def delete(self, name: str) -> None:
        self.nodes_by_group = {k: v for k, v in self.nodes_by_group.items() if k[0] != name}

    def set_nodes(self, name: str, group: str, nodes: list[NodeSpec]) -> None:
        self.nodes_by_group[name, group] = nodes

    def apply_cloud_addon(self, name: str, addon: str, version: str) -> None:
        self.addons.setdefault(name, {})[addon] = version

    def remove_cloud_addon(self, name: str, addon: str) -> None:
        self.addons.get(name, {}).pop(addon, None)

    def known_addons(self) -> list[str]:
        return ["coredns", "gke-devices", "gke-system", "kube-proxy", "vpc-cni"]

    def client(self, name: str) -> Any:
        raise ClusterError(f"{name} has no API server here")

    def names(self) -> list[str]:
        return []

    def summary(self) -> list[dict[str, Any]]:
        return []

    def stop(self) -> None:
        pass
