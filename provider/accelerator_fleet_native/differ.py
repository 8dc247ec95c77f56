"""Which changes of a queued resource are made in place, and which replace it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from accelerator_fleet_native import fields
from accelerator_fleet_native.values import has_unknown


@dataclass(frozen=True)
class Difference:
    """Changed inputs; those of them that replace; whether the old one must go first."""

    changed: tuple[str, ...]
    replaces: tuple[str, ...]
    old_first: bool


def differ(old: dict[str, Any], new: dict[str, Any]) -> Difference:
    """Compare inputs. A value that is not known yet counts as another one."""
    table = fields.inputs()
    drawn = set(new.get("__defaults", []))
    changed = [k for k in table if _value(k, old) != _value(k, new) or has_unknown(new.get(k))]
    if "queuedResourceId" in drawn and "queuedResourceId" in set(old.get("__defaults", [])):
        changed = [k for k in changed if k not in drawn]  # names that were drawn once are kept
    replaces = [k for k in changed if table[k].in_place is None]
    # A name is taken in its zone once: what keeps its name, or its nodes' names, makes room first. Drawn ones are
    # drawn anew for a replacement.
    anew = drawn if "queuedResourceId" in drawn else set()
    same = [k for k in ("queuedResourceId", "nodeId") if k not in anew and _value(k, old) == _value(k, new)]
    return Difference(tuple(changed), tuple(replaces), bool(replaces and same and "zone" not in changed))


def _value(key: str, inputs: dict[str, Any]) -> Any:
    field = fields.inputs()[key]
    found = inputs.get(key, field.default)
    return None if found in ("", [], {}) else found
