"""The one door to the embedded datacentre's Kubernetes clusters: ClusterRuntime."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
from pathlib import Path

from accelerator_fleet_engine import binaries
from accelerator_fleet_sim.cluster import addons, watches
from accelerator_fleet_sim.cluster.cluster import Cluster, Record, load_record
from accelerator_fleet_sim.cluster.controlplane import ControlPlane, Programs
from accelerator_fleet_sim.cluster.etcd import Etcd
from accelerator_fleet_sim.cluster.kube import KubeClient
from accelerator_fleet_sim.cluster.model import (
    Authenticate,
    ClusterEndpoint,
    ClusterError,
    Json,
    Log,
    NodeShape,
    NodeSpec,
)
from accelerator_fleet_sim.cluster.ports import Ports, SocketFolder
from accelerator_fleet_sim.cluster.processes import Supervisor
from accelerator_fleet_sim.cluster.proxy import TunnelLoop
from accelerator_fleet_sim.cluster.realpod import Surroundings
from accelerator_fleet_sim.cluster.tokens import TokenWebhook

__all__ = ["Authenticate", "ClusterEndpoint", "ClusterError", "ClusterRuntime", "Json", "Log", "NodeShape", "NodeSpec"]

# No cluster can have a name like this one's: EKS and GKE names begin with a letter or a digit.
_RUNTIME = "_runtime"
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{0,99}")


class ClusterRuntime:
    """Real control planes in one folder (`.fleet/sim/clusters`), run by the process that holds this object.

    Nothing starts before the first `ensure` or `resume`. All methods may be called from any thread. When the process
    dies the kernel ends every program; the next runtime of the folder goes on where it was.
    """

    def __init__(self, folder: Path, log: Log = print) -> None:
        self.folder = folder.resolve()
        self.log = log
        self._own = self.folder / _RUNTIME
        self._own.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._own / "tmp").mkdir(exist_ok=True)
        self._supervisor = Supervisor(self._own / "processes", log)
        if left := self._supervisor.sweep():
            log(f"{left} processes of an earlier datacentre ended")
        self._ports = Ports()
        self._clusters: dict[str, Cluster] = {}
        self._locks: dict[str, threading.RLock] = {}
        self._lock = threading.RLock()
        self._etcd: Etcd | None = None
        self._programs: Programs | None = None
        self._sockets: SocketFolder | None = None
        self._tokens: TokenWebhook | None = None
        self._loop: TunnelLoop | None = None
        self._outages: dict[str, threading.Event] = {}
        self._stopped = False

    # -- clusters --------------------------------------------------------------------------------------------------

    def ensure(self, name: str, *, version: str, cluster_id: str, authenticate: Authenticate) -> ClusterEndpoint:
        """Have the cluster running; returns when its API server says ready.

        The same name gives the same port, certificate authority and objects, also after a restart of the daemon.
        Raises ClusterError, which names the log.
        """
        if not _NAME.fullmatch(name):
            raise ClusterError(f"{name!r} is no name of a cluster: letters, digits, '.', '_', '-'; at most 100")
        with self._lock_of(name):
            self._start_shared()
            assert self._tokens is not None
            if name not in self._clusters:
                watches.check()
                folder = self.folder / name
                record = load_record(folder)
                if record is not None and record.deleting:  # the daemon died while it deleted the one before
                    self.delete(name)
                    record = None
                if record is None:
                    prefix = f"/{name}/{secrets.token_hex(4)}"
                    record = Record(name, version, cluster_id, self._ports.take(), prefix)
                    record.save(folder)
                self._tokens.register(name, authenticate)  # before it serves: what it refuses, it remembers
                self._start(record)
            self._tokens.register(name, authenticate)
            return self._clusters[name].endpoint

    def delete(self, name: str) -> None:
        """End the cluster's programs and forget its objects and files; nothing happens when there is none."""
        with self._lock_of(name):
            folder = self.folder / name
            record = load_record(folder)
            if record is None:
                return
            record = record.marked(folder)
            cluster = self._clusters.pop(name, None)
            if cluster is not None:
                cluster.stop()
            self._start_shared()
            assert self._etcd is not None
            assert self._tokens is not None
            self._tokens.forget(name)
            self._etcd.forget(f"{record.prefix}/")
            shutil.rmtree(folder)
            self._ports.give_back(record.port)

    def set_nodes(self, name: str, group: str, nodes: list[NodeSpec]) -> None:
        """Make the nodes of a node group equal to the list: created, relabelled, or drained and deleted."""
        with self._lock_of(name):
            self._cluster(name).groups.set(group, nodes)

    def client(self, name: str) -> KubeClient:
        """A client with all rights, for what the cloud itself does in a cluster."""
        return self._cluster(name).client

    def nodes(self, name: str) -> list[Json]:
        """Node objects as the API server has them."""
        return self._cluster(name).groups.all()

    def apply_cloud_addon(self, name: str, addon: str, version: str, *, region: str = "us-west-2") -> None:
        """Install or update an add-on's objects as the cloud does (field manager `eks`)."""
        with self._lock_of(name):
            addons.apply(self._cluster(name).client, addon, version, region)

    def remove_cloud_addon(self, name: str, addon: str) -> None:
        with self._lock_of(name):
            addons.remove(self._cluster(name).client, addon)

    def known_addons(self) -> list[str]:
        """Add-ons that `apply_cloud_addon` has objects for."""
        return addons.known()

    def admin_kubeconfig(self, name: str) -> Path:
        """A kubeconfig with all rights; for tests and for looking at a cluster, never handed out by the cloud."""
        return self._cluster(name).admin_kubeconfig

    # -- faults ----------------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Clusters that run."""
        with self._lock:
            return sorted(self._clusters)

    def outage(self, name: str, seconds: float) -> None:
        """The cluster's API server ends and comes back after real seconds, or when `end_outage` is called."""
        over = threading.Event()
        with self._lock:
            self._outages.setdefault(name, over)
            over = self._outages[name]
        try:
            self._cluster(name).outage(lambda: over.wait(seconds))
        finally:
            with self._lock:
                self._outages.pop(name, None)

    def end_outage(self, name: str) -> None:
        """Bring an API server back now; nothing happens when it is not away."""
        with self._lock:
            if name in self._outages:
                self._outages[name].set()

    def full(self, on: bool) -> None:
        """Raise, or take back, etcd's own alarm for a full database: every cluster's writes are refused meanwhile."""
        if self._etcd is None:
            raise ClusterError("no cluster runs")
        self._etcd.alarm(on)

    # -- the whole -------------------------------------------------------------------------------------------------

    def resume(self, authenticate: Authenticate | None = None) -> None:
        """Start every cluster of the folder again; a deletion that was interrupted is finished.

        A cluster that does not start is reported to the log; `ensure` tries again and raises.
        """
        for record in self._records():
            try:
                if record.deleting:
                    self.delete(record.name)
                    continue
                with self._lock_of(record.name):
                    self._start_shared()
                    if authenticate is not None and self._tokens is not None:
                        self._tokens.register(record.name, authenticate)
                    if record.name not in self._clusters:
                        self._start(record)
            except ClusterError as error:
                self.log(f"{record.name}: {error}")

    def stop(self) -> None:
        """End every process, API servers before etcd, and wait for them. Files stay; this object starts no more."""
        with self._lock:
            self._stopped = True
            clusters = list(self._clusters.values())
            self._clusters.clear()
            for outage in self._outages.values():
                outage.set()
        stoppers = [threading.Thread(target=c.stop) for c in clusters]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join()
        with self._lock:
            if self._etcd is not None:
                self._etcd.stop()
            if self._tokens is not None:
                self._tokens.close()
            if self._loop is not None:
                self._loop.close()
            if self._sockets is not None:
                self._sockets.remove()
            self._etcd = self._tokens = self._loop = self._sockets = None
            self._supervisor.close()

    def summary(self) -> list[Json]:
        """Per cluster: name, endpoint, processes {name, pid, rss in bytes}; the shared etcd comes last."""
        with self._lock:
            running = dict(self._clusters)
        rows = [self._row(r.name, r.version, f"https://127.0.0.1:{r.port}", r.name in running) for r in self._records()]
        if self._supervisor.snapshot("_etcd."):
            rows.append(self._row("_etcd", "", "", True) | {"name": "(etcd)"})
        return rows

    def _row(self, name: str, version: str, endpoint: str, running: bool) -> Json:
        processes = self._supervisor.snapshot(f"{name}.")
        return {
            "name": name,
            "version": version,
            "endpoint": endpoint,
            "state": "running" if running else "stopped",
            "processes": processes,
            "pids": [p["pid"] for p in processes],
            "rss": sum(p["rss"] for p in processes),
        }

    # -- inside ----------------------------------------------------------------------------------------------------

    def _records(self) -> list[Record]:
        folders = sorted(f for f in self.folder.iterdir() if f.is_dir() and f.name != _RUNTIME)
        return [r for f in folders if (r := load_record(f)) is not None]

    def _lock_of(self, name: str) -> threading.RLock:
        with self._lock:
            return self._locks.setdefault(name, threading.RLock())

    def _cluster(self, name: str) -> Cluster:
        cluster = self._clusters.get(name)
        if cluster is None:
            raise ClusterError(f"cluster {name!r} does not run")
        return cluster

    def _environment(self) -> dict[str, str]:
        """Programs see nothing of the user's environment: no proxy, no kubeconfig, no credentials."""
        return {"PATH": os.defpath, "HOME": str(self._own), "TMPDIR": str(self._own / "tmp"), "LANG": "C.UTF-8"}

    def _start_shared(self) -> None:
        """What all clusters share: etcd, the token webhook, the tunnels."""
        with self._lock:
            if self._stopped:
                raise ClusterError("the datacentre has been stopped")
            if self._etcd is not None:
                return
            for record in self._records():
                self._ports.keep(record.port)
            self._programs = Programs(
                etcd=binaries.find("etcd"),
                apiserver=binaries.find("kube-apiserver"),
                controller_manager=binaries.find("kube-controller-manager"),
                scheduler=binaries.find("kube-scheduler"),
                kwok=binaries.find("kwok"),
            )
            etcd = Etcd(self._own / "etcd", self._ports, self._supervisor, self._programs.etcd, self._environment())
            etcd.start()
            self._sockets = SocketFolder(self._own / "sockets", self._own / "socket-folder")
            self._tokens = TokenWebhook(self._own / "tls", self.log)
            self._loop = TunnelLoop()
            self._etcd = etcd

    def _start(self, record: Record) -> None:
        if not (self._programs and self._etcd and self._tokens and self._loop and self._sockets):
            raise ClusterError("the datacentre has been stopped")
        folder = self.folder / record.name
        env = self._environment()
        plane = ControlPlane(
            record.name, folder, record.port, record.prefix, record.version, self._programs, self._supervisor, env
        )
        around = Surroundings(
            cluster=record.name,
            endpoint=plane.endpoint,
            ca_file=plane.authority.certificate_file,
            folder=folder / "pods",
            client=plane.admin(),
            supervisor=self._supervisor,
            ports=self._ports,
            env=env,
            find_program=binaries.find,
            log=self.log,
        )
        cluster = Cluster(record, plane, around, self._tokens, self._loop)
        # A short name of its own: a cluster's may have 100 characters, a socket's path 107 bytes in all.
        cluster.start(self._etcd, self._sockets.socket(f"{record.port}.sock"))
        self._clusters[record.name] = cluster
