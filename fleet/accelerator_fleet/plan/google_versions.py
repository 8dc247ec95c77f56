"""Versions of a GKE site: control plane and nodes, pinned by the spec, kept where they are up, else the catalogue's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import nearest
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec

# https://cloud.google.com/kubernetes-engine/versioning: Kubernetes' version, a hyphen, and Google's own patch
VERSION: Final = re.compile(r"(1\.[0-9]{2})\.[0-9]+-gke\.[0-9]+")
# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/cluster-upgrades: nodes at most two minor versions older
SKEW: Final = 2
Placements = Mapping[str, tuple[str, str]]


class Pin(NamedTuple):
    """What a cluster is held to: its control plane's least version, and that of system nodes (None: as it is)."""

    cluster: str
    nodes: str | None


def minor(version: str) -> int:
    """36 of `1.36.4-gke.1391002`."""
    return int(version.split(".")[1])


def _known(catalog: Catalog) -> list[str]:
    return [v for e in catalog.gke_versions.entries.values() for row in e.channels.values() for v in row]


def pin_of(spec: FleetSpec, index: int, placements: Placements, catalog: Catalog, notes: Notes) -> Pin:
    """The versions of `sites[index]`. Raises FleetError for one that GKE has not, or does not go to.

    `placements`: `versions/sites/<site>` is (version, "") of a control plane that is up, `pins/<site>` what it and its
    system nodes were pinned to. What was pinned stays, and what never was is not pinned by a newer program: a newer
    catalogue recycles no nodes.
    """
    site, path = spec.sites[index], f"sites[{index}]"
    wanted = site.kubernetes or spec.defaults.kubernetes
    field = f"{path}.kubernetes" if site.kubernetes else "defaults.kubernetes"
    runs = placements.get(f"versions/sites/{site.name}", ("", ""))[0]
    if re.match(r"1\.[0-9]{2}", runs):
        _step(spec, field, site.name, runs, wanted)
    if site.version is not None:
        said = checked(spec, f"{path}.version", site.version, catalog, notes)
        if said != wanted:
            text = f"{site.version} is of Kubernetes {said}, and the site says {wanted}; nearest: "
            raise spec.error(f"{path}.version", text + _newest(catalog, wanted, site.cluster.channel, site.version))
        notes.because(f"{path}.version", site.version, "the spec says so")
        return Pin(site.version, site.version)
    kept = placements.get(f"pins/{site.name}")
    if kept is not None and kept[0] and minor(kept[0]) == minor(wanted):
        notes.because(f"{path}.version", kept[0], "the cluster is up with it; `version:` takes another")
        return Pin(kept[0], kept[1] or None)
    if runs and kept is None and minor(runs) == minor(wanted):
        notes.because(f"{path}.version", wanted, "the cluster is up and was never pinned; `version:` pins it")
        return Pin(wanted, None)
    newest = _newest(catalog, wanted, site.cluster.channel, wanted)
    if newest == wanted:
        text = f"the catalogue knows no version of {wanted} in channel {site.cluster.channel}; `version:` pins one"
        notes.because(f"{path}.version", wanted, text)
        return Pin(wanted, kept[1] or None if kept else None)
    notes.rely(catalog.gke_versions, wanted, "channels")
    why = f"what channel {site.cluster.channel} upgrades {wanted} to, in the catalogue; `version:` pins another"
    notes.because(f"{path}.version", newest, why)
    # Nodes that are up follow their control plane only when `version` says so, or it is two versions ahead.
    return Pin(newest, kept_version(kept[1], newest) if kept else newest)


def _newest(catalog: Catalog, wanted: str, channel: str, otherwise: str) -> str:
    entry = catalog.gke_versions.entries.get(wanted)
    return entry.channels[channel][0] if entry is not None and channel in entry.channels else otherwise


def _step(spec: FleetSpec, field: str, name: str, runs: str, wanted: str) -> None:
    """One minor version at a time, and never back."""
    step = minor(wanted) - minor(runs)
    is_now = f"1.{minor(runs)}"
    if step < 0:
        text = f"the cluster of {name} runs {runs}, and GKE takes no cluster back to {wanted}; nearest: {is_now}"
        raise spec.error(field, text)
    if step > 1:
        text = f"the cluster of {name} runs {runs}, and GKE goes one minor version at a time, not to {wanted}"
        raise spec.error(field, f"{text}; nearest: 1.{minor(runs) + 1}")


def kept_version(kept: str, cluster: str) -> str | None:
    """The version that nodes which are up keep; None: never pinned. Too old for the cluster: the cluster's."""
    if not kept:
        return None
    return kept if 0 <= minor(cluster) - minor(kept) <= SKEW else cluster


def checked(spec: FleetSpec, path: str, version: str, catalog: Catalog, notes: Notes) -> str:
    """The Kubernetes version of a GKE version. Raises FleetError for what is none."""
    found = VERSION.fullmatch(version)
    known = _known(catalog)
    if found is None:
        close = nearest(version, known)
        hint = f"; nearest: {close[0]}" if close else ""
        raise spec.error(path, f"'{version}' is no version of GKE, like {known[-1]}{hint}")
    if version not in known:
        notes.because(path, version, "it is not in the catalogue: whether Google serves it is not known here")
    return found.group(1)


def node_version(
    spec: FleetSpec, index: int, machine: str, pin: Pin, kept: tuple[str, str] | None, catalog: Catalog, notes: Notes
) -> str | None:
    """The version of the nodes of `pools[index]`; None: GKE takes the control plane's. `kept`: ("", version) of nodes
    that are up, "" where they were never pinned. Raises FleetError for one that the cluster cannot have.
    """
    pool, path = spec.pools[index], f"pools[{index}].version"
    version: str | None
    if pool.version is not None:
        of_nodes = checked(spec, path, pool.version, catalog, notes)
        if _numbers(pool.version) > _numbers(pin.cluster):
            text = f"{pool.version} is newer than the control plane's {pin.cluster}, which goes first; nearest: "
            raise spec.error(path, text + pin.cluster)
        if minor(pin.cluster) - minor(of_nodes) > SKEW:
            text = f"{pool.version} is more than {SKEW} minor versions older than the control plane's {pin.cluster}"
            raise spec.error(path, f"{text}; nearest: {_newest_of(catalog, minor(pin.cluster) - SKEW)}")
        notes.because(path, pool.version, "the spec says so")
        version = pool.version
    elif kept is not None:
        version = kept_version(kept[1], pin.cluster)
        why = "nodes are up with it; `version:` recycles them" if version else "nodes are up that were never pinned"
        notes.because(path, version or "as it is", why)
    else:
        version = pin.cluster if VERSION.fullmatch(pin.cluster) else None
    _image(spec, index, machine, version or pin.cluster, catalog, notes)
    return version


def _newest_of(catalog: Catalog, number: int) -> str:
    entry = catalog.gke_versions.entries.get(f"1.{number}")
    rows = entry.channels if entry else {}
    return (rows.get("REGULAR") or next(iter(rows.values()), (f"1.{number}",)))[0]


def _numbers(version: str) -> tuple[int, ...]:
    """For comparing; a minor version alone is as new as any of it."""
    found = tuple(int(n) for n in re.findall(r"[0-9]+", version))
    return found if len(found) > 2 else (*found, 10**6)


def _image(spec: FleetSpec, index: int, machine: str, version: str, catalog: Catalog, notes: Notes) -> None:
    """Warns where a machine was reported to refuse the version's node image."""
    limit = catalog.limits.entries.get(f"gke.cos.{machine}")
    entry = catalog.gke_versions.entries.get(f"1.{minor(version)}")
    if limit is None or entry is None or entry.cos <= limit.value:
        return
    notes.rely(catalog.limits, f"gke.cos.{machine}", "value")
    text = f"GKE was seen to refuse {machine} with images newer than COS {limit.value} ({version} has {entry.cos}): "
    notes.warn(f"pools[{index}].version", version, text + "ask Google, or try it, before jobs depend on it")
