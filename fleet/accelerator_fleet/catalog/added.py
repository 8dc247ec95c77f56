"""A chip in one file: what `data/added/<chip>.json` says is put into the tables that the other files fill.

Such a file has `sources` for all it says, and the entries of any table by its name. `zones` and `gke_zones` name the
machines that a zone has beside those it has already: {"us-east-2": {"a": ["x9.48xlarge"]}}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from accelerator_fleet.errors import FleetError

ZONES: Final = ("zones", "gke_zones")


def put_together(tables: Mapping[str, dict[str, Any]], files: Iterable[Path]) -> Mapping[str, dict[str, Any]]:
    """`tables` with what the files add. Raises FleetError for a table or zone that is none, and for what is there."""
    for path in sorted(files):
        said = json.loads(path.read_text(encoding="utf-8"))
        sources = {f"{path.stem}/{key}": source for key, source in said.pop("sources").items()}
        for name, entries in said.items():
            where = f"{path.name}: {name}"
            if name not in tables:
                raise FleetError(where, f"no table of the catalogue; there are: {', '.join(tables)}")
            table = tables[name]
            if name in ZONES:
                _zones(where, table, entries)
                continue
            table["sources"] |= sources
            for key, entry in entries.items():
                if key in table["entries"]:
                    raise FleetError(f"{where}.{key}", "is in the catalogue already; `catalog:` in a spec overrides it")
                table["entries"][key] = _with_own_sources(entry, path.stem)
    return tables


def _zones(where: str, table: dict[str, Any], regions: Mapping[str, Mapping[str, list[str]]]) -> None:
    for region, zones in regions.items():
        known = table["entries"].get(region, {}).get("zones", {})
        for letter, machines in zones.items():
            if letter not in known:
                raise FleetError(f"{where}.{region}.{letter}", "the catalogue has no such zone")
            known[letter]["machines"] += [m for m in machines if m not in known[letter]["machines"]]


def _with_own_sources(entry: dict[str, Any], stem: str) -> dict[str, Any]:
    doubts = {field: {**d, "source": f"{stem}/{d['source']}"} for field, d in entry.get("doubts", {}).items()}
    return {**entry, "source": f"{stem}/{entry['source']}", "doubts": doubts}
