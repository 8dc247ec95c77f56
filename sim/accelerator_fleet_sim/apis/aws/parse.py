"""What a client asked: operation and parameters of an HTTP request, by botocore's service models."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from ..listener import Request


class Unclear(Exception):
    """A request that names no operation of the service, or a parameter that the operation does not have."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def parse(service: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, Any]]:
    """The operation and its parameters, checked against the model: unknown parameters are refused."""
    protocol = service.resolved_protocol
    if protocol in ("ec2", "query"):
        fields = dict(parse_qsl(request.body.decode() or urlsplit(request.target).query, keep_blank_values=True))
        operation = _named(service, fields.pop("Action", ""))
        fields.pop("Version", None)
        taken: set[str] = set()
        found = _form(operation.input_shape, fields, "", protocol, taken) if operation.input_shape else {}
        left = sorted(set(fields) - taken)
        if left:
            raise Unclear("UnknownParameter", f"The parameter {left[0]} is not recognized")
        return operation, found or {}
    if protocol == "json":
        operation = _named(service, request.headers.get("x-amz-target", "").rpartition(".")[2])
        body = json.loads(request.body or b"{}")
        return operation, _plain(operation.input_shape, body) if operation.input_shape else {}
    return _rest(service, request)


def _named(service: ServiceModel, name: str) -> OperationModel:
    if name not in service.operation_names:
        raise Unclear("InvalidAction", f"The action {name} is not valid for this web service.")
    return service.operation_model(name)


# -- forms (ec2 and query) -------------------------------------------------------------------------------------------
def _form_name(shape: Shape, member: str, protocol: str) -> str:
    if protocol == "ec2":
        if "queryName" in shape.serialization:
            return str(shape.serialization["queryName"])
        name = str(shape.serialization.get("name", member))
        return name[0].upper() + name[1:]
    return str(shape.serialization.get("name", member))


def _form(shape: Shape, fields: dict[str, str], prefix: str, protocol: str, taken: set[str]) -> Any:
    """The value at a prefix; None when there is nothing."""
    if isinstance(shape, StructureShape):
        found: dict[str, Any] = {}
        for member, inner in shape.members.items():
            name = _form_name(inner, member, protocol)
            value = _form(inner, fields, f"{prefix}.{name}" if prefix else name, protocol, taken)
            if value is not None:
                found[member] = value
        return found or None
    if isinstance(shape, ListShape):
        where = prefix
        if protocol == "query" and not shape.serialization.get("flattened"):
            where = f"{prefix}.{shape.member.serialization.get('name', 'member')}"
        items: list[Any] = []
        while (item := _form(shape.member, fields, f"{where}.{len(items) + 1}", protocol, taken)) is not None:
            items.append(item)
        return items or None
    if isinstance(shape, MapShape) or prefix not in fields:
        return None
    taken.add(prefix)
    return _value(shape, fields[prefix])


def _value(shape: Shape, text: str) -> Any:
    kind = shape.type_name
    if kind == "boolean":
        return text == "true"
    if kind in ("integer", "long"):
        return int(text)
    if kind in ("float", "double"):
        return float(text)
    if kind == "timestamp":
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    return base64.b64decode(text) if kind == "blob" else text


# -- JSON ------------------------------------------------------------------------------------------------------------
def _plain(shape: Shape, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(shape, StructureShape):
        names = {m.serialization.get("name", n): n for n, m in shape.members.items()}
        unknown = sorted(set(value) - set(names))
        if unknown:
            raise Unclear("ValidationException", f"{shape.name} has no parameter {unknown[0]}")
        return {names[k]: _plain(shape.members[names[k]], v) for k, v in value.items() if v is not None}
    if isinstance(shape, ListShape):
        return [_plain(shape.member, v) for v in value]
    if isinstance(shape, MapShape):
        return {k: _plain(shape.value, v) for k, v in value.items()}
    if shape.type_name == "timestamp":
        return datetime.fromtimestamp(float(value), UTC)
    return base64.b64decode(value) if shape.type_name == "blob" else value


@cache
def _paths(service: ServiceModel) -> list[tuple[str, re.Pattern[str], OperationModel]]:
    """(method, path, operation) of a REST service, the most literal paths first."""
    found = []
    for name in service.operation_names:
        operation = service.operation_model(name)
        path = operation.http["requestUri"].partition("?")[0]
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path))
        found.append((path.count("{"), operation.http["method"], re.compile(pattern + "/?"), operation))
    found.sort(key=lambda row: row[0])
    return [row[1:] for row in found]


def _rest(service: ServiceModel, request: Request) -> tuple[OperationModel, dict[str, Any]]:
    parts = urlsplit(request.target)
    for method, pattern, operation in _paths(service):
        match = pattern.fullmatch(parts.path) if method == request.method else None
        if match:
            return operation, _rest_parameters(operation, match.groupdict(), parse_qs(parts.query), request)
    raise Unclear(
        "UnknownOperationException", f"{request.method} {parts.path} is no operation of {service.service_name}"
    )


def _rest_parameters(
    operation: OperationModel, uri: dict[str, str], query: dict[str, list[str]], request: Request
) -> dict[str, Any]:
    shape = operation.input_shape
    if shape is None:
        return {}
    found: dict[str, Any] = {}
    rest = {}
    for member, inner in shape.members.items():
        place, name = inner.serialization.get("location"), inner.serialization.get("name", member)
        if place == "uri":
            found[member] = unquote(uri[name])
        elif place == "querystring" and name in query:
            values = query.pop(name)
            found[member] = values if isinstance(inner, ListShape) else _value(inner, values[0])
        elif place == "header" and name.lower() in request.headers:
            found[member] = request.headers[name.lower()]
        elif place is None:
            rest[name] = member
    if query:
        raise Unclear("InvalidParameterException", f"{operation.name} has no parameter {sorted(query)[0]}")
    body = json.loads(request.body or b"{}")
    unknown = sorted(set(body) - set(rest))
    if unknown:
        raise Unclear("InvalidParameterException", f"{operation.name} has no parameter {unknown[0]}")
    return found | {rest[k]: _plain(shape.members[rest[k]], v) for k, v in body.items() if v is not None}
