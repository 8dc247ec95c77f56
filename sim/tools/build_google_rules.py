"""Builds accelerator_fleet_sim/google/data/rules.json from the facts, their corrections, the SDK and the overlay.

    python sim/tools/build_google_rules.py --facts FOLDER

Build time only. FOLDER holds `resources.json` and `google_corrections.json`; a correction that the overlay does not say
what to do with ends the build, so that corrections always win over the facts. `google_provider_schema.json` beside this
script is what the provider's own schemas add (provider_schema.py).
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import pulumi_gcp
import yaml

HERE = Path(__file__).parent
introspect = importlib.import_module("aws_introspect")  # beside this script; it reads any SDK of Pulumi's
provider_schema = importlib.import_module("provider_schema")
OUT = HERE.parent / "accelerator_fleet_sim" / "google" / "data" / "rules.json"
COPIED = (
    "force_new", "force_new_presence", "unknown_paths", "enums", "max_items", "min_items", "conflicts",
    "exactly_one_of", "at_least_one_of", "required_with", "arn", "id", "source",
)  # fmt: skip


def mark(inputs: dict[str, Any], path: str, key: str, value: Any) -> bool:
    """Set a key on the shape at a path; False when the SDK has no such property."""
    properties: Any = inputs
    shape: dict[str, Any] | None = None
    for part in path.split("."):
        shape = (properties or {}).get(part)
        if shape is None:
            return False
        inner = shape
        while inner["type"] == "list":
            inner = inner["items"]
        properties = inner.get("properties")
    assert shape is not None
    shape[key] = value
    return True


def conditions(token: str, fact: dict[str, Any], overlay: dict[str, Any]) -> list[dict[str, Any]]:
    """`force_new_if` with a machine-readable condition; a text without one is an error."""
    made = []
    for rule in fact.get("force_new_if", []):
        condition = overlay["conditions"].get(token, {}).get(rule["path"])
        if condition is None:
            raise SystemExit(f"{token}.{rule['path']}: no condition for {rule['when']!r} in the overlay")
        made.append({"path": rule["path"], **condition, "when": rule["when"], "confidence": rule["confidence"]})
    return made


def correct(token: str, rule: dict[str, Any], corrections: list[dict[str, Any]], overlay: dict[str, Any]) -> None:
    """Apply what the overlay makes of the corrections of one type."""
    effects = overlay["corrections"].get(token, {})
    for correction in corrections:
        if correction["token"] != token:
            continue
        if correction["path"] not in effects and correction["path"] not in overlay["corrected_by_code"]:
            raise SystemExit(f"{token}.{correction['path']}: a correction without effect: {correction}")
    for path, effect in effects.items():
        for key in effect.get("not", []):
            rule[key] = [p for p in rule.get(key, []) if p != path]
        for key in effect.get("also", []):
            rule[key] = sorted({*rule.get(key, []), path})
        for table in ("strings", "ranges"):
            if table in effect:
                rule.setdefault(table, {})[path] = effect[table]
        if effect.get("cidr"):
            rule.setdefault("cidrs", []).append(path)
        if effect.get("cidr_prefix"):
            rule.setdefault("cidr_prefix_ranges", {})[path] = effect["cidr_prefix"]
        for group in effect.get("no_conflict", []):
            rule["conflicts"] = [g for g in rule["conflicts"] if sorted(g) != sorted(group)]


def build_type(
    token: str,
    fact: dict[str, Any],
    overlay: dict[str, Any],
    corrections: list[dict[str, Any]],
    schemas: dict[str, Any],
) -> tuple[dict[str, Any], list[str]]:
    """The rules of one type, and differences found between the SDK and the facts."""
    inputs, outputs = introspect.resource(token, fact["module"], fact["class"])
    differences = []
    for name in sorted(fact["inputs"].keys() | inputs.keys()) if "inputs" in fact else []:
        got, want = inputs.get(name), fact["inputs"].get(name)
        if (got is None) != (want is None) or (got and want and bool(got.get("required")) != want["required"]):
            differences.append(f"{token}.{name}: facts and SDK differ")
    for path in [*fact.get("optional_computed", []), *overlay["computed_only"].get(token, [])]:
        if not mark(inputs, path, "computed", True):
            differences.append(f"{token}.{path}: optional and computed in the facts, not in the SDK")
    rule: dict[str, Any] = {"inputs": inputs, "outputs": {k: v["type"] for k, v in sorted(outputs.items())}}
    rule["nested_known"] = True  # optional_computed names every nested property that the cloud fills in
    if "confidence" in fact:
        rule["confidence"] = fact["confidence"]
    if fact.get("defaults"):
        rule["defaults"] = fact["defaults"]
    for key in COPIED:
        if fact.get(key):
            rule[key] = fact[key]
    made = conditions(token, fact, overlay)
    if made:
        rule["force_new_if"] = made
    named = overlay["autoname"].get(token)
    if named is None and inputs.get("name", {}).get("type") == "string":
        named = {"property": "name", "max": 255}
    if named:
        rule["autoname"] = named
    if token in overlay["delete_before_replace"]:
        rule["delete_before_replace"] = True
    for key in ("sets", "suppress", "strings", "ranges", "formats", "dropped_when"):
        found = overlay.get(key, {}).get(token) or fact.get(key)
        if found:
            rule[key] = found
    correct(token, rule, corrections, overlay)
    if token in schemas:
        provider_schema.merge(rule, schemas[token])
    return rule, differences


def main() -> None:
    """Write the data file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=Path, required=True)
    folder = parser.parse_args().facts
    facts = json.loads((folder / "resources.json").read_text())
    corrections = json.loads((folder / "google_corrections.json").read_text())
    overlay = yaml.safe_load((HERE / "google_overlay.yaml").read_text())
    schemas = json.loads((HERE / "google_provider_schema.json").read_text())
    types: dict[str, Any] = {}
    differences: list[str] = []
    remembered = {k: {**v, "confidence": "memory"} for k, v in overlay["extra_types"].items()}
    for token, fact in {**facts["gcp"], **remembered}.items():
        if token.startswith("_"):
            continue
        types[token], found = build_type(token, fact, overlay, corrections, schemas["types"])
        differences += found
    meta = {
        "about": "Rules per Google type of the embedded datacentre; built by sim/tools/build_google_rules.py",
        "sdk": f"pulumi_gcp {facts['_meta']['sdk']['pulumi_gcp']}",
        "source": facts["_meta"]["gcp_source"],
        "schemas": schemas["_meta"]["source"],
        "bridge_and_corrections": "sim/tools/google_overlay.yaml",
    }
    lines = [f"{json.dumps(token)}: {json.dumps(rule, sort_keys=True)}" for token, rule in sorted(types.items())]
    provider = introspect.properties(pulumi_gcp.ProviderArgs)
    provider = {k: v for k, v in provider.items() if not k.endswith("CustomEndpoint")}
    head = f'{{"_meta": {json.dumps(meta)},\n"provider": {json.dumps(provider, sort_keys=True)},\n"types": {{\n'
    OUT.write_text(head + ",\n".join(lines) + "\n}}\n")
    print(f"{len(types)} types, {OUT.stat().st_size // 1024} KiB; {len(corrections)} corrections applied; "
          f"differences between SDK and facts: {len(differences)}")  # fmt: skip
    for line in differences:
        print(" ", line)


if __name__ == "__main__":
    main()
