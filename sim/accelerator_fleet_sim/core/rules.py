"""Rules of resource types as data: shapes, force-new, limits. One file per provider, loaded once."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any


def plain_path(path: str) -> str:
    """A property path without list indexes and quoted map keys: `a[0].b` is `a.b`."""
    out = []
    depth = 0
    for ch in path:
        if ch == "[":
            depth += 1
        elif ch == "]":
            depth -= 1
        elif depth == 0:
            out.append(ch)
    return "".join(out)


class TypeRules:
    """The rules of one resource type."""

    def __init__(self, token: str, data: dict[str, Any]) -> None:
        self.token = token
        self.data = data
        self.inputs: dict[str, Any] = data["inputs"]
        self.outputs: dict[str, str] = data["outputs"]  # name -> type
        self.defaults: dict[str, Any] = data.get("defaults", {})
        self.autoname: dict[str, Any] | None = data.get("autoname")
        self.delete_before_replace = bool(data.get("delete_before_replace"))

    def table(self, key: str) -> Any:
        """A mapping of the data file, empty when the type has none."""
        return self.data.get(key) or {}

    def lists(self, key: str) -> Any:
        """A list of the data file, empty when the type has none."""
        return self.data.get(key) or []

    @cached_property
    def force_new(self) -> frozenset[str]:
        """Paths at or under which any difference replaces."""
        return frozenset(self.lists("force_new"))

    @cached_property
    def force_new_presence(self) -> frozenset[str]:
        """Blocks that replace when they come, go or change length."""
        return frozenset(self.lists("force_new_presence"))

    @cached_property
    def conditions(self) -> dict[str, dict[str, Any]]:
        """Conditional force-new by path."""
        return {c["path"]: c for c in self.lists("force_new_if")}

    @cached_property
    def unknown_paths(self) -> frozenset[str]:
        """Inputs newer than the provider source that was read: nobody knows whether they replace."""
        return frozenset(self.lists("unknown_paths"))

    @cached_property
    def sets(self) -> frozenset[str]:
        """Lists whose order does not matter."""
        return frozenset(self.lists("sets"))

    @cached_property
    def documents(self) -> frozenset[str]:
        """Strings that hold JSON."""
        return frozenset(self.lists("json"))

    @cached_property
    def attribute_blocks(self) -> frozenset[str]:
        """Lists of blocks that the provider declares as attributes: an empty one is not the same as none."""
        return frozenset(self.lists("attribute_blocks"))

    @property
    def planned_defaults(self) -> dict[str, Any]:
        """Computed inputs whose default the provider plans when they are not given (terraform-plugin-framework)."""
        table: dict[str, Any] = self.table("planned_defaults")
        return table

    @property
    def optional_blocks(self) -> dict[str, dict[str, Any]]:
        """Blocks whose going is no difference where what they hold equals this (SuppressMissingOptional…)."""
        table: dict[str, dict[str, Any]] = self.table("optional_blocks")
        return table

    @property
    def dropped_when(self) -> dict[str, dict[str, Any]]:
        """Blocks whose going is no difference while the state has these values in them."""
        table: dict[str, dict[str, Any]] = self.table("dropped_when")
        return table

    @property
    def explicit_zeros(self) -> bool:
        """Whether the state lacks what the program did not give, so that a false or 0 in the program is a change."""
        return bool(self.data.get("explicit_zeros"))

    @property
    def has_region(self) -> bool:
        """Whether `region` is the provider's own attribute, filled from its configuration (AWS)."""
        return self.token.startswith("aws:") and "region" in self.inputs

    @property
    def nested_known(self) -> bool:
        """Whether `computed` marks every nested property that the cloud fills in, not the top level alone."""
        return bool(self.data.get("nested_known"))

    @property
    def suppress(self) -> dict[str, Any]:
        """Kinds of suppressed differences by path (suppress.py)."""
        table: dict[str, Any] = self.table("suppress")
        return table

    @property
    def has_tags(self) -> bool:
        """Whether the provider's default tags reach this type."""
        return self.inputs.get("tags", {}).get("type") == "map" and "tagsAll" in self.outputs

    @property
    def computed_only(self) -> list[str]:
        """Outputs that are no inputs."""
        return [o for o in self.outputs if o not in self.inputs]

    def shape(self, path: str) -> dict[str, Any] | None:
        """The shape at a path without indexes; None when there is no such input."""
        properties: Any = self.inputs
        shape: dict[str, Any] | None = None
        for part in path.split("."):
            if shape is not None and shape["type"] == "map":
                shape = shape["items"]
                continue
            if properties is None or part not in properties:
                return None
            shape = properties[part]
            inner = shape
            while inner is not None and inner["type"] == "list":
                inner = inner["items"]
            properties = inner.get("properties") if inner else None
        return shape

    def replaces_under(self, path: str) -> bool:
        """Whether a path, or anything around it, is force-new without condition."""
        parts = path.split(".")
        return any(".".join(parts[:n]) in self.force_new for n in range(1, len(parts) + 1))

    def unknown_rule(self, path: str) -> str | None:
        """The unknown path at or around a path."""
        parts = path.split(".")
        for n in range(1, len(parts) + 1):
            if ".".join(parts[:n]) in self.unknown_paths:
                return ".".join(parts[:n])
        return None


class Rules:
    """All types of one provider, and the settings of the provider itself."""

    def __init__(self, types: dict[str, dict[str, Any]], provider: dict[str, Any] | None = None) -> None:
        self._data = types
        self.provider = provider or {}
        self._made: dict[str, TypeRules] = {}

    @classmethod
    def load(cls, path: Path) -> Rules:
        """Read a rules file."""
        data = json.loads(path.read_text())
        return cls(data["types"], data.get("provider"))

    def __contains__(self, token: str) -> bool:
        return token in self._data

    @property
    def tokens(self) -> list[str]:
        """All type tokens with rules."""
        return sorted(self._data)

    def get(self, token: str) -> TypeRules | None:
        """The rules of a type; None when it has none."""
        if token not in self._data:
            return None
        if token not in self._made:
            self._made[token] = TypeRules(token, self._data[token])
        return self._made[token]
