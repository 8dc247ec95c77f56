"""What a resource will be: planned state of a create and of an update, known where the real provider knows it.

The provider copies inputs, keeps what the cloud filled in, and leaves unknown what only the cloud can say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .rules import TypeRules
from .suppress import suppressed
from .values import UNKNOWN, Secret, Unknown, get_path, plain

# (rules, state before or {}, planned state, inputs): what a provider's own code makes of a plan (CustomizeDiff). It
# changes the planned state and raises Refused.
Customize = Callable[[TypeRules, dict[str, Any], dict[str, Any], dict[str, Any]], None]

EMPTY: tuple[Any, ...] = (None, "", 0, False)


def is_empty(value: Any) -> bool:
    """Whether Terraform's SDK takes the value as absent."""
    return value is None or value == [] or value == {} or (not isinstance(value, Unknown) and value in EMPTY)


class Refused(Exception):
    """A change that the provider refuses in its plan."""


def planned_create(
    rules: TypeRules, inputs: dict[str, Any], region: str, customize: Customize | None = None
) -> dict[str, Any]:
    """The outputs of a create as a preview shows them; secret marks stay. Raises Refused."""
    out = {k: v for k, v in inputs.items() if not k.startswith("__")}
    for name in rules.outputs:
        if name in out:
            continue
        shape = rules.inputs.get(name)
        if name == "region" and region and rules.has_region:
            out[name] = region
        elif shape is None or shape.get("computed"):
            out[name] = UNKNOWN
    for path in rules.lists("nested_computed"):
        head, _, rest = path.partition(".")
        if head in out:
            out[head] = _with_unknown(out[head], rest.split("."))
    if customize is not None:
        customize(rules, {}, out, inputs)
    return out


def _with_unknown(value: Any, path: list[str]) -> Any:
    """A copy of a block in which the path is unknown where it is not given. A list: in each element."""
    if isinstance(value, Secret):
        return Secret(_with_unknown(value.value, path))
    if isinstance(value, list):
        return [_with_unknown(v, path) for v in value]
    if not isinstance(value, dict):
        return value
    if len(path) == 1:
        return value if value.get(path[0]) is not None else {**value, path[0]: UNKNOWN}
    return {**value, path[0]: _with_unknown(value[path[0]], path[1:])} if path[0] in value else value


def same(rules: TypeRules, path: str, a: Any, b: Any) -> bool:
    """Whether two values mean the same to the provider: JSON documents, sets, "1" and 1, absent and empty."""
    a, b = plain(a), plain(b)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return False
    if is_empty(a) and is_empty(b) and not (path in rules.force_new_presence and (a is None) != (b is None)):
        return True
    if path in rules.suppress and suppressed(rules.suppress[path], a, b):
        return True
    if path in rules.documents:
        return _same_document(a, b)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            return False
        if path in rules.sets:
            return _same_set(rules, path, a, b)
        return all(same(rules, path, x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return all(same(rules, f"{path}.{k}", a.get(k), b.get(k)) for k in a.keys() | b.keys())
    if isinstance(a, bool) or isinstance(b, bool):
        return str(a).lower() == str(b).lower()
    return (type(a) is type(b) and a == b) or str(a) == str(b)


def _same_document(a: Any, b: Any) -> bool:
    try:
        return bool(json.loads(a) == json.loads(b))
    except (TypeError, ValueError):
        return bool(a == b)


def _same_set(rules: TypeRules, path: str, a: list[Any], b: list[Any]) -> bool:
    rest = list(b)
    for x in a:
        for i, y in enumerate(rest):
            if same(rules, path, x, y):
                del rest[i]
                break
        else:
            return False
    return True


def planned_update(
    rules: TypeRules, old: dict[str, Any], old_inputs: dict[str, Any], news: dict[str, Any], region: str
) -> dict[str, Any]:
    """The state after an update with these inputs: old state where nothing was asked for."""
    planned = dict(old)
    for name, shape in rules.inputs.items():
        if name == "region" and rules.has_region:
            planned[name] = news.get("region") or region
            continue
        planned[name] = _merge(rules, name, shape, old.get(name), old_inputs.get(name), news.get(name))
    if "tagsAll" in rules.outputs and "tagsAll" in news:
        planned["tagsAll"] = news["tagsAll"] if not is_empty(news["tagsAll"]) else (old.get("tagsAll") or {})
        if is_empty(news["tagsAll"]) and old.get("tagsAll"):
            planned["tagsAll"] = {}
    for mark in rules.lists("unknown_on_change"):
        if _marked(rules, mark, old, planned) and _applies(mark, planned, news):
            planned[mark["output"]] = UNKNOWN
    return {k: v for k, v in planned.items() if v is not None}


def _marked(rules: TypeRules, mark: dict[str, Any], old: dict[str, Any], planned: dict[str, Any]) -> bool:
    """Whether something changed that makes the output unknown: one of `when_changed`, or anything but `unless_only`."""
    names = mark.get("when_changed") or [n for n in [*rules.inputs, "tagsAll"] if n not in mark["unless_only"]]
    return any(
        not same(rules, n, old.get(n), planned.get(n)) or (n in planned and given_zero(rules, n, old, planned))
        for n in names
    )


def _applies(mark: dict[str, Any], planned: dict[str, Any], news: dict[str, Any]) -> bool:
    """Whether a mark's other conditions hold: planned values, and that the program does not give the output."""
    if mark.get("unless_given") and news.get(mark["output"]) is not None:
        return False
    return all(get_path(planned, path) == value for path, value in mark.get("when", {}).items())


def given_zero(rules: TypeRules, name: str, old: dict[str, Any], planned: dict[str, Any]) -> bool:
    """Whether false or 0 is given where the state has nothing: a changed key to the SDK, for types that say so."""
    return rules.explicit_zeros and old.get(name) is None and planned.get(name) in (False, 0)


def _merge(rules: TypeRules, path: str, shape: dict[str, Any], old: Any, old_input: Any, new: Any) -> Any:
    """The planned value of one input property."""
    if new is None:
        if path in rules.planned_defaults:
            return rules.planned_defaults[path]
        if path in rules.optional_blocks and not is_empty(old):
            return _without_block(rules.optional_blocks[path], old)
        if path in rules.dropped_when and isinstance(old, dict) and _holds(old, rules.dropped_when[path]):
            return old
        if shape.get("computed") or rules.suppress.get(path) == "dropped":
            return old
        nested = "." in path
        if nested and old_input is None and not rules.nested_known:
            return old  # filled in by the cloud; the SDK does not say which nested properties are
        if not nested and old_input is None and (is_empty(old) or path not in rules.inputs):
            return old
        return old if is_empty(old) else None
    if isinstance(new, list) and not new and shape.get("computed") and _is_block(shape):
        if path in rules.attribute_blocks:
            return new  # an attribute, though it holds blocks: an empty one is given
        return old  # an empty list of blocks is none given
    if isinstance(new, Unknown) or same(rules, path, old, new):
        return new if isinstance(new, Unknown) else old if old is not None else new
    kind = shape["type"]
    if kind == "object" and isinstance(new, dict) and isinstance(old, dict):
        return _merge_object(rules, path, shape, old, old_input, new)
    if kind == "list" and isinstance(new, list) and isinstance(old, list):
        return _merge_list(rules, path, shape, old, old_input, new)
    return new


def _holds(block: dict[str, Any], values: dict[str, Any]) -> bool:
    return all((block.get(key) or False) == value for key, value in values.items())


def _without_block(defaults: dict[str, Any], old: Any) -> Any:
    """A block that is not given any more: its number is suppressed, what is in it falls to the defaults."""
    blocks = [{**block, **defaults} for block in (old if isinstance(old, list) else [old])]
    return blocks if isinstance(old, list) else blocks[0]


def _is_block(shape: dict[str, Any]) -> bool:
    return bool(shape.get("items", {}).get("type") == "object")


def _merge_object(
    rules: TypeRules, path: str, shape: dict[str, Any], old: dict[str, Any], old_input: Any, new: dict[str, Any]
) -> dict[str, Any]:
    before = old_input if isinstance(old_input, dict) else {}
    merged = dict(old)
    for key, inner in shape["properties"].items():
        merged[key] = _merge(rules, f"{path}.{key}", inner, old.get(key), before.get(key), new.get(key))
    return {k: v for k, v in merged.items() if v is not None}


def _merge_list(
    rules: TypeRules, path: str, shape: dict[str, Any], old: list[Any], old_input: Any, new: list[Any]
) -> list[Any]:
    items = shape["items"]
    if items["type"] != "object":
        return new
    before = old_input if isinstance(old_input, list) else []
    if path in rules.sets:
        return [_set_element(rules, path, items, old, element) for element in new]
    merged = []
    for i, element in enumerate(new):
        was = old[i] if i < len(old) else None
        was_input = before[i] if i < len(before) else None
        merged.append(
            _merge_object(rules, path, items, was, was_input, element)
            if isinstance(was, dict) and isinstance(element, dict)
            else element
        )
    return merged


def _set_element(rules: TypeRules, path: str, items: dict[str, Any], old: list[Any], element: Any) -> Any:
    """The old element that the new one asks for (equal in all but what the cloud fills in), else the new one."""
    if isinstance(element, dict):
        for was in old:
            if isinstance(was, dict) and all(
                same(rules, f"{path}.{k}", was.get(k), element.get(k))
                for k in element.keys() | (was.keys() if rules.nested_known else ())
                if element.get(k) is not None or not items["properties"].get(k, {}).get("computed")
            ):
                return was
    return element
