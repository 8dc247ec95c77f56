"""`fleet schema`: the JSON Schema of a spec, for editors."""

from __future__ import annotations

import argparse
import json
from typing import Any


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `schema`."""
    parser = subparsers.add_parser("schema", help="the JSON Schema of a spec (docs/fleet.schema.json)")
    parser.set_defaults(func=_run, hint=False)


def _run(args: argparse.Namespace) -> int:
    print(render(), end="")
    return 0


def render() -> str:
    """The schema's text as committed in docs/fleet.schema.json."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> dict[str, Any]:
    """The schema of one file. A file that extends another may leave out what the other has."""
    from accelerator_fleet.spec.model import FleetSpec

    out = FleetSpec.model_json_schema()
    out["properties"]["extends"] = {
        "type": "string",
        "description": "another file of this folder, without .yaml, that this one adds to",
    }
    # Only the merged spec must be complete; what one file lacks, `extends` may bring.
    out.pop("required", None)
    for name in ("SiteSpec", "PoolSpec"):
        out["$defs"][name]["required"] = ["name"]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://accelerator-fleet.dev/fleet.schema.json",
        **out,
        "title": "accelerator-fleet spec",
    }
