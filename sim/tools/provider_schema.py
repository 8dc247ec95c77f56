"""Adds what a provider's own schemas say of a type to its rules: nested computed values, sets, limits, formats."""

from __future__ import annotations

from typing import Any


def _mark(inputs: dict[str, Any], path: str, key: str) -> None:
    """Set a flag on the shape at a path of Pulumi's names; a path that the SDK does not have is left out."""
    properties: Any = inputs
    shape: dict[str, Any] | None = None
    for part in path.split("."):
        shape = (properties or {}).get(part)
        if shape is None:
            return
        inner = shape
        while inner["type"] == "list":
            inner = inner["items"]
        properties = inner.get("properties")
    assert shape is not None
    shape[key] = True


def merge(rule: dict[str, Any], schema: dict[str, Any]) -> None:
    """Change the rules of one type in place. Limits of the overlay stay where both have one."""
    for flag in ("computed", "required"):
        for path in schema.get(flag, []):
            _mark(rule["inputs"], path, flag)
    rule["nested_known"] = True  # `computed` names every nested property that the cloud fills in
    if schema.get("computed"):
        rule["nested_computed"] = sorted({*rule.get("nested_computed", []), *schema["computed"]})
    for key in ("sets", "attribute_blocks", "empty_enums"):
        if schema.get(key):
            rule[key] = sorted({*rule.get(key, []), *schema[key]})
    read = schema.get("read", [])
    if read:
        rule["unknown_paths"] = [p for p in rule["unknown_paths"] if p not in read]
        rule["force_new"] = sorted({*rule["force_new"], *schema.get("force_new", [])})
    for key in ("enums", "max_items"):  # those of the facts are of a newer API model
        if schema.get(key):
            rule[key] = {**schema[key], **rule.get(key, {})}
    for key in ("int_enums", "ranges"):
        if schema.get(key):
            rule[key] = {**rule.get(key, {}), **schema[key]}
    for path in schema.get("no_default", []):
        del rule["defaults"][path]
    defaults = {p: v for p, v in schema.get("defaults", {}).items() if p not in rule.get("defaults", {})}
    if defaults:
        rule["defaults"] = {**rule.get("defaults", {}), **defaults}
    _lengths(rule, schema)
    for kind, paths in schema.get("formats", {}).items():
        formats = rule.setdefault("formats", {})
        formats[kind] = sorted({*formats.get(kind, []), *paths})
    for group in schema.get("conflicts", []):
        if not any(set(group) <= set(known) for known in rule.get("conflicts", [])):
            rule.setdefault("conflicts", []).append(group)


def _lengths(rule: dict[str, Any], schema: dict[str, Any]) -> None:
    for path, (low, high) in schema.get("lengths", {}).items():
        limit = {"min": low} if high is None else {"min": low, "max": high}
        strings = rule.setdefault("strings", {})
        strings[path] = {**limit, **strings.get(path, {})}
