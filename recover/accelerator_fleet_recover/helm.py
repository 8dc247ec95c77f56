"""Releases that a killed Helm left half-way: no later install or upgrade can go on from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import yaml

from accelerator_fleet_recover.clusters import PENDING, Cluster, Release
from accelerator_fleet_recover.model import VOLUMES, Item

_KEPT: Final = frozenset(t.rpartition(":")[2] for t in VOLUMES if t.startswith("kubernetes:"))
# Helm removes in this order first: what answers for others goes before what it answers for.
_FIRST: Final = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService")


def settle(cluster: Cluster, item: Item, say: Callable[[str], None]) -> None:
    """Brings a half-made release back to the last state that Helm can go on from.

    A pending upgrade: its record goes, and the revision before it counts again. A pending install, or an uninstall
    that did not end: what was made of it goes, with its record. Claims and volumes stay.
    """
    namespace, _, name = item.imports.partition("/")
    release = cluster.release(namespace, name)
    if release is None or release.status not in PENDING:
        return
    if release.revision > 1 and release.status != "uninstalling":
        say(f"release {item.imports}: revision {release.revision} ({release.status}) is taken back")
        _delete_secret(cluster, release)
        return
    removed = _remove(cluster, release)
    say(f"release {item.imports}: {release.status}; its {removed} objects and its record are removed")
    _delete_secret(cluster, release)


def _delete_secret(cluster: Cluster, release: Release) -> None:
    cluster.delete(f"/api/v1/namespaces/{release.namespace}/secrets/{release.secret}")


def _remove(cluster: Cluster, release: Release) -> int:
    """Deletes the objects of a release's manifest that are there; how many."""
    objects: list[dict[str, Any]] = [o for o in yaml.safe_load_all(release.manifest) if isinstance(o, dict)]
    objects.sort(key=lambda o: (o["kind"] not in _FIRST, o["kind"] == "CustomResourceDefinition"))
    removed = 0
    for one in objects:
        metadata = one.get("metadata") or {}
        if one["kind"] in _KEPT:
            continue
        namespace = metadata.get("namespace") or release.namespace
        path = cluster.path(one["apiVersion"], one["kind"], namespace, metadata["name"])
        found = cluster.get(path) if path else None
        # Only what this release made: an object of that name may be somebody else's.
        owner = ((found or {}).get("metadata") or {}).get("annotations") or {}
        if path and found and owner.get("meta.helm.sh/release-name") == release.name:
            cluster.delete(path)
            removed += 1
    return removed
