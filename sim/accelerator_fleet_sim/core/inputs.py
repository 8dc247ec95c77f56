"""Inputs as Check returns them (defaults, automatic name, documents as strings) and as Read returns them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .naming import Autonaming, automatic_name
from .plan import is_empty, same
from .rules import TypeRules
from .values import Secret, Unknown, has_secret, plain


@dataclass(frozen=True)
class Namer:
    """What an automatic name is made from."""

    urn_name: str
    seed: bytes
    autonaming: Autonaming | None


def checked_inputs(rules: TypeRules, olds: dict[str, Any], news: dict[str, Any], namer: Namer) -> dict[str, Any]:
    """News with defaults; `__defaults` names what the program did not give. ValueError when no name can be made."""
    inputs = {k: _document(rules, k, v) for k, v in news.items() if k not in ("__defaults", "tagsAll")}
    defaulted = []
    for path, value in rules.defaults.items():
        if "." not in path and path not in inputs and not _conflicts(rules, path, inputs):
            inputs[path] = value
            defaulted.append(path)
    _nested_defaults(rules, inputs)
    if rules.autoname and rules.autoname["property"] not in inputs:
        name = rules.autoname["property"]
        if not _conflicts(rules, name, inputs):
            if olds.get(name) and name in (olds.get("__defaults") or []):
                inputs[name] = olds[name]
            else:
                inputs[name] = automatic_name(rules.autoname, namer.urn_name, namer.seed, namer.autonaming)
            defaulted.append(name)
    inputs["__defaults"] = sorted(defaulted)
    return inputs


def _conflicts(rules: TypeRules, name: str, inputs: dict[str, Any]) -> bool:
    return any(name in group and any(o in inputs for o in group if o != name) for group in rules.lists("conflicts"))


def _nested_defaults(rules: TypeRules, inputs: dict[str, Any]) -> None:
    for path, value in rules.defaults.items():
        block, _, leaf = path.rpartition(".")
        if not block:
            continue
        for element in _blocks(inputs, block.split(".")):
            if element.get(leaf) is None:
                element[leaf] = value


def _blocks(value: Any, path: list[str]) -> list[dict[str, Any]]:
    """Every block at a path that is there."""
    if isinstance(value, Secret):
        return _blocks(value.value, path)
    if isinstance(value, list):
        return [found for v in value for found in _blocks(v, path)]
    if not isinstance(value, dict):
        return []
    return _blocks(value.get(path[0]), path[1:]) if path else [value]


def _document(rules: TypeRules, name: str, value: Any) -> Any:
    """A policy given as an object becomes its JSON text, as the bridge makes it."""
    shape = rules.inputs.get(name)
    if shape and shape.get("document") and isinstance(plain(value), dict):
        inner = plain(value)
        from .values import has_unknown

        if has_unknown(inner):
            return Unknown()
        text = json.dumps(inner, separators=(",", ":"))
        return Secret(text) if has_secret(value) else text
    return value


def read_inputs(rules: TypeRules, inputs: dict[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Inputs after a refresh: what the program gave, with the cloud's values. An import gets all that is not empty."""
    if inputs:
        return {k: v if k.startswith("__") else _project(rules, k, v, outputs.get(k)) for k, v in inputs.items()}
    made: dict[str, Any] = {"__defaults": []}
    for name, shape in rules.inputs.items():
        value = outputs.get(name)
        if not is_empty(value) and rules.defaults.get(name) != value:
            made[name] = _writable(shape, value)
    if rules.has_tags and "tagsAll" in outputs:
        made["tagsAll"] = outputs["tagsAll"]
    return made


def _project(rules: TypeRules, path: str, given: Any, found: Any) -> Any:
    """The cloud's value in the form in which the program gave it."""
    if isinstance(given, Secret):
        return Secret(_project(rules, path, given.value, found))
    if same(rules, path, given, found):
        return given
    if isinstance(given, dict) and isinstance(found, dict):
        shape = rules.shape(path)
        if shape is not None and shape["type"] == "map":
            return found
        return {k: _project(rules, f"{path}.{k}", v, found.get(k)) for k, v in given.items()}
    if isinstance(given, list) and isinstance(found, list) and len(given) == len(found):
        return [_project(rules, path, g, f) for g, f in zip(given, found, strict=True)]
    return found


def _writable(shape: dict[str, Any], value: Any) -> Any:
    if shape["type"] == "object" and isinstance(value, dict):
        return {
            k: _writable(shape["properties"][k], v)
            for k, v in value.items()
            if k in shape["properties"] and not is_empty(v)
        }
    if shape["type"] == "list" and isinstance(value, list):
        return [_writable(shape["items"], v) for v in value]
    return value
