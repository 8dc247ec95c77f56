"""Changes one property of a resource's inputs, blocks around it included, from the SDK's shapes."""

from __future__ import annotations

import copy
from typing import Any

Shape = dict[str, Any]
TEXTS = {"cidr": "10.77.0.0/20", "Cidr": "10.77.0.0/20", "internalIpv6Prefix": "fd20:0:0:77::/64",
         "member": "user:other@example.com"}  # fmt: skip


def value(shape: Shape, name: str, path: str, enums: dict[str, list[str]], before: Any = None) -> Any:
    """A value of a shape that is not `before` and not empty."""
    kind = shape["type"]
    if path in enums and kind not in ("list", "object"):
        return next(e for e in enums[path] if e != before)
    if kind == "string":
        text = next((v for k, v in TEXTS.items() if k in name), f"other-{name.lower()}"[:20])
        return text if text != before else f"{text}-2"
    if kind == "integer":
        return int(before or 0) + 1
    if kind == "number":
        return float(before or 0) + 1
    if kind == "boolean":
        return not before
    if kind == "map":
        return {**(before or {}), "other": "yes"}
    if kind == "list":
        return [*(before or []), value(shape["items"], name, path, enums)]
    return block(shape, path, enums)


def block(shape: Shape, path: str, enums: dict[str, list[str]]) -> dict[str, Any]:
    """A block with its required properties; with its first scalar when none is required."""
    properties = shape["properties"]
    chosen = [k for k, s in properties.items() if s.get("required")]
    if not chosen:
        chosen = [k for k, s in properties.items() if s["type"] in ("string", "integer", "boolean")][:1]
    return {k: value(properties[k], k, f"{path}.{k}", enums) for k in chosen or list(properties)[:1]}


def mutated(properties: dict[str, Shape], inputs: Any, path: str, enums: dict[str, list[str]],
            defaults: dict[str, Any]) -> dict[str, Any]:  # fmt: skip
    """A copy of the inputs with the property at a path changed or added; a default counts as given."""
    made = copy.copy(inputs)
    if path in defaults and path in enums:
        enums = {**enums, path: [e for e in enums[path] if e != defaults[path]]}
    _change(properties, made, path.split("."), "", enums)
    return made  # type: ignore[no-any-return]


def _change(properties: dict[str, Shape], target: dict[str, Any], parts: list[str], around: str,
            enums: dict[str, list[str]]) -> None:  # fmt: skip
    name, rest = parts[0], parts[1:]
    shape, path = properties[name], f"{around}.{name}".lstrip(".")
    if not rest:
        target[name] = value(shape, name, path, enums, target.get(name))
        return
    inner = shape
    while inner["type"] == "list":
        inner = inner["items"]
    found = target.get(name)
    element = found[0] if isinstance(found, list) and found else found
    fresh = not isinstance(element, dict)
    element = dict(element) if isinstance(element, dict) else _required(inner, path, enums)
    if fresh and len(rest) == 1:
        element.pop(rest[0], None)
    _change(inner["properties"], element, rest, path, enums)
    target[name] = [element, *found[1:]] if isinstance(found, list) and found else (
        [element] if shape["type"] == "list" else element
    )  # fmt: skip


def _required(shape: Shape, path: str, enums: dict[str, list[str]]) -> dict[str, Any]:
    return {k: value(s, k, f"{path}.{k}", enums) for k, s in shape["properties"].items() if s.get("required")}
