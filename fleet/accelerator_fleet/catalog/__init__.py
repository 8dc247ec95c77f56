"""The catalogue: what chips, machines, zones, limits and versions are known to be. `load` reads it once."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Final

from accelerator_fleet.catalog.model import Catalog, Prices

__all__ = ["DATA", "Catalog", "Prices", "load", "load_from", "load_prices"]

DATA: Final = Path(__file__).parent / "data"


@functools.cache
def load() -> Catalog:
    """The catalogue that this version carries. Raises pydantic's ValidationError when its data is broken."""
    return load_from(DATA)


def load_from(folder: Path) -> Catalog:
    """The catalogue of a folder: one file a table, and `added/` with one file a chip."""
    # One JSON document put together from the files: a single pass of the fast validator.
    parts = (f'"{name}": {(folder / f"{name}.json").read_text(encoding="utf-8")}' for name in Catalog.model_fields)
    text = "{" + ", ".join(parts) + "}"
    added = list((folder / "added").glob("*.json"))
    if not added:
        return Catalog.model_validate_json(text)
    from accelerator_fleet.catalog.added import put_together

    return Catalog.model_validate(put_together(json.loads(text), added))


@functools.cache
def load_prices() -> Prices:
    """List prices; apart from `load` because a plan's shape never depends on money."""
    return Prices.model_validate_json((DATA / "prices.json").read_text(encoding="utf-8"))
