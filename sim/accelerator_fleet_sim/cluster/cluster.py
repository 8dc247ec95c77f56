"""One cluster while it runs: its control plane and all that the daemon adds around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.agents import NodeAgents
from accelerator_fleet_sim.cluster.controlplane import ControlPlane, Wiring
from accelerator_fleet_sim.cluster.etcd import Etcd
from accelerator_fleet_sim.cluster.kubelet import KubeletServer
from accelerator_fleet_sim.cluster.model import ClusterEndpoint, ClusterError, Log
from accelerator_fleet_sim.cluster.nodes import NodeGroups
from accelerator_fleet_sim.cluster.proxy import ConnectProxy, TunnelLoop
from accelerator_fleet_sim.cluster.realpod import Surroundings
from accelerator_fleet_sim.cluster.tokens import TokenWebhook

_FILE = "cluster.json"


@dataclass(frozen=True)
class Record:
    """What is remembered of a cluster while nothing runs."""

    name: str
    version: str
    cluster_id: str
    port: int
    prefix: str  # in the shared etcd; drawn anew for every cluster, so that nothing of a deleted one comes back
    deleting: bool = False

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        pki.write_private(folder / _FILE, (json.dumps(asdict(self), indent=1) + "\n").encode())

    def marked(self, folder: Path) -> Record:
        """The same, to be deleted: a daemon that dies in between finishes it later."""
        marked = replace(self, deleting=True)
        marked.save(folder)
        return marked


def load_record(folder: Path) -> Record | None:
    try:
        return Record(**json.loads((folder / _FILE).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise ClusterError(f"{folder / _FILE} cannot be read: {error}; `fleet sim reset` starts anew") from error


class Cluster:
    """A running cluster."""

    def __init__(
        self, record: Record, plane: ControlPlane, around: Surroundings, tokens: TokenWebhook, loop: TunnelLoop
    ) -> None:
        self.record = record
        self._plane = plane
        self._around = around
        self._tokens = tokens
        self._loop = loop
        self._agents: NodeAgents | None = None
        self._proxy: ConnectProxy | None = None
        self._kubelet: KubeletServer | None = None
        self.client = around.client
        self.groups = NodeGroups(around.client, record.version, around.log)

    @property
    def endpoint(self) -> ClusterEndpoint:
        return ClusterEndpoint(self.record.name, self._plane.endpoint, self._plane.authority.pem)

    @property
    def admin_kubeconfig(self) -> Path:
        return self._plane.admin_kubeconfig()

    def start(self, etcd: Etcd, proxy_socket: Path) -> None:
        tokens = self._tokens
        # The proxy listens before the API server looks for it; it learns the addresses once the mirrors run.
        self._proxy = ConnectProxy(self._loop, proxy_socket, self._resolve)
        wiring = Wiring(
            proxy_socket,
            tokens.url(self.record.name),
            tokens.authority.certificate_file,
            tokens.client_certificate,
        )
        try:
            self._plane.start(etcd, wiring)
        except ClusterError:
            self._proxy.close()
            raise
        agents = NodeAgents(self._around)
        authority = self._plane.authority
        self._kubelet = KubeletServer(
            self._plane.kubelet_server, authority.certificate_file, agents.pod, agents.log_file
        )
        self._agents = agents
        agents.start(self._kubelet.port)

    def outage(self, over: Callable[[], object]) -> None:
        """End the real API server until `over` returns."""
        self._plane.outage(over)

    def _resolve(self, host: str, port: int) -> int | None:
        return None if self._agents is None else self._agents.resolve(host, port)

    def stop(self) -> None:
        if self._agents is not None:
            self._agents.stop()
        self._plane.stop()
        if self._kubelet is not None:
            self._kubelet.close()
        if self._proxy is not None:
            self._proxy.close()
        self._agents = self._kubelet = self._proxy = None

    def log(self, text: str) -> None:
        log: Log = self._around.log
        log(f"{self.record.name}: {text}")
