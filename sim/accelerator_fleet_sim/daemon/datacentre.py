"""The datacentre in one process: store, clock, operations, clouds and control planes, and what HTTP asks of them."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .. import processes
from ..aws import tokens
from ..aws.catalog import Catalog
from ..aws.control import ControlPlane, describe
from ..aws.scope import CLOUD, Scope, World
from ..aws.seed import existing_cluster, first_content
from ..aws.services.eks import CLUSTER
from ..aws.services.nodegroups import NODE_GROUP, NodeGroup
from .clock import Clock
from .noclusters import NoClusters
from .operations import Operations
from .server import HttpError, HttpServer, Route
from .store import Resource, Store

KEEP = 7 * 86400.0  # simulated seconds that ended operations are kept


def log(text: str) -> None:
    """One line in the daemon's log."""
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


class Datacentre:
    """Everything; `routes` is its HTTP face."""

    def __init__(self, folder: Path, speed: float | None, control_planes: bool) -> None:
        self.folder = folder
        self.store = Store(folder / "cloud.db")
        self.clock = Clock(self.store, speed)
        self.operations = Operations(self.store, self.clock, log)
        self.clusters = self._clusters(control_planes)
        self.world = World(self.store, self.clock, Catalog(), self.clusters, log)
        self.aws = ControlPlane(self.world, self.operations)
        first_content(self.aws, self.world)
        self.store.forget_operations(self.clock.now() - KEEP)
        self.server: HttpServer | None = None
        self._back = threading.Event()  # the control planes of an earlier run are up again

    def _clusters(self, real: bool) -> Any:
        folder = self.folder / "clusters"
        if not real:
            return NoClusters(folder, log)
        from ..cluster.api import ClusterRuntime

        return ClusterRuntime(folder, log)

    def start(self) -> None:
        """Bring clusters back, then go on with operations."""
        threading.Thread(target=self._resume, name="resume", daemon=True).start()

    def _resume(self) -> None:
        found = [c for c in self.store.resources(cloud=CLOUD, type=CLUSTER) if c.state == "active"]
        threads = [threading.Thread(target=self._bring_back, args=(c,), daemon=True) for c in found]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._back.set()
        self.operations.start()

    def _bring_back(self, cluster: Resource) -> None:
        scope = Scope(self.world, cluster.account, cluster.region)
        authenticate = tokens.authenticator(self.world, cluster.region, cluster.id)
        behaviour = self.aws.behaviours[NODE_GROUP]
        assert isinstance(behaviour, NodeGroup)
        try:
            self.clusters.ensure(cluster.hidden["runtime"], version=cluster.outputs["version"],
                                 cluster_id=cluster.hidden["issuer"], authenticate=authenticate)  # fmt: skip
            for group in scope.all(NODE_GROUP, clusterName=cluster.id):
                if group.state not in ("creating", "deleting"):
                    behaviour.push(scope, group)
        except Exception as problem:  # one broken cluster must not keep the others down
            log(f"cluster {cluster.id} did not come back: {problem!r}")

    def stop(self) -> None:
        """End operations and control planes; the store keeps all."""
        self.operations.stop()
        self.clusters.stop()
        self.clock.save()
        self.store.close()

    # -- HTTP -------------------------------------------------------------------------------------------------------
    def routes(self) -> dict[tuple[str, str], Route]:
        """All routes."""
        aws = self.aws
        return {
            ("POST", "/aws/create"): lambda q, b: aws.create(b),
            ("POST", "/aws/update"): lambda q, b: aws.update(b),
            ("POST", "/aws/delete"): lambda q, b: aws.delete(b),
            ("POST", "/aws/read"): lambda q, b: aws.read(b),
            ("POST", "/aws/invoke"): lambda q, b: aws.invoke(b),
            ("POST", "/aws/token"): lambda q, b: tokens.make(self.world, b["cluster"], b["region"]),
            ("GET", "/aws/resources"): self._resources,
            ("GET", "/operations/*"): self._operation,
            ("GET", "/status"): lambda q, b: self.status(),
            ("POST", "/clock"): self._clock,
            ("POST", "/seed/existing"): lambda q, b: existing_cluster(self.aws, self.world),
            ("POST", "/stop"): self._stop,
        }

    def _resources(self, query: dict[str, str], body: Any) -> Any:
        where = {k: v for k, v in query.items() if k in ("type", "account", "region", "owner", "state")}
        keys = ("account", "region", "type", "id", "owner", "state", "inputs", "outputs", "hidden")
        return [{k: getattr(r, k) for k in keys} for r in self.store.resources(cloud=CLOUD, **where)]

    def _operation(self, query: dict[str, str], body: Any) -> Any:
        wait = min(float(query.get("wait", 0)), 60)
        found = self.operations.wait(query["_rest"], wait)
        if found is None:
            text = f"no operation {query['_rest']}"
            raise HttpError(404, {"code": "NoSuchOperation", "message": text, "text": text})
        return describe(found)

    def _clock(self, query: dict[str, str], body: Any) -> Any:
        speed = float(body["speed"])
        if not 0 < speed <= 1e6:
            raise HttpError(400, {"code": "BadSpeed", "message": f"speed {speed}: above 0, at most 1000000"})
        self.clock.set_speed(speed)
        self.operations.wake()
        return {"speed": speed}

    def _stop(self, query: dict[str, str], body: Any) -> Any:
        assert self.server is not None
        self.server.close()
        return {"pid": os.getpid()}

    def status(self) -> dict[str, Any]:
        """What `fleet sim status` prints."""
        rows = [{"cloud": c, "type": t, "owner": o, "count": n} for c, t, o, n in self.store.counts()]
        found = {r.hidden.get("runtime"): r for r in self.store.resources(cloud=CLOUD, type=CLUSTER)}
        running = self.clusters.summary()
        for row in running:
            row["region"] = found[row["name"]].region if row["name"] in found else ""
        memory = processes.rss_mib(os.getpid())
        return {
            "pid": os.getpid(), "folder": str(self.folder), "account": self.world.catalog.account["account"],
            "speed": self.clock.speed, "time": self.clock.iso(), "memory_mib": round(memory, 1),
            "resources": rows, "clusters": running, "operations": len(self.store.running()),
            "resuming": not self._back.is_set(),
            "plugins": [pid for _, pid in processes.recorded(self.folder / "pids")],
        }  # fmt: skip
