"""Builds apis/google/data/shapes.json: member names and types of the Google APIs that are served, from their documents.

    python sim/tools/build_google_shapes.py --documents FOLDER

FOLDER holds Google's discovery documents (`container.v1.json` …), as PyPI's google-api-python-client carries them under
`googleapiclient/discovery_cache/documents`. Only names and types are taken, no texts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "accelerator_fleet_sim" / "apis" / "google" / "data" / "shapes.json"
LISTED = ("Network", "Subnetwork", "Router", "Firewall", "Address", "ResourcePolicy", "Reservation")
ROOTS = {
    "container": ["Cluster", "ListClustersResponse", "ListNodePoolsResponse", "Operation"],
    "compute": [
        *LISTED, *(f"{n}List" for n in LISTED), "Operation", "InstanceGroupManager",
        *(f"{n}AggregatedList" for n in ("Subnetwork", "Router", "Address", "ResourcePolicy", "Reservation")),
    ],
    "file": ["ListInstancesResponse"],
    "iam": ["ListServiceAccountsResponse", "Empty"],
    "cloudresourcemanager": ["Policy", "Project"],
    "servicenetworking": ["ListConnectionsResponse"],
}  # fmt: skip
# Lustre has no document there: members as the provider reads and writes them (google/services/lustre in
# hashicorp/terraform-provider-google); 64-bit numbers as text is the API's JSON mapping of int64.
LUSTRE = {
    "Instance": {
        "name": "string", "filesystem": "string", "capacityGib": "int64", "network": "string", "state": "string",
        "stateReason": "string", "mountPoint": "string", "createTime": "string", "updateTime": "string",
        "description": "string", "labels": "{}string", "perUnitStorageThroughput": "int64", "uid": "string",
        "gkeSupportEnabled": "boolean", "kmsKey": "string", "placementPolicy": "string",
    },
    "ListInstancesResponse": {"instances": "[]#Instance", "nextPageToken": "string", "unreachable": "[]string"},
}  # fmt: skip


class Document:
    """One API's schemas, reduced as they are reached."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas, self.found = schemas, dict[str, dict[str, str]]()

    def take(self, name: str, schema: dict[str, Any]) -> None:
        """A schema and all that it names."""
        if name in self.found:
            return
        self.found[name] = {}
        for member, value in schema.get("properties", {}).items():
            self.found[name][member] = self.kind(value, f"{name}.{member}")

    def kind(self, value: dict[str, Any], path: str) -> str:
        """A type in short: string, int64, #Schema, []type, {}type."""
        if "$ref" in value:
            self.take(value["$ref"], self.schemas[value["$ref"]])
            return f"#{value['$ref']}"
        kind = value.get("type", "any")
        if kind == "array":
            return "[]" + self.kind(value["items"], path)
        if kind == "object" and "properties" in value:
            self.take(path, value)
            return f"#{path}"
        if kind == "object":
            return "{}" + self.kind(value.get("additionalProperties") or {"type": "any"}, path)
        if kind == "string" and value.get("format") in ("int64", "uint64"):
            return "int64"
        return str(kind)


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, required=True)
    folder: Path = parser.parse_args().documents
    revisions, apis = {}, {}
    for api, roots in ROOTS.items():
        data = json.loads((folder / f"{api}.v1.json").read_text())
        document = Document(data["schemas"])
        for root in roots:
            document.take(root, data["schemas"][root])
        revisions[f"{api} v1"] = data["revision"]
        apis[api] = {name: document.found[name] for name in sorted(document.found)}
    apis["lustre"] = LUSTRE
    meta = {
        "about": "members and types of Google's API answers; int64 travels as text, # is a schema, [] a list, {} a map",
        "source": "Google's discovery documents (Apache-2.0), revisions below",
        "revisions": revisions,
    }
    lines = [f'"_meta": {json.dumps(meta)}']
    for api, schemas in apis.items():
        rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in schemas.items())
        lines.append(f'"{api}": {{\n{rows}\n}}')
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
