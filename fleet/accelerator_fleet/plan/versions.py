"""Versions of an EKS site's nodes: pinned by the spec, kept where nodes are up, else the catalogue's newest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError, nearest
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec, SiteSpec

# What EKS calls a release version of an Amazon Linux image: Kubernetes' version and the image's day.
RELEASE: Final = re.compile(r"(1\.[0-9]{2})\.[0-9]+-20[0-9]{6}")
# https://kubernetes.io/releases/version-skew-policy/#kubelet: at most three minor versions older than the API server
SKEW: Final = 3


class NodeVersion(NamedTuple):
    """Kubernetes version and AMI release of a node group; None: EKS takes the cluster's, the newest."""

    kubernetes: str | None
    release: str | None


def minor(version: str) -> int:
    """36 of `1.36`."""
    return int(version.split(".")[1])


def node_version(
    spec: FleetSpec,
    site: SiteSpec,
    path: str,
    said: tuple[str, str] | None,
    kept: tuple[str, str] | None,
    catalog: Catalog,
    notes: Notes,
) -> NodeVersion:
    """The versions of nodes on an EKS site. `said`: the path and text of the spec's `version`; `kept`: Kubernetes
    version and AMI release ("": not pinned) of nodes that are up, which a newer catalogue does not recycle.

    Raises FleetError for a release that the cluster cannot run.
    """
    cluster = None if site.cluster.name is not None else site.kubernetes or spec.defaults.kubernetes
    if said is not None:
        of_nodes = _checked(spec, said, cluster, catalog, notes)
        notes.because(path, said[1], "the spec says so")
        return NodeVersion(of_nodes if cluster is not None else None, said[1])
    if kept is not None and kept[0] == (cluster or ""):
        if kept[1]:
            newest = catalog.eks_versions.entries.get(kept[0])
            more = f"; the newest known here is {newest.release}" if newest and newest.release != kept[1] else ""
            notes.because(path, kept[1], f"nodes are up with it; `version:` recycles them{more}")
        else:
            notes.because(path, "as it is", "nodes are up that were never pinned; `version:` pins, and recycles, them")
        return NodeVersion(cluster, kept[1] or None)
    if cluster is None:
        notes.because(path, "newest", "an existing cluster's version is its own: EKS takes the newest image of it")
        return NodeVersion(None, None)
    if cluster not in catalog.eks_versions.entries:
        notes.because(path, "newest", f"the catalogue knows no image of Kubernetes {cluster}; `version:` pins one")
        return NodeVersion(cluster, None)
    release = str(notes.rely(catalog.eks_versions, cluster, "release").value)
    notes.because(path, release, f"newest of Kubernetes {cluster} in the catalogue; `version:` pins another")
    return NodeVersion(cluster, release)


def _checked(spec: FleetSpec, said: tuple[str, str], cluster: str | None, catalog: Catalog, notes: Notes) -> str:
    """The Kubernetes version of the release that the spec says."""
    where, release = said
    found = RELEASE.fullmatch(release)
    known = [r for e in catalog.eks_versions.entries.values() for r in e.releases]
    if found is None:
        close = nearest(release, known)
        hint = f"; nearest: {close[0]}" if close else ""
        raise spec.error(where, f"'{release}' is no AMI release of EKS, like {known[-1]}{hint}")
    of_nodes = found.group(1)
    if cluster is not None:
        own = catalog.eks_versions.entries.get(cluster)
        hint = f"; nearest: {own.release}" if own else ""
        if minor(of_nodes) > minor(cluster):
            text = f"{release} is newer than its cluster's Kubernetes {cluster}; the control plane goes first"
            raise spec.error(where, f"{text}{hint}")
        if minor(of_nodes) < minor(cluster) - SKEW:
            text = f"{release} is more than {SKEW} minor versions older than its cluster's Kubernetes {cluster}"
            raise spec.error(where, f"{text}{hint}")
        if of_nodes != cluster:
            text = f"nodes that are up stay on {of_nodes}; EKS makes no new ones older than the cluster's {cluster}, "
            notes.warn(where, release, f"{text}and no further upgrade of the cluster until they follow")
    if release not in known:
        text = f"{release} is not in the catalogue: whether AWS publishes it is not known here"
        notes.because(where, release, text)
    return of_nodes


def upgrade_errors(spec: FleetSpec, catalog: Catalog, placements: Mapping[str, tuple[str, str]]) -> list[FleetError]:
    """Steps that EKS does not take: more than one minor version at a time, or back."""
    errors = []
    for i, site in enumerate(spec.sites):
        was = placements.get(f"versions/sites/{site.name}", ("", ""))[0]
        if site.kind != "eks" or site.cluster.name is not None or not re.fullmatch(r"1\.[0-9]{2}", was):
            continue
        wanted = site.kubernetes or spec.defaults.kubernetes
        path = f"sites[{i}].kubernetes" if site.kubernetes else "defaults.kubernetes"
        step = minor(wanted) - minor(was)
        if step < 0:
            text = f"the cluster of {site.name} runs {was}, and EKS takes no cluster back to {wanted}; nearest: {was}"
            errors.append(spec.error(path, text))
        elif step > 1:
            text = f"the cluster of {site.name} runs {was}, and EKS goes one minor version at a time, not to {wanted}"
            errors.append(spec.error(path, f"{text}; nearest: 1.{minor(was) + 1}"))
    return errors
