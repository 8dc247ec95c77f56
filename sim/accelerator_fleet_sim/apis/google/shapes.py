"""Google's answers as their discovery documents describe them: what a document lacks does not get through."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from ...google.errors import GoogleError

FILE = Path(__file__).parent / "data" / "shapes.json"
Item = dict[str, Any]
# (API, schema) -> property -> member, where they differ by more than case
Names = dict[tuple[str, str], dict[str, str]]


class Misshapen(Exception):
    """An answer that the API's document does not allow: a defect of ours."""


@cache
def shapes() -> dict[str, dict[str, dict[str, str]]]:
    """All APIs' schemas, read once."""
    data: dict[str, dict[str, dict[str, str]]] = json.loads(FILE.read_text())
    del data["_meta"]
    return data


def checked(api: str, kind: str, value: Any, path: str = "") -> Any:
    """The value as JSON that the API would send; raises Misshapen."""
    path = path or kind
    if kind.startswith("[]"):
        if not isinstance(value, list):
            raise Misshapen(f"{path}: a list, not {value!r}")
        return [checked(api, kind[2:], v, f"{path}[{i}]") for i, v in enumerate(value)]
    if kind.startswith("{}"):
        return {str(k): checked(api, kind[2:], v, f"{path}.{k}") for k, v in value.items()}
    if kind.startswith("#"):
        schema = shapes()[api][kind[1:]]
        unknown = sorted(set(value) - set(schema))
        if unknown:
            raise Misshapen(f"{path}: {kind[1:]} has no {', '.join(unknown)}")
        return {k: checked(api, schema[k], v, f"{path}.{k}") for k, v in value.items() if v is not None}
    wanted: Any = {"string": str, "int64": str, "boolean": bool, "integer": int, "number": (int, float)}.get(kind)
    if wanted is not None and (not isinstance(value, wanted) or (kind != "boolean" and isinstance(value, bool))):
        raise Misshapen(f"{path}: {kind}, not {value!r}")
    if kind == "int64" and not value.lstrip("-").isdigit():
        raise Misshapen(f"{path}: a number as text, not {value!r}")
    return value


def shaped(api: str, kind: str, value: Any, names: Names) -> Any:
    """A property of the provider in the API's words; "" and [] are left out, a property without a member is refused."""
    if kind.startswith("[]"):
        items = value if isinstance(value, list) else [value]
        return [shaped(api, kind[2:], v, names) for v in items]
    if kind.startswith("{}"):
        return {str(k): shaped(api, kind[2:], v, names) for k, v in value.items()}
    if kind.startswith("#"):
        return _structure(api, kind[1:], value, names)
    if kind == "boolean":
        return value if isinstance(value, bool) else str(value).lower() == "true"
    if kind == "integer":
        return int(value)
    if kind == "number":
        return float(value)
    if kind == "int64":
        return str(int(value))
    return value if kind == "any" else str(value)


def _structure(api: str, name: str, value: Any, names: Names) -> Item:
    schema, own = shapes()[api][name], names.get((api, name), {})
    members = {m.lower(): m for m in schema}
    found: Item = {}
    for key, inner in value.items():
        if inner in (None, "", [], {}):
            continue
        member = own.get(key) or members.get(key.lower())
        if member is None:
            raise GoogleError(501, "notServed", f"the embedded datacentre does not know what {api} {name} calls {key}")
        found[member] = shaped(api, schema[member], inner, names)
    return found


def picked(out: Item, aside: set[str]) -> Item:
    """A resource's properties but for those that only the provider has, or that are said elsewhere."""
    return {k: v for k, v in out.items() if k not in aside}
