"""What the provider offers, as Pulumi's package schema says it: from fields.json."""

from __future__ import annotations

import json
from typing import Any

from accelerator_fleet_native import PACKAGE, QUEUED_RESOURCE, VERSION, fields

CONFIG = {
    "project": {"type": "string", "description": "Project of everything that this provider makes; another is refused."},
    "region": {"type": "string", "description": "Region that `fleet recover` looks at."},
    "defaultLabels": {
        "type": "object", "additionalProperties": {"type": "string"}, "description": "Labels of every node.",
    },
}  # fmt: skip


def _property(field: fields.Field) -> dict[str, Any]:
    made: dict[str, Any] = {"description": field.about}
    if field.type == "map":
        made |= {"type": "object", "additionalProperties": {"type": "string"}}
    elif field.type == "list":
        made |= {"type": "array", "items": {"type": "string"}}
    else:
        made |= {"type": field.type}
    if field.default is not None:
        made["default"] = field.default
    if field.in_place is None and field.name in fields.inputs():
        made["replaceOnChanges"] = True
    return made


def schema() -> str:
    """The package schema as JSON."""
    given = {k: _property(f) for k, f in fields.inputs().items()}
    shown = {**{k: {**v} for k, v in given.items()}, **{k: _property(f) for k, f in fields.outputs().items()}}
    for row in shown.values():
        row.pop("default", None)
    resource = {
        "description": "A Cloud TPU queued resource: a request for one or several slices, and their nodes.",
        "inputProperties": given,
        "requiredInputs": [k for k, f in fields.inputs().items() if f.required],
        "properties": shown,
        "required": ["name", "state"],
    }
    made = {
        "name": PACKAGE, "version": VERSION, "license": "Apache-2.0",
        "description": "What no cloud's own provider offers to the accelerator-fleet toolkit.",
        "config": {"variables": CONFIG},
        "provider": {"inputProperties": CONFIG, "requiredInputs": ["project"]},
        "resources": {QUEUED_RESOURCE: resource},
    }  # fmt: skip
    return json.dumps(made)
