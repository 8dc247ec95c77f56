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
from ..aws.control import TICK, ControlPlane
from ..aws.scope import CLOUD, Scope, World
from ..aws.seed import existing_cluster, first_content
from ..aws.services.eks import CLUSTER
from ..aws.services.nodegroups import NODE_GROUP, NodeGroup
from ..google import tokens as google_tokens
from ..google.catalog import Catalog as GoogleCatalog
from ..google.control import ControlPlane as GoogleControlPlane
from ..google.resume import bring_back
from ..google.scaler import Scaler
from ..google.scope import CLUSTER as GKE_CLUSTER
from ..google.scope import World as GoogleWorld
from ..lab import Lab
from .clock import Clock
from .faultdesk import FaultDesk
from .noclusters import NoClusters
from .operations import Operations, describe
from .server import HttpError, HttpServer, Route
from .store import Resource, Store
from .unreliable import Unreliable

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
        self.google_world = GoogleWorld(self.store, self.clock, GoogleCatalog(), self.clusters, log)
        self.google = GoogleControlPlane(self.google_world, self.operations)
        self.scaler = Scaler(self.google_world, self.google) if control_planes else None
        self.lab = Lab(folder, self.store, self.clusters)
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
        theirs = [c for c in self.store.resources(cloud="gcp", type=GKE_CLUSTER) if c.state == "active"]
        threads += [
            threading.Thread(target=bring_back, args=(self.google, self.google_world, c), daemon=True) for c in theirs
        ]
        threads.append(threading.Thread(target=self.lab.bring_back, args=(log,), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._back.set()
        self.operations.start()
        if self.scaler is not None:
            self.scaler.start()

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
        if self.scaler is not None:
            self.scaler.stop()
        self.operations.stop()
        self.clusters.stop()
        self.clock.save()
        self.store.close()

    # -- HTTP -------------------------------------------------------------------------------------------------------
    def routes(self) -> dict[tuple[str, str], Route]:
        """All routes."""
        faults = self.world.faults
        aws = Unreliable("aws", self.aws, faults, self.store, self.clock)
        google = Unreliable("gcp", self.google, faults, self.store, self.clock)
        desk = FaultDesk(self.store, faults, self.clusters, self.aws, self.google, log)
        return {
            **aws.routes(),
            **google.routes(),
            **desk.routes(),
            ("POST", "/gcp/token"): lambda q, b: google_tokens.make(self.google_world),
            ("GET", "/gcp/resources"): lambda q, b: self._resources({**q, "cloud": "gcp"}, b),
            ("POST", "/seed/lab"): lambda q, b: self.lab.seed(b.get("also")),
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
        cloud = query.get("cloud", CLOUD)
        return [{k: getattr(r, k) for k in keys} for r in self.store.resources(cloud=cloud, **where)]

    def _operation(self, query: dict[str, str], body: Any) -> Any:
        """How an operation stands: running, done, failed, or late when its provider waits no longer."""
        wait = min(float(query.get("wait", 0)), 60)
        before = self.store.operation(query["_rest"])
        if before is None:
            text = f"no operation {query['_rest']}"
            raise HttpError(404, {"code": "NoSuchOperation", "message": text, "text": text})
        end = before.started + before.request.get("limit", float("inf"))
        found = self.operations.wait(before.id, min(wait, self.clock.real_wait(end))) or before
        if found.status == "running" and self.clock.now() >= end and found.due >= end:  # not for a slow machine's sake
            control = self.aws if found.cloud == CLOUD else self.google
            return {**describe(found), "status": "late", "error": control.late(found)}
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
        found |= {r.hidden.get("runtime"): r for r in self.store.resources(cloud="gcp", type=GKE_CLUSTER)}
        running = self.clusters.summary()
        for row in running:
            mine = found.get(row["name"])
            row["region"] = (mine.region or mine.outputs.get("location", "")) if mine else ""
        memory = processes.rss_mib(os.getpid())
        return {
            "pid": os.getpid(), "folder": str(self.folder), "account": self.world.catalog.account["account"],
            "speed": self.clock.speed, "time": self.clock.iso(), "memory_mib": round(memory, 1),
            "resources": rows, "clusters": running,
            "operations": sum(1 for o in self.store.running() if o.kind != TICK),
            "resuming": not self._back.is_set(),
            "plugins": [pid for _, pid in processes.recorded(self.folder / "pids")],
        }  # fmt: skip
