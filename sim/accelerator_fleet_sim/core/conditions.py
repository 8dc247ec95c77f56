"""Conditional force-new: whether a change at a path replaces, given the old state and the planned one."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from .values import Unknown, get_path

State = dict[str, Any]
Condition = dict[str, Any]


def _always(c: Condition, old: State, new: State) -> bool:
    return True


def _except_change(c: Condition, old: State, new: State) -> bool:
    return [get_path(old, c["path"]), get_path(new, c["path"])] not in c["changes"]


def _change(c: Condition, old: State, new: State) -> bool:
    before, after = get_path(old, c["path"]), get_path(new, c["path"])
    return before == c["old"] and (after == c["new"] or (c["new"] is False and not after))


def _removed(c: Condition, old: State, new: State) -> bool:
    return get_path(old, c["path"]) not in (None, "", [], {}) and get_path(new, c["path"]) in (None, "", [], {})


def _kind_changes(c: Condition, old: State, new: State) -> bool:
    def kind(state: State) -> list[str]:
        return [p for p in c["among"] if get_path(state, p) not in (None, "")]

    return kind(old) != kind(new)


def _decreases(c: Condition, old: State, new: State) -> bool:
    before, after = get_path(old, c["path"]), get_path(new, c["path"])
    after = 0 if after is None else after  # what is left out is 0 to the provider
    less = isinstance(before, (int, float)) and isinstance(after, (int, float)) and after < before
    if "or_new" in c:
        return less or all(get_path(new, p) == v for p, v in c["or_new"].items())
    if "and_new" in c:
        return less and all(get_path(new, p) == v for p, v in c["and_new"].items())
    return less


def _version_decreases(c: Condition, old: State, new: State) -> bool:
    def parts(value: Any) -> list[int]:
        return [int(x) for x in str(value or 0).split(".") if x.isdigit()]

    return parts(get_path(new, c["path"])) < parts(get_path(old, c["path"]))


def _cidr_not_inside(c: Condition, old: State, new: State) -> bool:
    """The new range does not hold the old one."""
    before, after = get_path(old, c["path"]), get_path(new, c["path"])
    try:
        return not ipaddress.ip_network(str(before)).subnet_of(ipaddress.ip_network(str(after)))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return True


def _element_dropped(c: Condition, old: State, new: State) -> bool:
    before, after = get_path(old, c["path"]) or [], get_path(new, c["path"]) or []
    return not (isinstance(before, list) and isinstance(after, list)) or bool(set(before) - set(after))


def _old_set_parent_present(c: Condition, old: State, new: State) -> bool:
    return bool(get_path(old, c["path"])) and get_path(new, c["parent"]) is not None


OPS: dict[str, Callable[[Condition, State, State], bool]] = {
    "always": _always,
    "except_change": _except_change,
    "change": _change,
    "removed": _removed,
    "kind_changes": _kind_changes,
    "decreases": _decreases,
    "version_decreases": _version_decreases,
    "old_set_parent_present": _old_set_parent_present,
    "cidr_not_inside": _cidr_not_inside,
    "element_dropped": _element_dropped,
    "known": lambda c, old, new: not isinstance(get_path(new, c["path"]), Unknown),
    "others_same": lambda c, old, new: all(get_path(old, p) == get_path(new, p) for p in c["others"]),
    "not_moved_to": lambda c, old, new: (
        (get_path(new, c["path"]) or get_path(new, c["other"])) != get_path(old, c["path"])
    ),
    "new_not_prefix": lambda c, old, new: not str(get_path(new, c["other"]) or "").startswith(c["value"]),
    "old_true": lambda c, old, new: get_path(old, c["other"]) is True,
    "new_true": lambda c, old, new: get_path(new, c["other"]) is True,
    "new_not": lambda c, old, new: get_path(new, c["other"]) != c["value"],
}


def holds(condition: Condition, old: State, new: State) -> bool:
    """Whether a difference at `condition["path"]` replaces. An unknown operation is a defect of the data."""
    return OPS[condition["op"]](condition, old, new)
