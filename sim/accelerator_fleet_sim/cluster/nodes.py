"""Node objects of a node group: made, relabelled and taken away as the cloud's agents do."""

from __future__ import annotations

import json
import time
import uuid
from urllib.parse import quote

from accelerator_fleet_sim.cluster.controlplane import KUBELET_PORT, KWOK_NODE
from accelerator_fleet_sim.cluster.kube import MERGE, ApiError, KubeClient
from accelerator_fleet_sim.cluster.model import ClusterError, Json, Log, NodeSpec
from accelerator_fleet_sim.cluster.quantities import allocatable

GROUP = "accelerator-fleet.dev/node-group"
DEVICES = "accelerator-fleet.dev/devices"  # what the machine has; a node shows it while its device plugin runs
INTERFACES = "accelerator-fleet.dev/interfaces"  # further interfaces of the machine
_OWNED = "accelerator-fleet.dev/owned"  # labels and taints that the node group set, so that it can take them back

# What runs the nodes: image, suffix of the kernel's version and of the kubelet's.
SYSTEMS = {
    "eks": ("Amazon Linux 2023", ".amzn2023", "-eks-embedded"),
    "gke": ("Container-Optimized OS from Google", "+", "-gke.embedded"),
    "plain": ("Ubuntu 24.04 LTS", "", "+embedded"),
}

_DRAIN_S = 20.0
_CONFLICT_TRIES = 8


def node_object(spec: NodeSpec, group: str, version: str) -> Json:
    """The Node as its kubelet registers it; kwok sets the conditions."""
    shape = spec.shape
    labels = _labels(spec)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": spec.name,
            "labels": labels,
            "annotations": {
                KWOK_NODE[0]: KWOK_NODE[1],
                GROUP: group,
                DEVICES: json.dumps(shape.device_resources, sort_keys=True),
                **({INTERFACES: json.dumps(spec.interfaces)} if spec.interfaces else {}),
                _OWNED: _owned(labels, shape.taints),
            },
        },
        "spec": {"providerID": spec.provider_id, "taints": [dict(t) for t in shape.taints]},
        "status": {
            "capacity": dict(shape.capacity),
            "allocatable": allocatable(shape.capacity, shape.system),
            "addresses": [
                {"type": "InternalIP", "address": spec.internal_ip},
                {"type": "InternalDNS", "address": spec.name},
                {"type": "Hostname", "address": spec.name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET_PORT}},
            "nodeInfo": _node_info(spec, version),
        },
    }


def _node_info(spec: NodeSpec, version: str) -> Json:
    """As the cloud's own image tells it, marked: these nodes run no operating system."""
    system = SYSTEMS[spec.shape.system]
    machine = uuid.uuid5(uuid.NAMESPACE_URL, spec.provider_id)
    return {
        "architecture": spec.shape.arch,
        "operatingSystem": "linux",
        "osImage": f"{system[0]} (embedded, no operating system)",
        "kernelVersion": f"6.12.0-embedded{system[1]}",
        "containerRuntimeVersion": "containerd://2.1.0-embedded",
        "kubeletVersion": f"v{version}.0{system[2]}",
        "kubeProxyVersion": "",
        "machineID": machine.hex,
        "systemUUID": str(machine),
        "bootID": str(uuid.uuid5(machine, "boot")),
    }


def _labels(spec: NodeSpec) -> dict[str, str]:
    """The node group's labels and those that kubelet and the cloud's controller set on every node."""
    return {
        **spec.shape.labels,
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": spec.shape.arch,
        "beta.kubernetes.io/os": "linux",
        "beta.kubernetes.io/arch": spec.shape.arch,
        "node.kubernetes.io/instance-type": spec.instance_type,
        "beta.kubernetes.io/instance-type": spec.instance_type,
        "topology.kubernetes.io/region": spec.region,
        "topology.kubernetes.io/zone": spec.zone,
        "failure-domain.beta.kubernetes.io/region": spec.region,
        "failure-domain.beta.kubernetes.io/zone": spec.zone,
    }


def _owned(labels: dict[str, str], taints: list[dict[str, str]]) -> str:
    return json.dumps({"labels": sorted(labels), "taints": sorted([t["key"], t["effect"]] for t in taints)})


class NodeGroups:
    """The nodes of one cluster."""

    def __init__(self, client: KubeClient, version: str, log: Log) -> None:
        self._client = client
        self._version = ".".join(version.lstrip("v").split(".")[:2])
        self._log = log

    def all(self) -> list[Json]:
        return self._client.list("/api/v1/nodes")

    def set(self, group: str, specs: list[NodeSpec]) -> None:
        """Make the nodes of a group equal to the list."""
        wanted = {s.name: s for s in specs}
        present = {n["metadata"]["name"]: n for n in self.all() if _group(n) == group}
        gone = [n for n, node in present.items() if _other_machine(node, wanted.get(n))]
        if gone:
            self._take_away(gone)
        for name, spec in wanted.items():
            if name in present and name not in gone:
                self._update(present[name], spec)
            else:
                self._create(spec, group)

    def _create(self, spec: NodeSpec, group: str) -> None:
        try:
            self._client.create("/api/v1/nodes", node_object(spec, group, self._version))
        except ApiError as error:
            raise ClusterError(f"node {spec.name}: {error}") from error

    def _update(self, node: Json, spec: NodeSpec) -> None:
        for _ in range(_CONFLICT_TRIES):
            patch = _difference(node, spec)
            if patch is None:
                return
            try:
                self._client.patch(_path(spec.name), patch, MERGE)
                return
            except ApiError as error:
                if error.status != 409:
                    raise
            node = self._client.get(_path(spec.name))
        raise ClusterError(f"node {spec.name} changes faster than it can be updated")

    def _take_away(self, names: list[str]) -> None:
        """Cordon, evict as far as budgets allow within a while, then the machine is gone and its pods with it."""
        for name in names:
            self._client.patch(_path(name), {"spec": {"unschedulable": True}}, MERGE)
        deadline = time.monotonic() + _DRAIN_S
        while (pods := self._pods(names, drainable=True)) and time.monotonic() < deadline:
            for pod in pods:
                self._evict(pod)
            time.sleep(0.2)
        for name in names:
            self._client.delete(_path(name))
        # The pod collector would do it after its minute of quarantine.
        for pod in self._pods(names, drainable=False):
            self._client.delete(_pod_path(pod), {"gracePeriodSeconds": 0})

    def _pods(self, names: list[str], drainable: bool) -> list[Json]:
        found: list[Json] = []
        for name in names:
            field = quote(f"spec.nodeName={name}")
            found.extend(self._client.list(f"/api/v1/pods?fieldSelector={field}"))
        return [p for p in found if _is_drainable(p)] if drainable else found

    def _evict(self, pod: Json) -> None:
        meta = pod["metadata"]
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
        }
        if "deletionTimestamp" in meta:
            return
        try:
            self._client.create(f"{_pod_path(pod)}/eviction", body)
        except ApiError as error:
            if error.status not in (404, 429):  # 429: a disruption budget says not now
                self._log(f"evicting {meta['namespace']}/{meta['name']}: {error}")


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def _pod_path(pod: Json) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _group(node: Json) -> str | None:
    found = node["metadata"].get("annotations", {}).get(GROUP)
    return None if found is None else str(found)


def _other_machine(node: Json, spec: NodeSpec | None) -> bool:
    return spec is None or node["spec"].get("providerID") != spec.provider_id


def _is_drainable(pod: Json) -> bool:
    owners = [o["kind"] for o in pod["metadata"].get("ownerReferences", [])]
    return "DaemonSet" not in owners and pod["status"].get("phase") not in ("Succeeded", "Failed")


def _difference(node: Json, spec: NodeSpec) -> Json | None:
    """A merge patch that brings labels and taints of the node group up to date; what others set stays."""
    meta = node["metadata"]
    owned = json.loads(meta["annotations"].get(_OWNED, "{}"))
    labels, taints = _labels(spec), spec.shape.taints
    new_owned = _owned(labels, taints)
    changed: Json = {k: None for k in owned.get("labels", []) if k not in labels and k in meta["labels"]}
    changed |= {k: v for k, v in labels.items() if meta["labels"].get(k) != v}
    before = node["spec"].get("taints", [])
    ours = {tuple(t) for t in owned.get("taints", [])} | {(t["key"], t["effect"]) for t in taints}
    after = [t for t in before if (t["key"], t["effect"]) not in ours] + [dict(t) for t in taints]
    devices = json.dumps(spec.shape.device_resources, sort_keys=True)
    same_taints = sorted(map(json.dumps, before)) == sorted(map(json.dumps, after))
    annotations = {_OWNED: new_owned, DEVICES: devices}
    if not changed and same_taints and annotations.items() <= meta["annotations"].items():
        return None
    patch: Json = {"metadata": {"labels": changed, "annotations": annotations}}
    if not same_taints:
        patch["metadata"]["resourceVersion"] = meta["resourceVersion"]  # others write taints too
        patch["spec"] = {"taints": after}
    return patch
