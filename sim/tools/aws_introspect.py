"""Reads input and output shapes of pulumi_aws resource classes by introspection (build time only)."""

from __future__ import annotations

import importlib
import inspect
import sys
import typing
from typing import Any

import pulumi
import pulumi.output

SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _strip(hint: Any) -> tuple[Any, bool]:
    """The plain type inside Input, Output and Optional, and whether None was allowed."""
    optional = False
    while True:
        origin = typing.get_origin(hint)
        if origin is pulumi.Output:
            hint = typing.get_args(hint)[0]
            continue
        if origin is typing.Union or type(hint).__name__ == "UnionType":
            members = []
            for arg in typing.get_args(hint):
                if arg is type(None):
                    optional = True
                elif typing.get_origin(arg) is pulumi.Output or getattr(typing.get_origin(arg), "__name__", "") == (
                    "Awaitable"
                ):
                    continue
                else:
                    members.append(arg)
            if len(members) == 1:
                hint = members[0]
                continue
            hint = next((m for m in members if m is str), members[0])
            return ("alternatives", hint, members), optional
        return hint, optional


def _getters(cls: type) -> dict[str, tuple[str, Any]]:
    """Pulumi name -> (Python name, type hint) of a class's property getters."""
    module = sys.modules[cls.__module__]
    found = {}
    for py, prop in inspect.getmembers(cls, lambda m: isinstance(m, property)):
        name = getattr(prop.fget, "_pulumi_name", None)
        if name is None:
            continue
        hints = typing.get_type_hints(prop.fget, {**vars(pulumi.output), **vars(module)})
        found[name] = (py, hints["return"])
    return found


def node(hint: Any, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """One property's shape: type, items or properties."""
    hint, _ = _strip(hint)
    if isinstance(hint, tuple):
        _, first, members = hint
        shape = node(first, seen)
        if any(isinstance(m, type) and m not in SCALARS for m in members):
            shape["document"] = True  # a JSON string, or the same as an object
        return shape
    if hint in SCALARS:
        return {"type": SCALARS[hint]}
    origin = typing.get_origin(hint)
    name = getattr(origin, "__name__", "")
    if name == "Sequence":
        return {"type": "list", "items": node(typing.get_args(hint)[0], seen)}
    if name in ("Mapping", "dict"):
        return {"type": "map", "items": node(typing.get_args(hint)[1], seen)}
    if isinstance(hint, type) and issubclass(hint, str):
        return {"type": "string"}
    if isinstance(hint, type):
        if hint.__name__ in seen:
            return {"type": "any"}
        return {"type": "object", "properties": properties(hint, (*seen, hint.__name__))}
    if hint is Any:
        return {"type": "any"}
    raise TypeError(f"no shape for {hint!r}")


def properties(cls: type, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """All properties of an input or output class."""
    signature = inspect.signature(cls).parameters
    shapes: dict[str, Any] = {}
    for name, (py, hint) in sorted(_getters(cls).items()):
        shape = node(hint, seen)
        parameter = signature.get(py)
        if parameter is not None and parameter.default is inspect.Parameter.empty:
            shape["required"] = True
        shapes[name] = shape
    return shapes


def resource(token: str, module: str, cls_name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and outputs of one resource type. An output that is not optional is marked `required`."""
    package = importlib.import_module(f"pulumi_{module}")
    cls = getattr(package, cls_name)
    # where a nested type took the name, the SDK calls the resource's own arguments InitArgs
    args = getattr(package, f"{cls_name}InitArgs", None) or getattr(package, f"{cls_name}Args")
    inputs = properties(args)
    outputs: dict[str, Any] = {}
    for name, (_, hint) in sorted(_getters(cls).items()):
        inner, optional = _strip(hint)
        shape = node(hint if not isinstance(inner, tuple) else str)
        if not optional:
            shape["required"] = True
        outputs[name] = shape
    return inputs, outputs
