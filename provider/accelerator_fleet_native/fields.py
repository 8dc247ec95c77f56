"""The fields of a queued resource, from fields.json: types, defaults, and what changes in place."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("fields.json")


@dataclass(frozen=True)
class Field:
    """One input or output. `in_place`: its path in UpdateNode's mask, "" when no API sees it; None: it replaces."""

    name: str
    type: str  # string, integer, boolean, map, list
    about: str
    required: bool = False
    default: Any = None
    enum: tuple[str, ...] = ()
    in_place: str | None = None


@cache
def inputs() -> dict[str, Field]:
    """All inputs by name."""
    return _table("fields")


@cache
def outputs() -> dict[str, Field]:
    """What the cloud adds."""
    return _table("outputs")


def _table(part: str) -> dict[str, Field]:
    data: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))[part]
    return {k: Field(k, **{**row, "enum": tuple(row.get("enum", ()))}) for k, row in data.items()}
