"""What exists already and belongs to this program: resources that `fleet recover` found, by URN, with their ids.

The engine then reads them (its import step) instead of creating them. A stack's ordinary runs name no such file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pulumi
from pulumi.runtime import register_stack_transformation

VARIABLE: Final = "ACCELERATOR_FLEET_ADOPT"


def register() -> None:
    """Has every resource that the file of ACCELERATOR_FLEET_ADOPT names imported.

    The file is JSON: `{URN: {"id": …, "props": {property: value}}}`. `props` are names that were drawn when the
    resource was made (`name`, `node_group_name`): without them the program would draw new ones.
    """
    named = os.environ.get(VARIABLE)
    if named:
        register_stack_transformation(adopting(json.loads(Path(named).read_text(encoding="utf-8"))))


def adopting(known: Mapping[str, Mapping[str, Any]]) -> pulumi.ResourceTransformation:
    """A transformation that gives resources the ids to import."""
    # Qualified type of every resource seen: parents are constructed, and so seen, before their children.
    types: dict[pulumi.Resource, str] = {}

    def transformation(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        above = types.get(args.opts.parent, "") if args.opts.parent is not None else ""
        types[args.resource] = f"{above}${args.type_}" if above else args.type_
        urn = f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::{types[args.resource]}::{args.name}"
        if urn not in known:
            return None
        # The engine goes on to update what it imported, in a preview by a dry run. The API server refuses it: another
        # Pulumi manages the fields. Of a cloud's inputs, as read, providers refuse some: there the program's stay.
        untouched = ["*"] if args.type_.startswith("kubernetes:") and "helm.sh" not in args.type_ else None
        only_read = pulumi.ResourceOptions(import_=known[urn]["id"], ignore_changes=untouched)
        opts = pulumi.ResourceOptions.merge(args.opts, only_read)
        return pulumi.ResourceTransformationResult({**args.props, **known[urn].get("props", {})}, opts)

    return transformation
