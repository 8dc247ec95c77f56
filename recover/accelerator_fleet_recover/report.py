"""What people read: each orphan with its age, cost and import line, and what becomes of every pending operation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from accelerator_fleet_recover.model import VOLUMES, Item, Orphan, Wanted, urn_name


def age(item: Item, now: datetime | None = None) -> str:
    """`3 min`, `5 h`, `12 d`; `?` where the cloud does not say when a thing was made."""
    if item.created is None:
        return "?"
    minutes = max(0, int(((now or datetime.now(UTC)) - item.created).total_seconds() // 60))
    if minutes < 120:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // 1440} d"


def cost(item: Item) -> str:
    """List price; nothing where a thing is free or its price is not known."""
    return "" if item.cost is None else f"{item.cost:.2f} USD/h list"


def import_line(wanted: Wanted, item: Item, env: str) -> str:
    """The command that brings this one thing into the state by hand."""
    parts = ["pulumi", "import", wanted.type, wanted.name, item.imports]
    parent = str(wanted.state.get("parent") or "")
    if parent:
        parts += ["--parent", f"{urn_name(parent)}={parent}"]
    if wanted.provider:
        parts += ["--provider", f"{urn_name(wanted.provider)}={wanted.provider}"]
    return " ".join(shlex.quote(p) for p in [*parts, "--stack", env])


def orphan_lines(orphan: Orphan, env: str) -> list[str]:
    """One orphan: what, which, how old, how much; then its import line, or why it has none."""
    item = orphan.item
    short = item.type.rpartition(":")[2]
    extra = " · ".join(t for t in (item.name, age(item), item.note, cost(item)) if t)
    head = f"{short:<28} {item.id or item.imports}   {extra}"
    if orphan.wanted is not None and orphan.belongs:
        return [head, f"    {import_line(orphan.wanted, item, env)}"]
    if item.status == "foreign":
        return [head, "    left alone: the next `up` applies its own fields to it, or says who else does"]
    if orphan.wanted is not None:
        return [head, "    failed while it was made: cannot be used; to be deleted, and made again by the next `up`"]
    if item.type in VOLUMES:
        return [head, "    nothing in the program asks for it; it is left alone: data, or money spent"]
    return [head, "    nothing in the program asks for it"]


def pending_line(operation: Mapping[str, Any], orphans: Mapping[str, Orphan], ghosts: set[str], state: set[str]) -> str:
    """What became of an operation that the engine never saw the end of."""
    urn, kind = operation["resource"]["urn"], operation["type"]
    what = f"{kind} {operation['resource']['type'].rpartition(':')[2]} {urn_name(urn)}"
    if kind == "creating":
        if urn in orphans:
            return f"{what}: it was made"
        return f"{what}: {'another one is in the state' if urn in state else 'it was not made'}"
    if kind == "deleting":
        return f"{what}: {'it is gone' if urn in ghosts or urn not in state else 'it is still there'}"
    return f"{what}: read anew"
