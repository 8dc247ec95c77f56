"""Requests and answers in AWS's four protocols, by botocore's service models: nothing a model lacks gets through."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from ..listener import Answer

# words that the real services answer although their models do not list them (EC2 API reference:
# InternetGatewayAttachment, NetworkInterface, and the lower case of VpcEndpoint's State)
BEYOND = {"AttachmentStatus": {"available"}, "NetworkInterfaceType": {"nat_gateway"},
          "State": {"available", "pending", "deleting", "failed"}}  # fmt: skip
XML = {"Content-Type": "text/xml;charset=UTF-8"}


class Misshapen(Exception):
    """An answer that the service's model does not allow: a defect of ours."""


@cache
def model(service: str) -> ServiceModel:
    """A service's model, read once."""
    return ServiceModel(Loader(include_default_search_paths=False, extra_search_paths=[Loader.BUILTIN_DATA_PATH])
                        .load_service_model(service, "service-2"), service_name=service)  # fmt: skip


def serialize(operation: OperationModel, answer: dict[str, Any]) -> Answer:
    """The HTTP answer of an operation; raises Misshapen for what its output shape does not have."""
    protocol = operation.service_model.resolved_protocol
    identity = str(uuid.uuid4())
    shape = operation.output_shape
    if shape is None and answer:
        raise Misshapen(f"{operation.name} answers nothing, not {sorted(answer)}")
    if protocol in ("ec2", "query"):
        return Answer(200, _xml_document(operation, shape, answer, protocol, identity), XML)
    status = operation.http.get("responseCode", 200) if protocol == "rest-json" else 200
    headers = {"Content-Type": "application/json", "x-amzn-RequestId": identity}
    if protocol == "json":
        headers["Content-Type"] = "application/x-amz-json-1.1"
    plain = _plain(shape, answer, operation.name) if shape is not None else {}
    if shape is not None and any(m.serialization.get("location") for m in shape.members.values()):
        raise Misshapen(f"{operation.name}: answers with headers are not served")
    return Answer(status, json.dumps(plain).encode(), headers)


def refusal(service: ServiceModel, code: str, message: str, status: int) -> Answer:
    """An error as the service's protocol writes it."""
    identity = str(uuid.uuid4())
    protocol = service.resolved_protocol
    if protocol == "ec2":
        root = Element("Response")
        error = SubElement(SubElement(root, "Errors"), "Error")
        tail = "RequestID"
    elif protocol == "query":
        root = Element("ErrorResponse", {"xmlns": service.metadata.get("xmlNamespace", "")})
        error = SubElement(root, "Error")
        SubElement(error, "Type").text = "Sender"
        tail = "RequestId"
    else:
        body = json.dumps({"__type": code, "message": message}).encode()
        kind = "application/json" if protocol == "rest-json" else "application/x-amz-json-1.1"
        return Answer(status, body, {"Content-Type": kind, "x-amzn-RequestId": identity, "x-amzn-ErrorType": code})
    SubElement(error, "Code").text = code
    SubElement(error, "Message").text = message
    SubElement(root, tail).text = identity
    return Answer(status, b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root), XML)


# -- XML -------------------------------------------------------------------------------------------------------------
def _xml_document(
    operation: OperationModel, shape: StructureShape | None, answer: dict[str, Any], protocol: str, identity: str
) -> bytes:
    namespace = operation.service_model.metadata.get("xmlNamespace", "")
    root = Element(f"{operation.name}Response", {"xmlns": namespace})
    target = root
    if protocol == "query":
        wrapper = shape.serialization.get("resultWrapper") if shape is not None else None
        target = SubElement(root, wrapper) if wrapper else root
        SubElement(SubElement(root, "ResponseMetadata"), "RequestId").text = identity
    else:
        SubElement(root, "requestId").text = identity
    if shape is not None:
        _xml_members(shape, answer, target, operation.name)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root)


def _xml_members(shape: StructureShape, value: Any, parent: Element, path: str) -> None:
    for name, inner in _known(shape, value, path).items():
        member = shape.members[name]
        _xml(member, inner, parent, member.serialization.get("name", name), f"{path}.{name}")


def _xml(shape: Shape, value: Any, parent: Element, name: str, path: str) -> None:
    if isinstance(shape, StructureShape):
        _xml_members(shape, value, SubElement(parent, name), path)
    elif isinstance(shape, ListShape):
        if not isinstance(value, list):
            raise Misshapen(f"{path}: a list, not {value!r}")
        flat = shape.serialization.get("flattened")
        holder = parent if flat else SubElement(parent, name)
        inner = name if flat else shape.member.serialization.get("name", "member")
        for number, item in enumerate(value):
            _xml(shape.member, item, holder, inner, f"{path}[{number}]")
    elif isinstance(shape, MapShape):
        holder = SubElement(parent, name)
        for key, item in value.items():
            entry = SubElement(holder, "entry")
            _xml(shape.key, key, entry, shape.key.serialization.get("name", "key"), path)
            _xml(shape.value, item, entry, shape.value.serialization.get("name", "value"), f"{path}.{key}")
    else:
        checked = _scalar(shape, value, path)
        if isinstance(checked, datetime):
            checked = checked.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        text = str(checked).lower() if isinstance(checked, bool) else str(checked)
        SubElement(parent, name).text = text


# -- JSON ------------------------------------------------------------------------------------------------------------
def _plain(shape: Shape, value: Any, path: str) -> Any:
    if isinstance(shape, StructureShape):
        return {
            shape.members[n].serialization.get("name", n): _plain(shape.members[n], v, f"{path}.{n}")
            for n, v in _known(shape, value, path).items()
        }
    if isinstance(shape, ListShape):
        if not isinstance(value, list):
            raise Misshapen(f"{path}: a list, not {value!r}")
        return [_plain(shape.member, v, f"{path}[{i}]") for i, v in enumerate(value)]
    if isinstance(shape, MapShape):
        return {str(k): _plain(shape.value, v, f"{path}.{k}") for k, v in value.items()}
    checked = _scalar(shape, value, path)
    return checked.timestamp() if isinstance(checked, datetime) else checked


def _known(shape: StructureShape, value: Any, path: str) -> dict[str, Any]:
    """The members that are there; a member of no name in the model, or of none but nothing, is a defect."""
    if not isinstance(value, dict):
        raise Misshapen(f"{path}: a structure, not {value!r}")
    unknown = sorted(set(value) - set(shape.members))
    if unknown:
        raise Misshapen(f"{path}: {shape.name} has no {', '.join(unknown)}")
    return {k: v for k, v in value.items() if v is not None}


def _scalar(shape: Shape, value: Any, path: str) -> Any:
    kind = shape.type_name
    wanted: dict[str, Callable[[Any], bool]] = {
        "boolean": lambda v: isinstance(v, bool),
        "string": lambda v: isinstance(v, str),
        "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "long": lambda v: isinstance(v, int) and not isinstance(v, bool),
        "float": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
        "double": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
        "timestamp": lambda v: isinstance(v, datetime),
        "blob": lambda v: isinstance(v, bytes),
    }
    if kind not in wanted or not wanted[kind](value):
        raise Misshapen(f"{path}: {kind}, not {value!r}")
    allowed = getattr(shape, "enum", None)
    if allowed and value not in allowed and value not in BEYOND.get(shape.name, ()):
        raise Misshapen(f"{path}: one of {', '.join(allowed)}, not {value!r}")
    return base64.b64encode(value).decode() if kind == "blob" else value
