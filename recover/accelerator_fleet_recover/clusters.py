"""What a cluster has of the objects that the program wants: asked one by one, by name, at its API server."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import yaml

from accelerator_fleet.errors import FleetError
from accelerator_fleet_recover.model import RELEASE, Item, Wanted, has_unknown, hides_secrets

if TYPE_CHECKING:
    from httpx2 import Client

PENDING: Final = frozenset({"pending-install", "pending-upgrade", "pending-rollback", "uninstalling"})


@dataclass(frozen=True)
class Release:
    """The newest revision of a Helm release, as Helm keeps it in a secret of its namespace."""

    namespace: str
    name: str
    revision: int
    status: str
    secret: str
    manifest: str
    created: datetime | None


@dataclass
class Cluster:
    """One API server, reached as the stack's Kubernetes provider reaches it."""

    http: Client
    _kinds: dict[str, dict[str, tuple[str, bool]]] = field(default_factory=dict)

    def get(self, path: str) -> Any:
        """GET; None for what is not there."""
        answer = self.http.get(path)
        if answer.status_code == 404:
            return None
        answer.raise_for_status()
        return answer.json()

    def delete(self, path: str) -> None:
        """DELETE; what is not there is deleted already."""
        answer = self.http.delete(path)
        if answer.status_code != 404:
            answer.raise_for_status()

    def path(self, api_version: str, kind: str, namespace: str | None, name: str) -> str | None:
        """The path of an object; None when the cluster does not know its kind (its definition is not installed)."""
        root = f"/api/{api_version}" if "/" not in api_version else f"/apis/{api_version}"
        if api_version not in self._kinds:
            listed = (self.get(root) or {}).get("resources") or []
            self._kinds[api_version] = {
                r["kind"]: (r["name"], bool(r["namespaced"])) for r in listed if "/" not in r["name"]
            }
        found = self._kinds[api_version].get(kind)
        if found is None:
            return None
        plural, namespaced = found
        where = f"/namespaces/{namespace or 'default'}" if namespaced else ""
        return f"{root}{where}/{plural}/{name}"

    def find(self, wanted: Wanted) -> Item | None:
        """The object that a wanted one would collide with."""
        if wanted.type == RELEASE:
            return self._release_item(wanted)
        metadata = wanted.inputs.get("metadata") or {}
        name, namespace = metadata.get("name"), metadata.get("namespace")
        if not name:
            return None
        path = self.path(wanted.inputs["apiVersion"], wanted.inputs["kind"], namespace, name)
        found = self.get(path) if path else None
        if found is None:
            return None
        identity = f"{namespace}/{name}" if found["metadata"].get("namespace") else name
        going = bool(found["metadata"].get("deletionTimestamp"))
        made = _moment(found["metadata"].get("creationTimestamp"))
        managers = [str(m.get("manager", "")) for m in found["metadata"].get("managedFields") or []]
        # An object of which the program says nothing but the name has no manager.
        ours = not managers or any(m.startswith("pulumi") for m in managers)
        status: Any = "going" if going else "there" if ours else "foreign"
        note = "" if ours else f"applied by {', '.join(managers)}, not by Pulumi"
        return Item(wanted.type, identity, name=name, status=status, created=made, note=note, provider=wanted.provider)

    def _release_item(self, wanted: Wanted) -> Item | None:
        namespace, name = wanted.inputs.get("namespace") or "default", wanted.inputs.get("name")
        release = self.release(namespace, str(name)) if name else None
        if release is None:
            return None
        # From a failed install or upgrade Helm goes on by itself, from these it does not.
        status: Any = "failed" if release.status in PENDING else "there"
        return Item(
            RELEASE, f"{namespace}/{name}", name=str(name), status=status, created=release.created,
            note=f"revision {release.revision}: {release.status}", provider=wanted.provider,
        )  # fmt: skip

    def release(self, namespace: str, name: str) -> Release | None:
        """The newest revision of a release; None when Helm has none."""
        label = f"owner%3Dhelm%2Cname%3D{name}"
        listed = self.get(f"/api/v1/namespaces/{namespace}/secrets?labelSelector={label}") or {}
        secrets = [s for s in listed.get("items") or [] if s.get("type") == "helm.sh/release.v1"]
        if not secrets:
            return None
        newest = max(secrets, key=lambda s: int(s["metadata"]["labels"]["version"]))
        packed = base64.b64decode(base64.b64decode(newest["data"]["release"]))
        content = json.loads(gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed)
        return Release(
            namespace, name, int(newest["metadata"]["labels"]["version"]), content["info"]["status"],
            newest["metadata"]["name"], content.get("manifest") or "",
            _moment(newest["metadata"].get("creationTimestamp")),
        )  # fmt: skip


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def connect(inputs: Mapping[str, Any], variables: Mapping[str, str]) -> Cluster | None:
    """The cluster of a Kubernetes provider's inputs; None while its kubeconfig is not known."""
    from httpx2 import Timeout
    from lightkube import KubeConfig
    from lightkube.config import client_adapter

    from accelerator_fleet import kubeconfig

    if has_unknown(dict(inputs)) or hides_secrets(inputs):
        return None
    given, context = str(inputs.get("kubeconfig") or ""), inputs.get("context")
    content = yaml.safe_load(given) if "\n" in given or given.startswith("{") else None
    if isinstance(content, dict):
        single = KubeConfig.from_dict(content).get(context)
    else:  # a path, or the shell's own
        single = kubeconfig.contexts({"KUBECONFIG": given} if given else dict(variables)).get(str(context))
    if single is None:
        raise FleetError("kubeconfig", f"no context {inputs.get('context')}")
    local = (single.cluster.server or "").startswith("https://127.")
    settings = client_adapter.ConnectionParams(timeout=Timeout(30), trust_env=not local)
    return Cluster(client_adapter.Client(single, settings))
