"""Device agents: a node shows its accelerators while the pod of their device plugin is ready on it."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Iterable

from accelerator_fleet_sim.cluster import sharing
from accelerator_fleet_sim.cluster.images import plugin_resources
from accelerator_fleet_sim.cluster.kube import STRATEGIC, ApiError, KubeClient
from accelerator_fleet_sim.cluster.model import Json, Log
from accelerator_fleet_sim.cluster.nodes import DEVICES

# How long a kubelet remembers the devices of a plugin that went away (device manager's endpoint grace period):
# until then capacity stays and nothing can be allocated; afterwards both are 0. The keys never leave the node.
_ENDPOINT_GRACE_S = 300.0


def is_ready(pod: Json) -> bool:
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


class DeviceAgents:
    """All kubelets' device managers of one cluster."""

    def __init__(self, client: KubeClient, log: Log) -> None:
        self._client = client
        self._log = log
        self._lost: dict[tuple[str, str], float] = {}
        self._parts: dict[str, int] = {}  # node -> devices that the plugin makes of each card

    def reconcile(self, nodes: Iterable[Json], pods: Iterable[Json]) -> None:
        served: dict[str, set[str]] = {}
        plugins: dict[str, Json] = {}
        daemons: set[str] = set()
        for pod in pods:
            node = pod["spec"].get("nodeName")
            if not (node and is_ready(pod) and (found := plugin_resources(pod))):
                continue
            if sharing.is_mps_daemon(pod):
                daemons.add(node)
                continue
            served.setdefault(node, set()).update(found)
            if sharing.is_plugin(pod):
                plugins[node] = pod
        read = functools.cache(self._config_map)  # one look serves one round
        for item in nodes:
            name = item["metadata"]["name"]
            if name in plugins:
                each = sharing.parts(plugins[name], item, name in daemons, read)
                if each is None:
                    served[name].discard(sharing.RESOURCE)
                self._parts[name] = each or self._parts.get(name, 1)
            status = self._status(item, served.get(name, set()))
            if status:
                self._patch(name, status)

    def _status(self, node: Json, served: set[str]) -> Json:
        """What must change in the node's status."""
        devices = json.loads(node["metadata"].get("annotations", {}).get(DEVICES, "{}"))
        shown = node.get("status", {})
        change: Json = {"capacity": {}, "allocatable": {}}
        for resource, whole in devices.items():
            each = self._parts.get(node["metadata"]["name"], 1) if resource == sharing.RESOURCE else 1
            count = int(whole) * each
            capacity, free = self._amounts(node["metadata"]["name"], resource, str(count), shown, resource in served)
            for part, amount in (("capacity", capacity), ("allocatable", free)):
                if amount is not None and shown.get(part, {}).get(resource) != amount:
                    change[part][resource] = amount
        return {k: v for k, v in change.items() if v}

    def _amounts(
        self, node: str, resource: str, count: str, shown: Json, served: bool
    ) -> tuple[str | None, str | None]:
        if served:
            self._lost.pop((node, resource), None)
            return count, count
        if resource not in shown.get("capacity", {}):
            return None, None  # no plugin ever registered here
        since = self._lost.setdefault((node, resource), time.monotonic())
        expired = time.monotonic() - since > _ENDPOINT_GRACE_S
        return ("0" if expired else None), "0"

    def _config_map(self, namespace: str, name: str) -> Json | None:
        return self._client.find(f"/api/v1/namespaces/{namespace}/configmaps/{name}")

    def _patch(self, name: str, status: Json) -> None:
        try:
            self._client.patch(f"/api/v1/nodes/{name}/status", {"status": status}, STRATEGIC)
        except ApiError as error:
            if error.status != 404:
                self._log(f"devices of {name}: {error}")
