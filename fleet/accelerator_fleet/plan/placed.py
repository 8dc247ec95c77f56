"""What of a fleet is up already, from a stack's outputs, as `plan` takes it: what the spec leaves open stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Placements = dict[str, tuple[str, str]]
OF_SHAPE = "shape:"  # before the flavour was an output, a pool's flavour had the pool's name


def placements(outputs: Mapping[str, Any]) -> Placements:
    """Pool -> (site, zone) and `volumes/<name>` -> (site, zone); of each pool that is up also `flavors/<pool>` ->
    (ResourceFlavor, what it is for) and `reservations/<pool>` -> (reservation or "", machine)."""
    out: Placements = {}
    for prefix, key in (("", "pools"), ("volumes/", "volumes")):
        for name, one in (outputs.get(key) or {}).items():
            if isinstance(one, dict) and one.get("site"):
                out[f"{prefix}{name}"] = (str(one["site"]), str(one.get("zone") or ""))
                if key == "pools":
                    out |= _pool(name, one)
    return out


def _pool(name: str, one: Mapping[str, Any]) -> Placements:
    out = {f"flavors/{name}": _flavor(name, one)}
    # Known of nodes that came up, and not of what older programs wrote.
    if "reservation" in one and (one.get("nodeGroup") or one.get("nodePools")):
        out[f"reservations/{name}"] = (str(one["reservation"] or ""), str(one.get("machine") or ""))
    return out


def _flavor(pool: str, one: Mapping[str, Any]) -> tuple[str, str]:
    if one.get("flavor"):
        return str(one["flavor"]), str(one.get("flavorKey") or "")
    return pool, f"{OF_SHAPE}{one.get('shapeKey')}"
