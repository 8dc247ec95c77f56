"""The difference between a resource's state and its planned state, in the bridge's form: paths, kinds, replaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .check import child, leaves
from .conditions import holds
from .plan import Customize, Refused, given_zero, is_empty, planned_update, same
from .rules import TypeRules, plain_path
from .values import Unknown, plain


class UnknownRule(Exception):
    """A change whose effect nobody has read: it is refused, never guessed."""


@dataclass
class Difference:
    """`changes`: path -> (kind add|delete|update, replaces)."""

    changes: dict[str, tuple[str, bool]] = field(default_factory=dict)
    delete_before_replace: bool = False

    @property
    def replaces(self) -> list[str]:
        """Paths that replace."""
        return sorted(p for p, (_, r) in self.changes.items() if r)


class _Differ:
    def __init__(self, rules: TypeRules, old: dict[str, Any], planned: dict[str, Any]) -> None:
        self.rules, self.old, self.planned = rules, old, planned
        self.changes: dict[str, tuple[str, bool]] = {}

    def replaces(self, path: str) -> bool:
        where = plain_path(path)
        if self.rules.replaces_under(where):
            return True
        parts = where.split(".")
        for n in range(1, len(parts) + 1):
            condition = self.rules.conditions.get(".".join(parts[:n]))
            if condition and holds(condition, self.old, self.planned):
                return True
        return False

    def record(self, path: str, kind: str, value: Any) -> None:
        """Note a difference; one that adds or removes a whole block replaces when anything given in it does."""
        where = plain_path(path)
        unknown = self.rules.unknown_rule(where)
        if unknown:
            raise UnknownRule(
                f"{self.rules.token}: a change of '{path}' cannot be simulated: whether '{unknown}' updates or "
                "replaces was not read in any provider source; the embedded datacentre refuses to guess"
            )
        replaces = self.replaces(path)
        if kind != "update" and isinstance(value, (dict, list)) and not replaces:
            replaces = where in self.rules.force_new_presence or any(
                self._given(inner, v) for inner, v in leaves(value, path) if kind == "add" or not self._stays(inner)
            )
            replaces = replaces or (kind == "add" and isinstance(value, dict) and self._fills_in(where, value))
        self.changes[path] = (kind, replaces)

    def _fills_in(self, where: str, block: dict[str, Any]) -> bool:
        """Whether a block that comes leaves a force-new list to the cloud: unknown to the SDK, and so a change.

        A single value that is left out stays as it is (schemaMap.diffString); a list becomes unknown (diffSet).
        """
        if not self.rules.nested_known:
            return False
        for path in self.rules.force_new:
            parent, _, name = path.rpartition(".")
            if parent == where and block.get(name) is None:
                shape = self.rules.shape(path)
                if shape and shape.get("computed") and shape["type"] == "list":
                    return True
        return False

    def _given(self, path: str, value: Any) -> bool:
        """Whether a value inside a block that comes or goes replaces. Terraform's SDK does not see empty ones."""
        if isinstance(value, (dict, list)):
            return self.rules.nested_known and plain_path(path) in self.rules.force_new_presence
        return self.replaces(path) and not (self.rules.nested_known and is_empty(value))

    def _stays(self, path: str) -> bool:
        """Whether a value keeps its place when its block goes: what is computed is not removed by leaving it out."""
        shape = self.rules.shape(plain_path(path)) if self.rules.nested_known else None
        return bool(shape and shape.get("computed"))

    def compare(self, path: str, old: Any, new: Any, shape: dict[str, Any] | None) -> None:
        where = plain_path(path)
        if not isinstance(new, Unknown) and same(self.rules, where, old, new):
            return
        if is_empty(old) and where in self.rules.force_new_presence and (old is None) != (new is None):
            self.record(path, "add" if old is None else "delete", new)
        elif is_empty(old) and not isinstance(new, Unknown):
            self.record(path, "add" if old is None or isinstance(new, (dict, list)) else "update", new)
        elif isinstance(new, Unknown):
            self.record(path, "update" if not is_empty(old) else "add", old)
        elif new is None or (is_empty(new) and isinstance(old, (dict, list))):
            self.record(path, "delete", old)
        elif isinstance(old, dict) and isinstance(new, dict):
            self.objects(path, old, new, shape)
        elif isinstance(old, list) and isinstance(new, list):
            self.lists(path, old, new, shape)
        else:
            self.record(path, "update", new)

    def objects(self, path: str, old: dict[str, Any], new: dict[str, Any], shape: dict[str, Any] | None) -> None:
        properties = (shape or {}).get("properties") or {}
        items = (shape or {}).get("items")
        for key in sorted(old.keys() | new.keys()):
            self.compare(child(path, key), old.get(key), new.get(key), properties.get(key, items))

    def lists(self, path: str, old: list[Any], new: list[Any], shape: dict[str, Any] | None) -> None:
        items = (shape or {}).get("items")
        where = plain_path(path)
        if where in self.rules.sets:
            gone = [(i, v) for i, v in enumerate(old) if not any(same(self.rules, where, v, w) for w in new)]
            come = [(i, v) for i, v in enumerate(new) if not any(same(self.rules, where, w, v) for w in old)]
            indexes = {i for i, _ in gone} | {i for i, _ in come}
            before, after = dict(gone), dict(come)
            for i in sorted(indexes):
                self.compare(f"{path}[{i}]", before.get(i), after.get(i), items)
        else:
            for i in range(max(len(old), len(new))):
                a = old[i] if i < len(old) else None
                b = new[i] if i < len(new) else None
                self.compare(f"{path}[{i}]", a, b, items)
        if where in self.rules.force_new_presence and len(old) != len(new):
            for changed in [p for p in self.changes if p.startswith(f"{path}[")]:
                self.changes[changed] = (self.changes[changed][0], True)


def _named_by_program(rules: TypeRules, news: dict[str, Any]) -> bool:
    """The bridge's rule: a name that the program gave would collide, so the old resource goes first."""
    if rules.autoname is None or not isinstance(news.get("__defaults"), list):
        return False
    name = rules.autoname["property"]
    return name in news and name not in news["__defaults"]


def _refuse(rules: TypeRules, old: dict[str, Any], planned: dict[str, Any]) -> None:
    for rule in rules.lists("rules"):
        for path, changes in rule.get("error_on_change", {}).items():
            before, after = _at(old, path), _at(planned, path)
            for change in changes:
                olds, _, new = change.partition(" -> ")
                if before in olds.split("|") and after == new:
                    raise Refused(f"{path} cannot be updated from {before} to {after}")


def _at(state: dict[str, Any], path: str) -> Any:
    value: Any = state
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def diff(
    rules: TypeRules,
    old: dict[str, Any],
    old_inputs: dict[str, Any],
    news: dict[str, Any],
    region: str,
    customize: Customize | None = None,
) -> tuple[Difference, dict[str, Any]]:
    """What changes, and the planned state. Raises UnknownRule or Refused."""
    old, before, news = plain(old), plain(old_inputs), plain(news)
    planned = planned_update(rules, old, before, news, region)
    _refuse(rules, old, planned)
    if customize is not None:
        customize(rules, old, planned, news)
    differ = _Differ(rules, old, planned)
    for name in sorted(old.keys() | planned.keys()):
        if name == "id" or name.startswith("__") or name not in rules.outputs:
            continue
        differ.compare(name, old.get(name), planned.get(name), rules.inputs.get(name))
    for name in rules.inputs:
        if differ.changes and given_zero(rules, name, old, planned):
            differ.record(name, "add", planned[name])
    found = Difference(differ.changes)
    found.delete_before_replace = bool(found.replaces) and (
        rules.delete_before_replace or _named_by_program(rules, news)
    )
    return found, planned
