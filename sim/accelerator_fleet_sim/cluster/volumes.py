"""Volumes of a pod with a real program, laid out in a folder as its kubelet would mount them."""

from __future__ import annotations

import base64
from pathlib import Path

from accelerator_fleet_sim.cluster import pki
from accelerator_fleet_sim.cluster.kube import KubeClient
from accelerator_fleet_sim.cluster.model import Json


class Volumes:
    """Secrets, ConfigMaps and empty folders of one container; `refresh` follows their changes."""

    def __init__(self, client: KubeClient, pod: Json, container: Json, folder: Path) -> None:
        self._client = client
        self._namespace = pod["metadata"]["namespace"]
        self._volumes = {v["name"]: v for v in pod["spec"].get("volumes", [])}
        self._mounts = [m for m in container.get("volumeMounts", []) if "projected" not in self._volumes[m["name"]]]
        self._folder = folder
        self._written: dict[Path, bytes] = {}

    def refresh(self) -> str | None:
        """Write what changed; returns what is missing, None when all is there."""
        for name in {m["name"] for m in self._mounts}:
            volume, folder = self._volumes[name], self._folder / name
            folder.mkdir(parents=True, exist_ok=True)
            if "secret" in volume:
                kind, source, key = "secrets", volume["secret"], "secretName"
            elif "configMap" in volume:
                kind, source, key = "configmaps", volume["configMap"], "name"
            else:
                continue
            item = self._client.find(f"/api/v1/namespaces/{self._namespace}/{kind}/{source[key]}")
            if item is None and not source.get("optional"):
                return f"{kind[:-1]} {source[key]!r} not found"
            self._write(folder, {} if item is None else _contents(kind, item))
        return None

    def _write(self, folder: Path, contents: dict[str, bytes]) -> None:
        for name, data in contents.items():
            path = folder / Path(name).name
            if self._written.get(path) != data:
                pki.write_private(path, data)
                self._written[path] = data

    def host_path(self, path: str) -> str:
        """Where a path of the container lies here; a path outside all mounts stays as it is."""
        for mount in sorted(self._mounts, key=lambda m: -len(m["mountPath"])):
            inside = mount["mountPath"].rstrip("/")
            if path == inside or path.startswith(inside + "/"):
                base = self._folder / mount["name"]
                base = base / mount["subPath"] if mount.get("subPath") else base
                return str(base) + path[len(inside) :]
        return path


def _contents(kind: str, item: Json) -> dict[str, bytes]:
    data: dict[str, str] = item.get("data") or {}
    if kind == "secrets":
        return {k: base64.b64decode(v) for k, v in data.items()}
    return {k: v.encode() for k, v in data.items()}
