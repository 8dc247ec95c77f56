"""Property values as the engine sends them: plain Python, plus unknowns and secrets.

Wire format: github.com/pulumi/pulumi sdk/v3 `resource/plugin/rpc.go` (signature keys and sentinels).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_REFERENCE = "5cf8f73096256a8f31e491e813e4eb8e"
UNKNOWN_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWN_WIRES = {
    UNKNOWN_WIRE,  # string
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
    "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
    "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
    "e48ece36-62e2-4504-bad9-02848725956a",  # archive
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
}


class Unknown:
    """A value that is known only after something was created."""

    _one: Unknown | None = None

    def __new__(cls) -> Unknown:
        if cls._one is None:
            cls._one = super().__new__(cls)
        return cls._one

    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN = Unknown()


class Secret:
    """A value that must stay encrypted in the state."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.value == self.value

    def __hash__(self) -> int:
        return hash(("secret", json.dumps(self.value, sort_keys=True, default=str)))

    def __repr__(self) -> str:
        return "Secret(…)"


def _number(value: float) -> int | float:
    return int(value) if value == int(value) and abs(value) < 2**53 else value


def _decode(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in _UNKNOWN_WIRES else value.string_value
    if kind == "number_value":
        return _number(value.number_value)
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_decode(v) for v in value.list_value.values]
    if kind == "struct_value":
        return _decode_struct(value.struct_value)
    return None


def _decode_struct(struct: Any) -> Any:
    fields = struct.fields
    if SIGNATURE in fields:
        mark = fields[SIGNATURE].string_value
        if mark == _SECRET:
            return Secret(_decode(fields["value"]))
        if mark == _OUTPUT:
            inner = _decode(fields["value"]) if "value" in fields else UNKNOWN
            return Secret(inner) if "secret" in fields and fields["secret"].bool_value else inner
        if mark == _REFERENCE:
            return _decode(fields["id"]) if "id" in fields else UNKNOWN
    return {k: _decode(v) for k, v in fields.items()}


def from_struct(struct: Any) -> dict[str, Any]:
    """A protobuf Struct as a dict; absent and null properties are left out."""
    if struct is None:
        return {}
    return {k: d for k, v in struct.fields.items() if (d := _decode(v)) is not None}


def _encode(value: Any, out: Any) -> None:
    if value is None:
        out.null_value = 0
    elif isinstance(value, Unknown):
        out.string_value = UNKNOWN_WIRE
    elif isinstance(value, Secret):
        fields = out.struct_value.fields
        fields[SIGNATURE].string_value = _SECRET
        _encode(value.value, fields["value"])
    elif isinstance(value, bool):
        out.bool_value = value
    elif isinstance(value, (int, float)):
        out.number_value = value
    elif isinstance(value, str):
        out.string_value = value
    elif isinstance(value, dict):
        out.struct_value.SetInParent()
        for k, v in value.items():
            _encode(v, out.struct_value.fields[k])
    elif isinstance(value, (list, tuple)):
        out.list_value.SetInParent()
        for v in value:
            _encode(v, out.list_value.values.add())
    else:
        raise TypeError(f"no property value: {type(value).__name__}")


def to_struct(values: dict[str, Any], struct: Any) -> Any:
    """Fill a protobuf Struct from a dict and return it."""
    for k, v in values.items():
        _encode(v, struct.fields[k])
    return struct


def plain(value: Any) -> Any:
    """The value without secret marks; unknowns stay."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def any_value(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether the test holds for the value or for anything inside it."""
    if test(value):
        return True
    if isinstance(value, Secret):
        return any_value(value.value, test)
    if isinstance(value, dict):
        return any(any_value(v, test) for v in value.values())
    if isinstance(value, list):
        return any(any_value(v, test) for v in value)
    return False


def has_unknown(value: Any) -> bool:
    """Whether anything in the value is unknown."""
    return any_value(value, lambda v: isinstance(v, Unknown))


def without_unknown(value: Any) -> Any:
    """The value without what is unknown in it, as a state that could not be read holds it."""
    if isinstance(value, Secret):
        return value if not has_unknown(value) else None
    if isinstance(value, dict):
        return {k: without_unknown(v) for k, v in value.items() if not isinstance(v, Unknown)}
    if isinstance(value, list):
        return [without_unknown(v) for v in value if not isinstance(v, Unknown)]
    return value


def has_secret(value: Any) -> bool:
    """Whether anything in the value is a secret."""
    return any_value(value, lambda v: isinstance(v, Secret))


def mark_secrets(outputs: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Outputs with every value wrapped that was, or holds, a secret in the inputs of the same path."""
    return {k: _mark(v, inputs.get(k)) for k, v in outputs.items()}


def _mark(value: Any, source: Any) -> Any:
    if isinstance(source, Secret):
        return Secret(plain(value))
    if isinstance(source, dict) and isinstance(value, dict):
        return {k: _mark(v, source.get(k)) for k, v in value.items()}
    if isinstance(source, list) and has_secret(source):
        return Secret(plain(value))  # a cloud may return lists in another order
    return value


def get_path(value: Any, path: str) -> Any:
    """The value at a dotted path, None where there is none. A list on the way gives its first element."""
    for part in path.split("."):
        if isinstance(value, Secret):
            value = value.value
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(value, Unknown):
            return value
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def get_all(value: Any, path: str) -> list[Any]:
    """All values at a dotted path, through every list on the way; absent ones are left out."""
    found = [value]
    for part in path.split("."):
        found = [x for v in found for x in (v if isinstance(v, list) else [v])]
        found = [v.get(part) for v in found if isinstance(v, dict)]
        found = [v for v in found if v is not None]
    return [x for v in found for x in (v if isinstance(v, list) else [v])]
