"""What runs on the nodes of a cluster besides kwok: device managers and the pods with real programs."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import threading
import time
from pathlib import Path

from accelerator_fleet_sim.cluster.controlplane import KUBELET_PORT
from accelerator_fleet_sim.cluster.devices import DeviceAgents
from accelerator_fleet_sim.cluster.images import real_program
from accelerator_fleet_sim.cluster.kube import ApiError, Mirror
from accelerator_fleet_sim.cluster.model import Json
from accelerator_fleet_sim.cluster.networks import NodeNetworks
from accelerator_fleet_sim.cluster.realpod import RealPod, Surroundings

_SETTLE_S = 0.05  # changes come in bursts; one look serves them all
_IDLE_S = 15.0
# kwok 0.8.0 can overlook a pod that is bound in the moment in which it takes over the node: it lists the node's pods
# before it counts the node as its own. A kubelet acknowledges each pod by `startTime`; that change shows it to kwok.
_OVERLOOKED_S = 1.5


class NodeAgents:
    """Follows pods and nodes of one cluster and acts for their kubelets."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._real: dict[str, RealPod] = {}
        self._dirty = threading.Event()
        self._stop = threading.Event()
        self._kubelet_port = 0
        self._waiting: dict[str, float] = {}  # pods that no kubelet has acknowledged: uid -> since when
        self._devices = DeviceAgents(around.client, around.log)
        self._networks = NodeNetworks(around.client, around.log)
        self._networked = False  # some node has further interfaces
        self._nodes = Mirror(around.client, "/api/v1/nodes", self._dirty.set, around.log)
        self._pods = Mirror(around.client, "/api/v1/pods", self._dirty.set, around.log)
        self._thread = threading.Thread(target=self._run, name=f"agents {around.cluster}", daemon=True)

    def start(self, kubelet_port: int) -> None:
        self._kubelet_port = kubelet_port
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._dirty.set()
        self._thread.join(10)
        self._nodes.stop()
        self._pods.stop()
        for real in list(self._real.values()):
            real.stop()

    def pod(self, namespace: str, name: str) -> Json | None:
        return self._pods.get(f"{namespace}/{name}")

    def log_file(self, uid: str) -> Path | None:
        real = self._real.get(uid)
        return None if real is None else real.log_file

    def resolve(self, host: str, port: int) -> int | None:
        """Which loopback port answers for an address inside the cluster; None: nothing does."""
        for real in list(self._real.values()):
            if real.pod_ip == host:
                return real.ports.get(port)
        if port == KUBELET_PORT and any(_address(n) == host for n in self._nodes.items()):
            return self._kubelet_port
        return None

    def _run(self) -> None:
        self._nodes.synced.wait()
        self._pods.synced.wait()
        while not self._stop.is_set():
            self._dirty.clear()
            try:
                self._look()
            except Exception as error:  # one bad object must not stop the agents of all others
                if not self._stop.is_set():
                    self._around.log(f"{self._around.cluster}: node agents: {error}")
                    time.sleep(1)
            self._dirty.wait(_OVERLOOKED_S / 2 if self._waiting or self._networked else _IDLE_S)
            time.sleep(_SETTLE_S)

    def _look(self) -> None:
        pods = self._pods.items()
        self._devices.reconcile(self._nodes.items(), pods)
        self._networked = self._networks.reconcile(self._nodes.items())
        self._acknowledge(pods)
        running = {p["metadata"]["uid"]: p for p in pods if p["spec"].get("nodeName") and real_program(p)}
        for uid, pod in running.items():
            self._attend(uid, pod)
        for uid in [u for u in self._real if u not in running]:
            self._real.pop(uid).delete()

    def _acknowledge(self, pods: list[Json]) -> None:
        now = time.monotonic()
        bound = {p["metadata"]["uid"]: p for p in pods if _unacknowledged(p)}
        self._waiting = {uid: self._waiting.get(uid, now) for uid in bound}
        for uid, since in self._waiting.items():
            if now - since < _OVERLOOKED_S:
                continue
            meta = bound[uid]["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
            started = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            with contextlib.suppress(ApiError):  # deleted meanwhile
                self._around.client.patch(path, {"status": {"startTime": started}})

    def _attend(self, uid: str, pod: Json) -> None:
        real = self._real.get(uid)
        deleting = "deletionTimestamp" in pod["metadata"]
        if real is None and pod["status"].get("phase") not in ("Succeeded", "Failed"):
            if deleting:  # left over from before a restart: nothing runs, let it go
                shutil.rmtree(self._around.folder / uid, ignore_errors=True)
            (self._around.folder / uid).mkdir(parents=True, exist_ok=True)
            real = self._real[uid] = RealPod(self._around, pod, self._address_for(pod))
        if real is not None and deleting:
            real.delete()

    def _address_for(self, pod: Json) -> str:
        """The pod's address: kept over restarts, else one that no pod has; apart from kwok's range."""
        if kept := pod["status"].get("podIP"):
            return str(kept)
        taken = {p["status"].get("podIP") for p in self._pods.items()} | {r.pod_ip for r in self._real.values()}
        candidates = (f"100.127.{n >> 8}.{n & 255}" for n in range(1, 1 << 16))
        return next(a for a in candidates if a not in taken)


def _unacknowledged(pod: Json) -> bool:
    """Bound to a node, and nobody there has said so; pods with real programs have their own kubelet."""
    status, meta = pod.get("status", {}), pod["metadata"]
    bound = bool(pod["spec"].get("nodeName")) and status.get("phase") == "Pending" and "startTime" not in status
    return bound and "deletionTimestamp" not in meta and not real_program(pod)


def _address(node: Json) -> str:
    found = [a["address"] for a in node["status"].get("addresses", []) if a["type"] == "InternalIP"]
    return str(found[0]) if found else ""
