"""ProvisioningRequests of GKE's class: accepted at once, provisioned when all nodes of a request are found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ..cluster.kube import ApiError, KubeClient
from ..daemon.store import Resource
from .demand import Form, Json, cards_of
from .scope import NODE_POOL, Scope

if TYPE_CHECKING:
    from .scaler import Scaler

API = "/apis/autoscaling.x-k8s.io/v1"
CLASS = "queued-provisioning.gke.io"
RUN = "maxRunDurationSeconds"
# Condition -> reason and message, as GKE has them; those of what fails are not public.
TEXTS = {
    "Accepted": ("SuccessfullyQueued", "Provisioning Request was successfully queued."),
    "Provisioned": ("Provisioned", "Provisioning Request was successfully provisioned."),
    "BookingExpired": ("BookingExpired", "Capacity booking for the Provisioning Request has expired and the nodes are "
                       "now candidates for scale down when underutilized."),
    "CapacityRevoked": ("CapacityRevoked", "Nodes of the Provisioning Request ran for their longest time."),
}  # fmt: skip
NO_POOL = ("NoNodePool", "No node pool with queued provisioning fits the pods of the Provisioning Request.")
ONE_SET = ("FailedToCreate", "Exactly one pod set is supported.")
BOOKED = 600.0  # simulated seconds for which nodes wait for the job of their request


class Requests:
    """Looks at all requests of a cluster; what it remembers of one stands in its pool, by the request's uid."""

    def __init__(self, scaler: Scaler) -> None:
        self.scaler = scaler

    @staticmethod
    def booked(pool: Resource) -> int:
        """Nodes that wait for the jobs of provisioned requests."""
        rows = (pool.hidden.get("requests") or {}).values()
        return sum(int(r["nodes"]) for r in rows if r["state"] == "provisioned")

    def look(self, scope: Scope, pools: list[Resource], client: KubeClient) -> None:
        """Take every request one step further."""
        found = [r for r in client.list(f"{API}/provisioningrequests") if r["spec"]["provisioningClassName"] == CLASS]
        alive = {r["metadata"]["uid"] for r in found}
        for pool in pools:
            rows = pool.hidden.setdefault("requests", {})
            gone = [uid for uid in rows if uid not in alive]
            for uid in gone:
                del rows[uid]
            if gone:
                scope.store.put(pool)
        for request in sorted(found, key=lambda r: str(r["metadata"]["creationTimestamp"])):
            self._step(scope, pools, client, request)

    def _step(self, scope: Scope, pools: list[Resource], client: KubeClient, request: Json) -> None:
        uid = request["metadata"]["uid"]
        known = next((p for p in pools if uid in p.hidden["requests"]), None)
        if known is None:
            if not true(request, "Failed") and not true(request, "Provisioned"):
                self._accept(scope, pools, client, request)
            return
        pool = scope.find(NODE_POOL, known.id)
        assert pool is not None
        row, now = pool.hidden["requests"][uid], self.scaler.world.clock.now()
        if row["state"] == "accepted" and now - row["since"] >= scope.catalog.seconds("queued_provisioning"):
            self._provision(scope, pool, client, request, row)
        elif row["state"] == "provisioned" and now - row["since"] >= BOOKED:
            row["state"] = "expired"
            scope.store.put(pool)
            self._tell(client, request, "BookingExpired")
        elif row["state"] in ("provisioned", "expired") and row["until"] <= now:
            row["state"] = "revoked"
            scope.store.put(pool)
            self._tell(client, request, "CapacityRevoked")
        known.hidden, known.outputs = pool.hidden, pool.outputs

    def _accept(self, scope: Scope, pools: list[Resource], client: KubeClient, request: Json) -> None:
        meta, sets = request["metadata"], request["spec"]["podSets"]
        if len(sets) != 1:
            self._tell(client, request, "Failed", ONE_SET)
            return
        path = f"/api/v1/namespaces/{meta['namespace']}/podtemplates/{sets[0]['podTemplateRef']['name']}"
        template = client.find(path)
        spec = ((template or {}).get("template") or {}).get("spec") or {}
        for pool in pools:
            form = Form(scope, pool)
            if not form.takes(spec):
                continue
            cards = cards_of(spec, form.resource)
            nodes = form.nodes_for([cards] * int(sets[0]["count"]))
            if nodes * (form.cards // cards) < int(sets[0]["count"]):
                break
            run = float((request["spec"].get("parameters") or {}).get(RUN) or 604800)
            row = {
                "state": "accepted",
                "since": self.scaler.world.clock.now(),
                "nodes": nodes,
                "run": run,
                "until": 0.0,
            }
            pool.hidden["requests"][meta["uid"]] = row
            scope.store.put(pool)
            self._tell(client, request, "Accepted")
            return
        self._tell(client, request, "Failed", NO_POOL)

    def _provision(self, scope: Scope, pool: Resource, client: KubeClient, request: Json, row: dict[str, Any]) -> None:
        have = {n["name"] for n in pool.hidden["nodes"]}
        most = Form(scope, pool).most
        if len(have) + row["nodes"] > most:
            return  # nodes of other requests run still
        if self.scaler.resize(scope, pool, len(have) + row["nodes"]) is not None:
            return  # none in the zone: it stays in the queue
        now = self.scaler.world.clock.now()
        for node in pool.hidden["nodes"]:
            if node["name"] not in have:
                node["run"] = row["run"]
        row |= {"state": "provisioned", "since": now, "until": now + row["run"]}
        scope.store.put(pool)
        self._tell(client, request, "Provisioned")

    @staticmethod
    def _tell(client: KubeClient, request: Json, kind: str, why: tuple[str, str] | None = None) -> None:
        """Set a condition."""
        meta, (reason, message) = request["metadata"], why or TEXTS[kind]
        told = {"type": kind, "status": "True", "reason": reason, "message": message,
                "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}  # fmt: skip
        status = request.setdefault("status", {})
        status["conditions"] = [c for c in status.get("conditions") or [] if c["type"] != kind] + [told]
        path = f"{API}/namespaces/{meta['namespace']}/provisioningrequests/{meta['name']}/status"
        try:
            client.patch(path, {"status": {"conditions": status["conditions"]}})
        except ApiError as error:
            if error.status != 404:  # it went in the meantime
                raise


def true(request: Json, kind: str) -> bool:
    """Whether a condition holds."""
    conditions = (request.get("status") or {}).get("conditions") or []
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)
