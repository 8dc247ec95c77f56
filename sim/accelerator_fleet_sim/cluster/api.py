"""The one door to the embedded datacentre's Kubernetes clusters: ClusterRuntime."""

from __future__ import annotations

from pathlib import Path

from accelerator_fleet_sim.cluster.model import (
    Authenticate,
    ClusterEndpoint,
    ClusterError,
    Json,
    Log,
    NodeShape,
    NodeSpec,
)

__all__ = ["Authenticate", "ClusterEndpoint", "ClusterError", "ClusterRuntime", "Json", "Log", "NodeShape", "NodeSpec"]


class ClusterRuntime:
    """Real control planes in one folder (`.fleet/sim/clusters`), run by the daemon that holds this object."""

    def __init__(self, folder: Path, log: Log = print) -> None:
        self.folder = folder
        self.log = log

    def ensure(self, name: str, *, version: str, cluster_id: str, authenticate: Authenticate) -> ClusterEndpoint:
        raise NotImplementedError

    def delete(self, name: str) -> None:
        raise NotImplementedError

    def set_nodes(self, name: str, group: str, nodes: list[NodeSpec]) -> None:
        raise NotImplementedError

    def nodes(self, name: str) -> list[Json]:
        raise NotImplementedError

    def apply_cloud_addon(self, name: str, addon: str, version: str, *, region: str = "us-west-2") -> None:
        raise NotImplementedError

    def remove_cloud_addon(self, name: str, addon: str) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def resume(self, authenticate: Authenticate | None = None) -> None:
        raise NotImplementedError

    def summary(self) -> list[Json]:
        raise NotImplementedError
