"""Property values as the engine sends them, as plain Python with one value for what is not known yet.

Wire format: github.com/pulumi/pulumi sdk/v3 `resource/plugin/rpc.go`. The provider accepts neither secrets nor
resources: the engine unwraps them, and marks outputs of a secret input's name as secret by itself.
"""

from __future__ import annotations

from typing import Any

UNKNOWN_WIRE = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_WIRES = {
    UNKNOWN_WIRE,
    "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
    "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
    "030794c1-ac77-496b-92df-f27374a8bd58",
    "e48ece36-62e2-4504-bad9-02848725956a",
    "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
}


class Unknown:
    """Type of UNKNOWN."""

    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN = Unknown()


def _decode(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in _WIRES else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number == int(number) else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_decode(v) for v in value.list_value.values]
    if kind == "struct_value":
        return from_struct(value.struct_value)
    return None


def from_struct(struct: Any) -> dict[str, Any]:
    """A protobuf Struct as a dict; null properties are left out."""
    return {k: d for k, v in struct.fields.items() if (d := _decode(v)) is not None}


def _encode(value: Any, out: Any) -> None:
    if isinstance(value, Unknown):
        out.string_value = UNKNOWN_WIRE
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
    else:
        out.list_value.SetInParent()
        for v in value:
            _encode(v, out.list_value.values.add())


def to_struct(values: dict[str, Any], struct: Any) -> None:
    """Fill a protobuf Struct; None is left out."""
    for k, v in values.items():
        if v is not None:
            _encode(v, struct.fields[k])


def has_unknown(value: Any) -> bool:
    """Whether anything in a value is not known yet."""
    if isinstance(value, dict):
        return any(has_unknown(v) for v in value.values())
    if isinstance(value, list):
        return any(has_unknown(v) for v in value)
    return isinstance(value, Unknown)
