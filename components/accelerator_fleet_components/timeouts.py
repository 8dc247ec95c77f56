"""How long a program waits, by type: `timeouts.json` as the SDK wants it."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pulumi


@functools.cache
def _table() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("timeouts.json").read_text(encoding="utf-8"))
    return found


def timeouts(kind: str, nodes: int = 0) -> pulumi.CustomTimeouts:
    """Of a type token, or of everything in `kubernetes`; `nodes` of a pool lengthen its updates."""
    row = _table()[kind]
    update = max(row["update"], nodes * row.get("update_per_node", 0))
    return pulumi.CustomTimeouts(create=f"{row['create']}m", update=f"{update}m", delete=f"{row['delete']}m")
