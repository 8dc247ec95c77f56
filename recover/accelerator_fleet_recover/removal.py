"""Deleting what cannot belong, through its provider: it enters the state under a name of its own and is destroyed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from accelerator_fleet_recover.model import Orphan, urn_name
from accelerator_fleet_recover.stack import Stack
from accelerator_fleet_recover.survey import resources_of

PREFIX: Final = "orphan-"


def remove(stack: Stack, orphans: Sequence[Orphan], say: Callable[[str], None]) -> None:
    """Deletes these things, what hangs on others first."""
    exported = stack.export() or {}
    there = {r["urn"] for r in resources_of(exported)}
    reached = [o for o in orphans if o.item.provider in there]
    for orphan in orphans:
        if orphan not in reached:
            say(f"  {orphan.item.imports} is left: its provider is not in the state yet; run `up` first")
    if not reached:
        return
    wanted = [
        {"type": o.item.type, "name": f"{PREFIX}{n}", "id": o.item.imports, "provider": urn_name(o.item.provider)}
        for n, o in enumerate(reached)
    ]
    table = {urn_name(o.item.provider): o.item.provider for o in reached}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "orphans.json"
        path.write_text(json.dumps({"nameTable": table, "resources": wanted}), encoding="utf-8")
        stack.pulumi("import", "--file", str(path), "--yes", "--skip-preview", "--protect=false",
                     "--generate-code=false")  # fmt: skip
    exported = stack.export() or {}
    ours = [r for r in resources_of(exported) if urn_name(r["urn"]).startswith(PREFIX)]
    _order(ours)
    stack.write(exported)
    stack.destroy([r["urn"] for r in ours])
    for orphan in reached:
        say(f"  deleted: {orphan.item.type.rpartition(':')[2]} {orphan.item.id or orphan.item.imports}")


def _order(resources: Sequence[dict[str, Any]]) -> None:
    """Each depends on those whose ids stand in it, so that it goes before them."""
    for one in resources:
        texts = set(_texts(one.get("outputs") or {}))
        needs = [r["urn"] for r in resources if r is not one and str(r["id"]) in texts]
        one["dependencies"] = needs
        one["propertyDependencies"] = {}


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [t for v in value.values() for t in _texts(v)]
    if isinstance(value, list):
        return [t for v in value for t in _texts(v)]
    return [value] if isinstance(value, str) else []
