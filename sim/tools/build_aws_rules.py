"""Builds accelerator_fleet_sim/aws/data/rules.json from the facts, the installed SDK and the overlay (build time only).

    python sim/tools/build_aws_rules.py --facts FOLDER

FOLDER holds `resources.json`; `aws_provider_schema.json` beside this script is what the provider's own schemas say of
each type (provider_schema.py adds it; it is newer than the facts and wins, but for lists of values). Shapes come from
introspection of pulumi_aws and are compared with the facts; force-new rules, enums, conflicts and ranges come from the
facts; the overlay adds what Pulumi's bridge does.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import pulumi_aws
import yaml

HERE = Path(__file__).parent
aws_introspect = importlib.import_module("aws_introspect")  # beside this script
provider_schema = importlib.import_module("provider_schema")
OUT = HERE.parent / "accelerator_fleet_sim" / "aws" / "data" / "rules.json"
POLICIES = OUT.parent / "managed_policies.json"
COPIED = (
    "force_new", "force_new_presence", "inferred_paths", "unknown_paths", "enums", "int_enums", "ranges", "max_items",
    "min_items", "cidr_prefix_ranges", "conflicts", "exactly_one_of", "exactly_one_of_if_present", "at_least_one_of",
    "required_with", "rules", "arn", "source",
)  # fmt: skip


FROM_OVERLAY = (
    "sets", "json", "cidrs", "strings", "formats", "unknown_on_change", "nested_computed", "divisors", "not_zero",
    "suppress", "planned_defaults", "optional_blocks", "explicit_zeros",
)  # fmt: skip


def mark_computed(inputs: dict[str, Any], outputs: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Mark inputs that the provider fills when they are unset (optional as input, never absent as output)."""
    for name, shape in inputs.items():
        out = outputs.get(name)
        if out and out.get("required") and not shape.get("required") and name not in defaults:
            shape["computed"] = True


def check_shapes(token: str, inputs: dict[str, Any], fact: dict[str, Any]) -> list[str]:
    """Differences between the SDK read now and the facts."""
    found = []
    want = {k: bool(v["required"]) for k, v in fact["inputs"].items()}
    got = {k: bool(v.get("required")) for k, v in inputs.items()}
    for name in sorted(want.keys() | got.keys()):
        if want.get(name) != got.get(name):
            found.append(f"{token}.{name}: facts {want.get(name)}, SDK {got.get(name)}")
    return found


def conditions(token: str, fact: dict[str, Any], overlay: dict[str, Any]) -> list[dict[str, Any]]:
    """`force_new_if` with a machine-readable condition; a text without one is an error."""
    made = []
    for rule in fact["force_new_if"]:
        if rule["path"] == "region":
            made.append({"path": "region", "op": "always"})
            continue
        condition = overlay["conditions"].get(token, {}).get(rule["path"])
        if condition is None:
            raise SystemExit(f"{token}.{rule['path']}: no condition for {rule['when']!r} in the overlay")
        made.append({"path": rule["path"], **condition, "when": rule["when"], "confidence": rule["confidence"]})
    return made


def autoname(token: str, inputs: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any] | None:
    """The property that the bridge names by itself."""
    special: dict[str, Any] | None = overlay["autoname"].get(token)
    if special:
        return {k: v for k, v in special.items() if k != "source"}
    if inputs.get("name", {}).get("type") == "string":
        return {"property": "name", "max": 255}
    return None


def build_type(
    token: str, fact: dict[str, Any], overlay: dict[str, Any], schemas: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The rules of one type, and differences found."""
    inputs, outputs = aws_introspect.resource(token, fact["module"], fact["class"])
    defaults = {**fact.get("defaults", {}), **overlay["defaults"].get(token, {})}
    mark_computed(inputs, outputs, defaults)
    differences = check_shapes(token, inputs, fact)
    rule: dict[str, Any] = {"inputs": inputs, "outputs": {k: v["type"] for k, v in sorted(outputs.items())}}
    if defaults:
        rule["defaults"] = defaults
    for key in COPIED:
        if fact.get(key):
            rule[key] = fact[key]
    made = conditions(token, fact, overlay)
    if made:
        rule["force_new_if"] = made
    for path, condition in overlay["also_conditions"].get(token, {}).items():
        rule["force_new"] = [p for p in rule["force_new"] if p != path]
        rule.setdefault("force_new_if", []).append({"path": path, **condition})
    named = autoname(token, inputs, overlay)
    if named:
        rule["autoname"] = named
    if token in overlay["delete_before_replace"]:
        rule["delete_before_replace"] = True
    for key in FROM_OVERLAY:
        if token in overlay[key]:
            rule[key] = overlay[key][token]
    for key, value in overlay["validators"].get(token, {}).items():  # beside those of the facts
        rule[key] = [*rule.get(key, []), *value] if isinstance(value, list) else {**rule.get(key, {}), **value}
    for group in overlay["not_conflicts"].get(token, []):
        rule["conflicts"].remove(group)
    for path in overlay["at_creation"].get(token, []):  # aws/plans.py refuses these, of a creation alone
        rule["rules"] = [r for r in rule["rules"] if path not in r.get("forbid", [])]
    if token in schemas:
        provider_schema.merge(rule, schemas[token])
    return rule, differences


def main() -> None:
    """Write the data file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=Path, required=True)
    folder = parser.parse_args().facts
    facts = json.loads((folder / "resources.json").read_text())
    overlay = yaml.safe_load((HERE / "aws_overlay.yaml").read_text())
    schemas = json.loads((HERE / "aws_provider_schema.json").read_text())
    types: dict[str, Any] = {}
    differences: list[str] = []
    for token, fact in {**facts["aws"], **overlay["types"]}.items():
        types[token], found = build_type(token, fact, overlay, schemas["types"])
        differences += found
    meta = {
        "about": "Rules per AWS type of the embedded datacentre; built by sim/tools/build_aws_rules.py, never by hand",
        "sdk": f"pulumi_aws {facts['_meta']['sdk']['pulumi_aws']}",
        "source": facts["_meta"]["aws_source"],
        "schemas": schemas["_meta"]["source"],
        "bridge": "sim/tools/aws_overlay.yaml",
    }
    lines = [f"{json.dumps(token)}: {json.dumps(rule, sort_keys=True)}" for token, rule in sorted(types.items())]
    provider = aws_introspect.properties(pulumi_aws.ProviderArgs)
    head = f'{{"_meta": {json.dumps(meta)},\n"provider": {json.dumps(provider, sort_keys=True)},\n"types": {{\n'
    OUT.write_text(head + ",\n".join(lines) + "\n}}\n")
    policies = sorted(p.value.removeprefix("arn:aws:iam::aws:policy/") for p in pulumi_aws.iam.ManagedPolicy)
    source = {"source": f"{meta['sdk']} iam.ManagedPolicy"}
    POLICIES.write_text(json.dumps({"_meta": source, "policies": policies}, indent=0) + "\n")
    print(
        f"{len(types)} types, {OUT.stat().st_size // 1024} KiB; differences between SDK and facts: {len(differences)}"
    )
    for line in differences:
        print(" ", line)


if __name__ == "__main__":
    main()
