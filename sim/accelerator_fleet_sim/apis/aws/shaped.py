"""The provider's properties in the API's words: the same names but for case, and a list of those that differ."""

from __future__ import annotations

from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from ...aws.errors import AwsError
from .calls import moment


def shaped(shape: Shape, value: Any, names: dict[str, str]) -> Any:
    """A property's value as the API shows it. What the provider writes as "" or [] the API leaves out.

    `names`: property -> member where they differ by more than case. A property without a member is refused.
    """
    if isinstance(shape, StructureShape):
        return _structure(shape, value, names)
    if isinstance(shape, ListShape):
        items = value if isinstance(value, list) else [value]
        return [shaped(shape.member, v, names) for v in items]
    if isinstance(shape, MapShape):
        return {str(k): shaped(shape.value, v, names) for k, v in value.items()}
    kind = shape.type_name
    if kind == "boolean":
        return value if isinstance(value, bool) else str(value).lower() == "true"
    if kind in ("integer", "long"):
        return int(value)
    if kind in ("float", "double"):
        return float(value)
    return moment(value) if kind == "timestamp" else str(value)


def _structure(shape: StructureShape, value: Any, names: dict[str, str]) -> dict[str, Any]:
    members = {m.lower(): m for m in shape.members}
    found = {}
    for key, inner in value.items():
        if inner in (None, "", [], {}):
            continue
        member = names.get(key) or members.get(key.lower())
        if member is None:
            raise AwsError("NotServed", f"the embedded datacentre does not know what {shape.name} calls {key}", 501)
        if isinstance(inner, dict) and shape.members[member].type_name == "list" and _tags(shape.members[member]):
            found[member] = [{"Key": k, "Value": v} for k, v in sorted(inner.items())]
        else:
            found[member] = shaped(shape.members[member], inner, names)
    return found


def _tags(shape: Shape) -> bool:
    return isinstance(shape, ListShape) and isinstance(shape.member, StructureShape) and set(
        shape.member.members
    ) == {"Key", "Value"}  # fmt: skip
