"""The autoscaler of GKE pools that jobs fill: flex-start, queued provisioning, reservations with dates."""

from __future__ import annotations

import threading
from http.client import HTTPException
from typing import Any

from ..cluster.kube import ApiError, KubeClient
from ..cluster.model import ClusterError
from ..daemon.store import Resource
from .control import ControlPlane
from .demand import Form, Json, by_jobs, cards_of, on_nodes, waiting
from .errors import Unhealthy
from .requests import Requests
from .scope import CLOUD, CLUSTER, NODE_POOL, Scope, World
from .services.capacity import reservation
from .services.clusters import pools_of
from .services.nodepools import NodePool
from .services.poolchecks import named_reservation
from .services.poolmodes import MOST_RUN, flex, queued

LOOK_S = 1.0  # real seconds between two looks
IDLE = 600.0  # simulated: https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
CONSUMES = ("autoscaling.x-k8s.io/consume-provisioning-request",
            "cluster-autoscaler.kubernetes.io/consume-provisioning-request")  # fmt: skip


class Scaler:
    """One thread for all clusters. Machines are found after simulated minutes, when the zone has them."""

    def __init__(self, world: World, control: ControlPlane) -> None:
        self.world = world
        behaviour = control.behaviours[NODE_POOL]
        assert isinstance(behaviour, NodePool)
        self.behaviour = behaviour
        self.requests = Requests(self)
        self._idle: dict[str, float] = {}
        self._said: dict[str, str] = {}
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        threading.Thread(target=self._run, name="gke autoscaler", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(LOOK_S):
            for cluster in self.world.store.resources(cloud=CLOUD, type=CLUSTER):
                try:
                    if cluster.state == "active":
                        self._cluster(cluster)
                except (ApiError, ClusterError, OSError, HTTPException) as problem:
                    self._say(cluster.id, f"the API server does not answer: {problem}")
                except Exception as problem:  # one pool must not end the autoscaler of all
                    self._say(cluster.id, f"autoscaler: {problem!r}")

    def _say(self, what: str, text: str) -> None:
        if self._said.get(what) != text:
            self._said[what] = text
            self.world.log(f"{what}: {text}")

    def _cluster(self, cluster: Resource) -> None:
        from ..nodeloss import bring_back  # it knows both clouds

        scope = Scope(self.world, cluster.account)
        for pool in pools_of(scope, cluster):
            if pool.state == "active":
                bring_back(scope, pool, self.behaviour)
        pools = [p for p in pools_of(scope, cluster) if p.state == "active" and by_jobs(p)]
        if not pools:
            return
        client: KubeClient = self.world.clusters.client(cluster.hidden["runtime"])
        self.look(scope, pools, client)

    def look(self, scope: Scope, pools: list[Resource], client: KubeClient) -> None:
        """One look at pods and requests of a cluster; pools get and lose nodes by it."""
        pods = client.list("/api/v1/pods")
        for pool in pools:
            self._expire(scope, pool)
        if any(queued(p.outputs) for p in pools):
            self.requests.look(scope, [p for p in pools if queued(p.outputs)], client)
        for pool in pools:
            found = scope.find(NODE_POOL, pool.id)  # as it is now
            if found is not None and found.state == "active":
                self._fill(scope, found, pods)

    # -- nodes come -------------------------------------------------------------------------------------------------
    def _fill(self, scope: Scope, pool: Resource, pods: list[Json]) -> None:
        form, now = Form(scope, pool), self.world.clock.now()
        have = pool.hidden["nodes"]
        used = on_nodes(pods, {n["name"] for n in have})
        asked: list[int] = []
        if not queued(pool.outputs):
            asked = [_cards(p["spec"], form) for p in pods if waiting(p) and not consumes(p) and form.takes(p["spec"])]
        booked = self.requests.booked(pool)
        wanted = max(form.nodes_for([*asked, *(_cards(p["spec"], form) for p in used)]), booked)
        if wanted <= len(have) or not asked:
            pool.hidden.pop("asked", None)
        if wanted > len(have) and asked:
            since = pool.hidden.setdefault("asked", now)
            scope.store.put(pool)
            minutes = "flex_start" if flex(pool.outputs["nodeConfig"]) else "autoscaler"
            if now - since >= scope.catalog.seconds(minutes):
                self.resize(scope, pool, wanted)
            return
        self._shrink(scope, pool, form, {p["spec"]["nodeName"] for p in used}, wanted)

    def resize(self, scope: Scope, pool: Resource, count: int) -> Unhealthy | None:
        """Give the pool so many nodes, all that it lacks or none; why not, when the zone has none."""
        before = int(pool.outputs["nodeCount"])
        pool.outputs["nodeCount"] = count
        problem = self.behaviour.scale(scope, pool)
        if problem is not None:
            pool.outputs["nodeCount"] = before
            scope.store.put(pool)
            self._say(pool.id, f"cannot scale up: {problem}")
            return problem
        pool.hidden.pop("asked", None)
        scope.store.put(pool)
        self._said.pop(pool.id, None)
        self.behaviour.push(scope, pool)
        return None

    # -- and go -----------------------------------------------------------------------------------------------------
    def _expire(self, scope: Scope, pool: Resource) -> None:
        """Nodes whose time is over: the longest run of a flex-start node, the end of a reservation."""
        config, now = pool.outputs["nodeConfig"], self.world.clock.now()
        said = named_reservation(config)
        zone = pool.outputs["nodeLocations"][0]
        life = float(str(config.get("maxRunDuration") or f"{MOST_RUN}s").rstrip("s"))
        gone = {n["name"] for n in pool.hidden["nodes"] if flex(config) and now >= n["created"] + n.get("run", life)}
        if said is not None and reservation(scope, said, zone) is None:
            gone = {n["name"] for n in pool.hidden["nodes"]}
        if gone:
            self._take(scope, pool, gone)

    def _shrink(self, scope: Scope, pool: Resource, form: Form, used: set[str], wanted: int) -> None:
        now = self.world.clock.now()
        idle = {n["name"] for n in pool.hidden["nodes"]} - used
        for name in used:
            self._idle.pop(name, None)
        over = {n for n in idle if now - self._idle.setdefault(n, now) >= IDLE}
        surplus = len(pool.hidden["nodes"]) - wanted
        if form.whole and (wanted or len(over) < len(pool.hidden["nodes"])):
            return
        if surplus > 0 and over:
            self._take(scope, pool, set(sorted(over)[:surplus]))

    def _take(self, scope: Scope, pool: Resource, names: set[str]) -> None:
        with scope.store.transaction():
            pool.hidden["nodes"] = [n for n in pool.hidden["nodes"] if n["name"] not in names]
            pool.outputs["nodeCount"] = len(pool.hidden["nodes"])
            scope.store.put(pool)
        for name in names:
            self._idle.pop(name, None)
        self.world.log(f"{pool.id}: {len(names)} nodes go")
        self.behaviour.push(scope, pool)


def _cards(spec: Json, form: Form) -> int:
    return cards_of(spec, form.resource)


def consumes(pod: Json) -> bool:
    """Whether the pod's nodes come by a ProvisioningRequest."""
    notes: dict[str, Any] = pod["metadata"].get("annotations") or {}
    return any(key in notes for key in CONSUMES)
