"""Turns pydantic's findings into our errors: path, what is wrong, nearest valid value. Never its raw text."""

from __future__ import annotations

import re
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.spec.model import FleetSpec
from accelerator_fleet.spec.read import Tree

Loc = tuple[int | str, ...]


def translate(error: ValidationError, tree: Tree) -> list[FleetError]:
    """One FleetError per finding, in the order of the file."""
    found = [_one(e, tree) for e in error.errors(include_url=False)]
    return sorted(found, key=lambda e: e.line or 0)


def _one(e: ErrorDetails, tree: Tree) -> FleetError:
    loc = _field_loc(e["loc"])
    path = path_of(loc)
    at, depth = _tree_at(tree, loc)
    own = at.path + path[len(path_of(loc[:depth])) :] if depth else path
    return FleetError(own, _message(e, loc, at), file=at.file, line=at.line)


def _message(e: ErrorDetails, loc: Loc, at: Tree) -> str:
    kind, ctx = e["type"], e.get("ctx", {})
    last = str(loc[-1]) if loc else ""
    if kind == "extra_forbidden":
        return _unknown_key(loc)
    if kind == "missing":
        return f"missing: {_description(loc) or 'required'}"
    if kind == "literal_error":
        words = re.findall(r"'([^']*)'", str(ctx["expected"]))
        return unknown("value", str(e["input"]), words)
    if kind == "string_type":
        if at.raw and not at.quoted and not isinstance(at.value, (dict, list)):
            return f'text is needed and YAML reads a {_noun(at.value)}; quote it: {last}: "{at.raw}"'
        return f"text is needed, not {_noun(at.value)}"
    return _value_message(e, kind, ctx, loc, at)


def _value_message(e: ErrorDetails, kind: str, ctx: dict[str, Any], loc: Loc, at: Tree) -> str:
    if kind in ("int_type", "int_parsing", "int_from_float"):
        return f"a whole number is needed, not {_noun(at.value)}"
    if kind in ("float_type", "float_parsing", "finite_number"):
        return f"a number is needed, not {_noun(at.value)}"
    if kind == "greater_than":
        return f"{e['input']} is too small; more than {ctx['gt']:g}"
    if kind in ("too_short", "string_too_short"):
        return f"empty; {_description(loc) or 'something is needed'}"
    if kind == "greater_than_equal":
        return f"{e['input']} is too small; at least {ctx['ge']}"
    if kind == "string_pattern_mismatch":
        return f"'{e['input']}' is not of the form {_description(loc) or ctx['pattern']}"
    if kind in ("tuple_type", "list_type"):
        return f"a list is needed, not {_noun(at.value)}"
    if kind in ("dict_type", "model_type", "model_attributes_type"):
        return f"a map of keys is needed, not {_noun(at.value)}"
    if kind in ("bool_type", "bool_parsing"):
        return f"true or false is needed, not {_noun(at.value)}"
    if kind == "fleet":
        return str(ctx["text"])
    return e["msg"]


def _noun(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return f"'{value}'"


def _unknown_key(loc: Loc) -> str:
    model = _model_at(loc[:-1])
    known = sorted(model.model_fields) if model else []
    if model is FleetSpec:
        known = sorted([*known, "extends"])
    return unknown("key", str(loc[-1]), known)


def _description(loc: Loc) -> str | None:
    model = _model_at(loc[:-1])
    field = model.model_fields.get(str(loc[-1])) if model and loc else None
    return field.description if field else None


def _model_at(loc: Loc) -> type[BaseModel] | None:
    model: type[BaseModel] | None = FleetSpec
    for step in loc:
        if isinstance(step, int) or model is None:
            continue
        field = model.model_fields.get(step)
        if field is None:  # a key of a dict[str, Model]: stay at the model that was unpacked
            continue
        model = _inner(field.annotation)
    return model


def _inner(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for arg in get_args(annotation):
        found = _inner(arg)
        if found is not None:
            return found
    return None


def _field_loc(loc: Loc) -> Loc:
    # pydantic marks a finding at a dict's key itself with a trailing "[key]".
    return tuple(p for p in loc if p != "[key]")


def path_of(loc: Loc) -> str:
    """('pools', 0, 'cards') -> 'pools[0].cards'."""
    path = ""
    for step in loc:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    return path


def _tree_at(tree: Tree, loc: Loc) -> tuple[Tree, int]:
    """The deepest written value on the way to `loc`, and how many steps led there."""
    for depth, step in enumerate(loc):
        below: Tree | None = None
        if isinstance(tree.value, dict):
            below = tree.value.get(str(step))
        elif isinstance(tree.value, list) and isinstance(step, int) and step < len(tree.value):
            below = tree.value[step]
        if below is None:
            return tree, depth
        tree = below
    return tree, len(loc)
