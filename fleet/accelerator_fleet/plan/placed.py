"""What of a fleet is up already, from a stack's outputs, as `plan` takes it: what the spec leaves open stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Placements = dict[str, tuple[str, str]]
OF_SHAPE = "shape:"  # before the flavour was an output, a pool's flavour had the pool's name


def placements(outputs: Mapping[str, Any]) -> Placements:
    """Pool -> (site, zone) and `volumes/<name>` -> (site, zone); of each pool that is up also `flavors/<pool>` ->
    (ResourceFlavor, what it is for), `reservations/<pool>` -> (reservation or "", machine) and `versions/<pool>` ->
    (Kubernetes version, release) of its nodes; `versions/sites/<site>` the same of system nodes,
    `pins/<site>` what a GKE cluster and its system nodes were pinned to. `purchases/<name>`:
    (offering, cr-…), and with `/shape`, `/times`, `/place`: (machine, zone), (start, end), (nodes, site)."""
    out: Placements = {}
    sites = outputs.get("sites") or {}
    for name, site in sites.items():
        if isinstance(site, dict) and site.get("version"):
            out[f"versions/sites/{name}"] = (str(site["version"]), str(site.get("systemRelease") or ""))
            if site.get("pinnedVersion"):
                out[f"pins/{name}"] = (str(site["pinnedVersion"]), str(site.get("systemRelease") or ""))
    for name, bought in (outputs.get("purchases") or {}).items():
        out |= _purchase(name, bought)
    for prefix, key in (("", "pools"), ("volumes/", "volumes")):
        for name, one in (outputs.get(key) or {}).items():
            if isinstance(one, dict) and one.get("site"):
                out[f"{prefix}{name}"] = (str(one["site"]), str(one.get("zone") or ""))
                if key == "pools":
                    out |= _pool(name, one, sites.get(one["site"]) or {})
    return out


def _purchase(name: str, one: Mapping[str, Any]) -> Placements:
    if not one.get("id"):
        return {}
    key = f"purchases/{name}"
    pairs = {"": ("offering", "id"), "/shape": ("machine", "zone"), "/times": ("starts", "ends")}
    pairs["/place"] = ("nodes", "site")
    return {f"{key}{end}": (_text(one.get(a)), _text(one.get(b))) for end, (a, b) in pairs.items()}


def _text(value: object) -> str:
    """As a spec has it: the engine's numbers are floats."""
    return str(int(value)) if isinstance(value, float) else str(value or "")


def _pool(name: str, one: Mapping[str, Any], site: Mapping[str, Any]) -> Placements:
    out = {f"flavors/{name}": _flavor(name, one)}
    # Known of nodes that came up, and not of what older programs wrote.
    if "reservation" in one and (one.get("nodeGroup") or one.get("nodePools") or one.get("queuedResource")):
        out[f"reservations/{name}"] = (str(one["reservation"] or ""), str(one.get("machine") or ""))
    if one.get("nodePools") or one.get("queuedResource"):
        out[f"kinds/{name}"] = ("nodes" if one.get("nodePools") else "queued-resource", "")
    if one.get("nodePools"):
        out[f"versions/{name}"] = ("", str(one.get("release") or ""))
    if one.get("nodeGroup"):
        # Older programs pinned nothing: their nodes are of the cluster's version, with no release to keep.
        known = one["kubernetes"] if "kubernetes" in one else site.get("version")
        out[f"versions/{name}"] = (str(known or ""), str(one.get("release") or ""))
    return out


def _flavor(pool: str, one: Mapping[str, Any]) -> tuple[str, str]:
    if one.get("flavor"):
        return str(one["flavor"]), str(one.get("flavorKey") or "")
    return pool, f"{OF_SHAPE}{one.get('shapeKey')}"
