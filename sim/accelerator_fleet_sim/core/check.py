"""Checks a resource's inputs against its rules: types, required, enums, ranges, conflicts. All failures at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .formats import FORMATS
from .nearest import nearest
from .rules import TypeRules, plain_path
from .values import UNKNOWN, Unknown, get_path, has_unknown, plain


@dataclass(frozen=True)
class Failure:
    """One thing wrong, and where (`vpcConfig.subnetIds[0]`)."""

    path: str
    reason: str


_PYTHON: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "list": list,
           "map": dict, "object": dict}  # fmt: skip
_SAYS = {"list": "a list", "map": "a map", "object": "an object", "integer": "a whole number", "number": "a number",
         "string": "a string", "boolean": "true or false"}  # fmt: skip


def child(path: str, key: str) -> str:
    """The path of a property inside another."""
    if not re.fullmatch(r"[_a-zA-Z][-_a-zA-Z0-9]*", key):
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key


def check(rules: TypeRules, inputs: dict[str, Any]) -> list[Failure]:
    """Everything wrong with the inputs; unknown values are taken as right."""
    values = plain(inputs)
    failures = list(_shapes("", rules.inputs, values))
    if failures:
        return failures  # what follows reads values by their type
    for rule in (_enums, _ranges, _counts, _strings, _formats, _documents, _groups, _cross):
        failures += rule(rules, values)
    return failures


def _shapes(path: str, properties: dict[str, Any], values: dict[str, Any]) -> Iterator[Failure]:
    for key, value in values.items():
        if key.startswith("__"):
            continue
        shape = properties.get(key)
        if shape is None:
            if not path and key == "tagsAll":
                continue
            near = nearest(key, properties)
            hint = f"; the nearest is '{near}'" if near else ""
            yield Failure(child(path, key), f"Invalid or unknown key{hint}")
            continue
        yield from _shape(child(path, key), shape, value)
    for key, shape in properties.items():
        if shape.get("required") and values.get(key) is None:
            yield Failure(
                child(path, key),
                f'Missing required argument. The argument "{key}" is required, but no definition was found',
            )


def _shape(path: str, shape: dict[str, Any], value: Any) -> Iterator[Failure]:
    kind = shape["type"]
    if isinstance(value, Unknown) or value is None or kind == "any":
        return
    if shape.get("document") and isinstance(value, dict):
        return
    if kind in ("string", "integer", "number", "boolean"):
        if not _scalar_fits(kind, value):
            yield Failure(path, f"Inappropriate value: {_SAYS[kind]} required, got {_short(value)}")
        return
    if not isinstance(value, _PYTHON[kind]):
        yield Failure(path, f"Inappropriate value: {_SAYS[kind]} required, got {_short(value)}")
    elif kind == "list":
        for i, item in enumerate(value):
            yield from _shape(f"{path}[{i}]", shape["items"], item)
    elif kind == "map":
        for key, item in value.items():
            yield from _shape(child(path, key), shape["items"], item)
    else:
        yield from _shapes(path, shape["properties"], value)


def _scalar_fits(kind: str, value: Any) -> bool:
    """Whether the provider would take the value, conversions included ("10" for a number, true for a string)."""
    if isinstance(value, (dict, list)):
        return False
    if kind == "string":
        return True
    if kind == "boolean":
        return isinstance(value, bool) or value in ("true", "false")
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return re.fullmatch(r"-?\d+" if kind == "integer" else r"-?\d+(\.\d+)?", value) is not None
    return kind == "number" or float(value).is_integer()


def _short(value: Any) -> str:
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def leaves(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its path, containers before what they hold."""
    if path:
        yield path, values
    if isinstance(values, dict):
        for key, value in values.items():
            if not key.startswith("__"):
                yield from leaves(value, child(path, key))
    elif isinstance(values, list):
        for i, value in enumerate(values):
            yield from leaves(value, f"{path}[{i}]")


def _at(values: dict[str, Any], table: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """(path, value, entry) of all known values whose plain path is in the table; lists by element."""
    for path, value in leaves(values):
        entry = table.get(plain_path(path))
        if entry is not None and not isinstance(value, (Unknown, dict, list)) and value is not None:
            yield path, value, entry


def _enums(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for path, value, allowed in _at(values, rules.table("enums")):
        if value not in allowed and not (value == "" and plain_path(path) in rules.lists("empty_enums")):
            near = nearest(str(value), allowed)
            words = " ".join(f'"{a}"' for a in allowed)
            hint = f'; the nearest is "{near}"' if near else ""
            yield Failure(path, f"expected {plain_path(path)} to be one of [{words}], got {value}{hint}")
    for path, value, allowed in _at(values, rules.table("int_enums")):
        if int(value) not in allowed:
            near_number = min(allowed, key=lambda a: abs(a - int(value)))
            numbers = " ".join(str(a) for a in allowed)
            yield Failure(
                path, f"expected {plain_path(path)} to be one of [{numbers}], got {value}; the nearest is {near_number}"
            )


def _ranges(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for path, value, (low, high) in _at(values, rules.table("ranges")):
        number = float(value)
        if low is not None and high is not None and not low <= number <= high:
            yield Failure(path, f"expected {plain_path(path)} to be in the range ({low} - {high}), got {value}")
        elif low is not None and number < low:
            yield Failure(path, f"expected {plain_path(path)} to be at least ({low}), got {value}")
        elif high is not None and number > high:
            yield Failure(path, f"expected {plain_path(path)} to be at most ({high}), got {value}")
    for path, value, divisor in _at(values, rules.table("divisors")):
        if float(value) % divisor:
            yield Failure(path, f"expected {plain_path(path)} to be divisible by {divisor}, got: {value}")
    for path, value, _ in _at(values, dict.fromkeys(rules.lists("not_zero"), True)):
        if float(value) == 0:
            yield Failure(path, f"{plain_path(path)} must not be zero, got {value}")


def _counts(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for key, fits, word in (("max_items", int.__le__, "at most"), ("min_items", int.__ge__, "at least")):
        for path, limit in rules.table(key).items():
            for found, value in leaves(values):
                if plain_path(found) == path and isinstance(value, list) and not fits(len(value), limit):
                    yield Failure(found, f"{word} {limit} item(s) allowed in {path}, but {len(value)} declared")


def _strings(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for path, value, limit in _at(values, rules.table("strings")):
        text, name = str(value), plain_path(path)
        low, high = limit.get("min", 0), limit.get("max")
        if high is not None and not low <= len(text) <= high:
            yield Failure(
                path, f"expected length of {name} to be in the range ({low} - {high}), got {len(text)}: {text}"
            )
        elif len(text) < low:
            yield Failure(path, f"expected length of {name} to be at least ({low}), got {len(text)}")
        if "pattern" in limit and not re.search(limit["pattern"], text):
            yield Failure(path, f"invalid value for {name}: {text!r} does not match {limit['pattern']}")
        if "not_pattern" in limit and re.search(limit["not_pattern"], text):
            yield Failure(path, f"invalid value for {name}: {text!r} must not match {limit['not_pattern']}")


def _formats(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    tables = {**rules.table("formats"), "cidr4": [*rules.lists("cidrs"), *rules.table("cidr_prefix_ranges")]}
    for kind, paths in tables.items():
        for path, value, _ in _at(values, dict.fromkeys(paths, True)):
            reason = FORMATS[kind](plain_path(path), str(value))
            if reason:
                yield Failure(path, reason)
    for path, value, (low, high) in _at(values, rules.table("cidr_prefix_ranges")):
        length = str(value).partition("/")[2]
        if length.isdigit() and not low <= int(length) <= high:
            yield Failure(
                path,
                f'expected "{plain_path(path)}" to contain a network Value with between {low} and {high} significant '
                f"bits, got: {length}",
            )


def _documents(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for path, value, _ in _at(values, dict.fromkeys(rules.documents, True)):
        if path == "configurationValues":  # an add-on's values may be YAML
            continue
        try:
            json.loads(value)
        except ValueError as error:
            yield Failure(path, f'"{plain_path(path)}" contains an invalid JSON: {error}')


def is_set(values: dict[str, Any], path: str) -> bool:
    """Whether a property is given (an unknown counts)."""
    return get_path(values, path) is not None


def _groups(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for group in rules.lists("conflicts"):
        given = [p for p in group if is_set(values, p)]
        for path in given[1:]:
            yield Failure(path, f'Conflicting configuration arguments. "{path}": conflicts with {given[0]}')
    for group in rules.lists("exactly_one_of"):
        yield from _exactly_one(group, values)
    for parent, group in rules.lists("exactly_one_of_if_present"):
        if is_set(values, parent):
            yield from _exactly_one(group, values)
    for group in rules.lists("at_least_one_of"):
        if _parents_set(group, values) and not any(is_set(values, p) for p in group):
            yield Failure(group[0], f"Missing required argument. one of `{','.join(group)}` must be specified")
    for path, needs in rules.table("required_with").items():
        if is_set(values, path) and any(not is_set(values, n) for n in needs):
            names = ",".join([path, *needs])
            yield Failure(path, f"Missing required argument. all of `{names}` must be specified")


def _parents_set(group: list[str], values: dict[str, Any]) -> bool:
    """Whether the blocks that the properties stand in are there: else nothing in them is asked for."""
    parents = {p.rpartition(".")[0] for p in group}
    return all(not parent or is_set(values, parent) for parent in parents)


def _exactly_one(group: list[str], values: dict[str, Any]) -> Iterator[Failure]:
    if not _parents_set(group, values):
        return
    given = [p for p in group if is_set(values, p)]
    if len(given) == 1:
        return
    names = ",".join(group)
    if not given:
        yield Failure(group[0], f"Invalid combination of arguments. one of `{names}` must be specified")
    else:
        yield Failure(
            given[1],
            f"Invalid combination of arguments. only one of `{names}` can be specified, but `{','.join(given)}` were",
        )


def _cross(rules: TypeRules, values: dict[str, Any]) -> Iterator[Failure]:
    for rule in rules.lists("rules"):
        for key, make in _CROSS.items():
            if key in rule:
                yield from make(rule, values)


def _matches(values: dict[str, Any], wanted: dict[str, Any]) -> bool | None:
    """Whether all values are as wanted; None when one is unknown."""
    got = {path: get_path(values, path) for path in wanted}
    if any(g is UNKNOWN for g in got.values()):
        return None
    return all(got[path] == value for path, value in wanted.items())


def _forbid(rule: dict[str, Any], values: dict[str, Any], reason: str) -> Iterator[Failure]:
    for path in rule["forbid"]:
        value = get_path(values, path)
        if value not in (None, 0, "", []):
            yield Failure(path, f"{path} must not be set {reason}")


def _if(rule: dict[str, Any], values: dict[str, Any]) -> Iterator[Failure]:
    if _matches(values, rule["if_"]):
        yield from _forbid(rule, values, "when " + ", ".join(f"{k} is {v!r}" for k, v in rule["if_"].items()))


def _unless(rule: dict[str, Any], values: dict[str, Any]) -> Iterator[Failure]:
    if _matches(values, rule["unless"]) is False:
        yield from _forbid(rule, values, "unless " + ", ".join(f"{k} is {v!r}" for k, v in rule["unless"].items()))


def _all_equal(rule: dict[str, Any], values: dict[str, Any]) -> Iterator[Failure]:
    got = [get_path(values, p) or False for p in rule["all_equal"]]
    if not has_unknown(got) and len({str(g) for g in got}) > 1:
        yield Failure(rule["all_equal"][0], f"{', '.join(rule['all_equal'])} must be equal: {rule['why']}")


def _if_present(rule: dict[str, Any], values: dict[str, Any]) -> Iterator[Failure]:
    if not is_set(values, rule["if_present"]):
        return
    wanted = {**rule.get("require", {}), **dict.fromkeys(rule.get("require_true", []), True)}
    for path, value in wanted.items():
        got = get_path(values, path)
        if got is not UNKNOWN and got != value:
            yield Failure(path, f"{path} must be {json.dumps(value)} when {rule['if_present']} is set")


_CROSS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Iterator[Failure]]] = {
    "if_": _if,
    "unless": _unless,
    "all_equal": _all_equal,
    "if_present": _if_present,
}
