"""What is wrong with a queued resource's inputs, before any API is asked; and the inputs with their defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from accelerator_fleet_native import fields
from accelerator_fleet_native.values import Unknown, has_unknown

ID: Final = re.compile(r"[A-Za-z0-9_.~+%-]+")  # CreateQueuedResourceRequest.queued_resource_id
DURATION: Final = re.compile(r"([1-9][0-9]*)([smhd])")
UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str, "boolean": bool, "integer": int, "map": dict, "list": list,
}  # fmt: skip
MOST_DESCRIPTION: Final = 512
Failure = tuple[str, str]  # property, reason


def with_defaults(news: dict[str, Any], olds: dict[str, Any], project: str, labels: dict[str, str], name: str,
                  drawn: str) -> dict[str, Any]:  # fmt: skip
    """Inputs as they are sent: the provider's project and labels, defaults, and a drawn name where none is given."""
    made = {k: v for k, v in news.items() if not k.startswith("__")}
    for key, field in fields.inputs().items():
        if field.default is not None:
            made.setdefault(key, field.default)
    if project:
        made.setdefault("project", project)
    if labels and not isinstance(made.get("labels"), Unknown):
        made["labels"] = {**labels, **made.get("labels", {})}
    if "queuedResourceId" not in made:
        before = olds.get("queuedResourceId") if "queuedResourceId" in olds.get("__defaults", []) else None
        made["queuedResourceId"] = before or f"{name}-{drawn}"
        made["__defaults"] = ["queuedResourceId"]  # as the bridge marks drawn names: recovery must not draw another
    if "nodeId" not in made:
        made["nodeId"] = made["queuedResourceId"]
        made["__defaults"] = [*made.get("__defaults", []), "nodeId"]
    return made


def failures(inputs: dict[str, Any], project: str) -> list[Failure]:
    """Everything that is wrong. What is not known yet is looked at when it is."""
    known = {k: v for k, v in inputs.items() if not k.startswith("__") and not has_unknown(v)}
    wrong = list(_shapes(inputs, known))
    return wrong or [*_words(known, project), *_slice(known), *_capacity(known)]


def _shapes(inputs: dict[str, Any], known: dict[str, Any]) -> Iterator[Failure]:
    table = fields.inputs()
    for key in inputs:
        if key not in table and not key.startswith("__"):
            yield key, f"no such property; there are: {', '.join(table)}"
    for key, field in table.items():
        if field.required and inputs.get(key) in (None, ""):
            yield key, "is needed"
        if key not in known:
            continue
        value = known[key]
        if not isinstance(value, TYPES[field.type]) or (field.type == "integer" and isinstance(value, bool)):
            yield key, f"must be of type {field.type}, not {value!r}"
        elif field.type in ("map", "list"):
            inner: Iterable[Any] = list(value.values()) if isinstance(value, dict) else list(known[key])
            if not all(isinstance(v, str) for v in inner):
                yield key, "values must be strings"
        elif field.enum and value not in field.enum:
            yield key, f"'{value}'; one of: {', '.join(field.enum)}"


def _words(known: dict[str, Any], project: str) -> Iterator[Failure]:
    if project and known.get("project", project) != project:
        yield "project", f"'{known['project']}' is not the provider's project {project}"
    for key in ("queuedResourceId", "nodeId"):
        if key in known and not ID.fullmatch(known[key]):
            yield key, f"'{known[key]}' must be of letters, digits and _.~+%-"
    if known.get("nodeCount", 1) < 1:
        yield "nodeCount", f"{known['nodeCount']}: at least 1"
    if len(known.get("description", "")) > MOST_DESCRIPTION:
        yield "description", f"at most {MOST_DESCRIPTION} characters"


def _slice(known: dict[str, Any]) -> Iterator[Failure]:
    """Accelerator type, topology and runtime version agree, as the catalogue knows them."""
    from accelerator_fleet import catalog
    from accelerator_fleet.catalog.accelerator_types import accelerator_type

    said = known.get("acceleratorType")
    if said is None:
        return
    cat = catalog.load()
    found = accelerator_type(cat, said)
    if found is None:
        prefixes = [e.prefix for e in cat.cloud_tpu.entries.values()]
        yield "acceleratorType", f"'{said}' is no accelerator type; they are {', '.join(f'{p}N' for p in prefixes)}"
        return
    if "topology" in known and known["topology"] != found.topology:
        yield "topology", f"{said} is {found.topology} ({found.chips} chips), not {known['topology']}"
    runtimes = cat.cloud_tpu.entries[found.chip].runtimes
    if "runtimeVersion" in known and known["runtimeVersion"] not in runtimes:
        yield "runtimeVersion", f"'{known['runtimeVersion']}' is not of {said}; {' or '.join(runtimes)}"


def _capacity(known: dict[str, Any]) -> Iterator[Failure]:
    provision = known.get("provision")
    if known.get("reservation") and provision not in ("reserved", None):
        yield "reservation", f"{provision} uses no reservation; leave it out, or say provision reserved"
    if provision == "reserved" and not known.get("reservation") and "reservation" not in known:
        yield "reservation", "provision reserved names its reservation"
    if "validUntil" in known:
        try:
            until(known["validUntil"])
        except ValueError:
            yield "validUntil", f"'{known['validUntil']}': a time like 2027-01-31T12:00:00Z, or a duration like 24h"


def until(text: str) -> datetime | timedelta:
    """A time, or a duration from the creation; ValueError for anything else."""
    match = DURATION.fullmatch(text)
    if match:
        return timedelta(**{UNITS[match[2]]: int(match[1])})
    found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    if found.tzinfo is None:
        raise ValueError(text)
    return found.astimezone(UTC)
