"""The cluster `lab`: plain Kubernetes that no cloud owns, for sites of kind `existing`; AMD cards, more on request."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

from .cluster.model import NodeShape, NodeSpec
from .daemon.store import Store

NAME, VERSION, NODES, CARDS = "lab", "1.36", 2, 8
USER = {"username": "lab-admin", "uid": "lab-admin", "groups": ["system:masters"], "extra": {}}


def node(number: int) -> NodeSpec:
    """A machine with eight MI300X. Figures of a common 8-card server: 192 threads, 2 TiB (estimate)."""
    name = f"lab-{number}"
    shape = NodeShape(
        labels={"node.kubernetes.io/instance-type": "mi300x-8", "amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
        taints=[],
        capacity={"cpu": "192", "memory": f"{2 * 2**30}Ki", "pods": "110", "ephemeral-storage": f"{3 * 2**30}Ki",
                  "hugepages-1Gi": "0", "hugepages-2Mi": "0"},
        device_resources={"amd.com/gpu": str(CARDS)},
        system="plain",
    )  # fmt: skip
    return NodeSpec(name, f"lab://{name}", "lab-a", "lab", "mi300x-8", f"10.250.0.{10 + number}", shape)


# device plugins of the lab: add-on -> its version
PLUGINS = {"amd-devices": "1.31.0.8", "nvidia-devices": "v0.19.0", "ascend-devices": "v7.0.RC1"}


def kinds() -> dict[str, dict[str, Any]]:
    """Further nodes that can be asked for: name -> figures."""
    found: dict[str, dict[str, Any]] = json.loads((resources.files(__package__) / "lab.json").read_text())["kinds"]
    return found


def further_node(kind: str, number: int) -> NodeSpec:
    """The one node of a further kind."""
    row = kinds()[kind]
    name = f"lab-{kind}"
    shape = NodeShape(
        labels={"node.kubernetes.io/instance-type": row["instance_type"], **row["labels"]},
        taints=[],
        capacity={"cpu": row["cpu"], "memory": f"{row['memory_gib'] * 2**20}Ki", "pods": "110",
                  "ephemeral-storage": f"{3 * 2**30}Ki", "hugepages-1Gi": "0", "hugepages-2Mi": "0"},
        device_resources={row["resource"]: str(row["cards"])},
        arch=row["arch"],
        system="plain",
    )  # fmt: skip
    return NodeSpec(name, f"lab://{name}", "lab-a", "lab", row["instance_type"], f"10.250.1.{10 + number}", shape)


class Lab:
    """The cluster in one datacentre; it is there once it was asked for."""

    def __init__(self, folder: Path, store: Store, clusters: Any) -> None:
        self._folder, self._store, self._clusters = folder, store, clusters

    def seed(self, also: list[str] | None = None) -> dict[str, Any]:
        """Start it, and write a kubeconfig with the context `lab`. `also`: further nodes, kept from then on."""
        had = set(json.loads(self._store.meta("lab also") or "[]"))
        unknown = sorted(set(also or []) - set(kinds()))
        if unknown:
            raise ValueError(f"no nodes {', '.join(unknown)}; there are: {', '.join(kinds())}")
        self._store.set_meta("lab also", json.dumps(sorted(had | set(also or []))))
        token = self._store.meta("lab token") or secrets.token_urlsafe(32)
        self._store.set_meta("lab token", token)
        endpoint = self._start(token)
        pem = endpoint.ca_pem if isinstance(endpoint.ca_pem, str) else endpoint.ca_pem.decode()
        path = self._folder.parent / "kubeconfig"
        _write(path, endpoint.endpoint, pem, token)
        return {"name": NAME, "endpoint": endpoint.endpoint, "where": f"context {NAME} in {path}"}

    def bring_back(self, log: Callable[[str], None]) -> None:
        """Start it again after a restart of the datacentre."""
        token = self._store.meta("lab token")
        if token is None:
            return
        try:
            self._start(token)
        except Exception as problem:  # one broken cluster must not keep the others down
            log(f"cluster {NAME} did not come back: {problem!r}")

    def _start(self, token: str) -> Any:
        def authenticate(_: str, given: str) -> dict[str, Any] | None:
            return USER if secrets.compare_digest(given, token) else None

        identity = self._store.meta("lab id") or secrets.token_hex(16)
        self._store.set_meta("lab id", identity)
        endpoint = self._clusters.ensure(NAME, version=VERSION, cluster_id=identity, authenticate=authenticate)
        also = json.loads(self._store.meta("lab also") or "[]")
        wanted = PLUGINS if also else {"amd-devices": PLUGINS["amd-devices"]}
        for addon, version in wanted.items():
            if addon in self._clusters.known_addons():
                self._clusters.apply_cloud_addon(NAME, addon, version)
        further = [further_node(kind, i) for i, kind in enumerate(also)]
        self._clusters.set_nodes(NAME, "lab", [*(node(i) for i in range(NODES)), *further])
        return endpoint


def _write(path: Path, server: str, pem: str, token: str) -> None:
    """A kubeconfig of this one context; one that is not the datacentre's own is left alone."""
    import base64

    if path.exists() and '"embedded-lab"' not in path.read_text():
        raise ValueError(f"{path} is not the datacentre's: move it away first")
    ca = base64.b64encode(pem.encode()).decode()
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": NAME,
        "clusters": [{"name": NAME, "cluster": {"server": server, "certificate-authority-data": ca}}],
        "users": [{"name": "embedded-lab", "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": "embedded-lab"}}],
    }  # fmt: skip
    scratch = path.with_name(f".{path.name}.new")
    scratch.touch(mode=0o600)
    scratch.write_text(json.dumps(config, indent=1) + "\n")
    scratch.replace(path)
