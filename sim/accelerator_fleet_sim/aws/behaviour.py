"""How one resource type behaves in the cloud: the part that data says. Types with more to them subclass it."""

from __future__ import annotations

import re
import secrets
import time
from typing import Any

from ..core.plan import planned_update
from ..core.rules import TypeRules
from ..core.values import UNKNOWN, get_all
from ..daemon.store import Resource
from .errors import AwsError
from .scope import CLOUD, Scope

ZERO: dict[str, Any] = {"string": "", "list": [], "map": {}, "boolean": False, "integer": 0, "number": 0}


class Behaviour:
    """One type. `row` is its entry in data/behaviour.json."""

    def __init__(self, token: str, row: dict[str, Any], rules: TypeRules, references: dict[str, Any]) -> None:
        self.token, self.row, self.rules, self.references = token, row, rules, references
        self.noun: str = row["noun"]
        self.service: str = row["service"]
        self.is_global: bool = token.startswith("aws:iam/")

    def own(self, resource: Resource) -> str:
        """The owner of what came with a resource: `vpc:vpc-0…`."""
        return f"{self.token.rpartition(':')[2].lower()}:{resource.id}"

    # -- what subclasses add ----------------------------------------------------------------------------------------
    def validate(self, scope: Scope, inputs: dict[str, Any]) -> None:
        """Refuse a create that the API refuses; AwsError."""

    def complete(self, scope: Scope, resource: Resource) -> None:
        """Fill in outputs that only the cloud knows, and make what comes with the resource."""

    def settle(self, scope: Scope, resource: Resource) -> None:
        """What happens when a create's time is over. Slow work is allowed. AwsError or Unhealthy."""

    def validate_update(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> None:
        """Refuse an update."""

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        """After inputs and outputs of the resource changed; `before` are the old outputs."""

    def settle_update(self, scope: Scope, resource: Resource) -> None:
        """What happens when an update's time is over."""

    def validate_delete(self, scope: Scope, resource: Resource) -> None:
        """Refuse a delete beyond what `used_by` says."""

    def deleted(self, scope: Scope, resource: Resource) -> None:
        """When a delete's time is over: take along what came with the resource. Slow work is allowed."""

    def tick(self, scope: Scope, resource: Resource) -> None:
        """A time has come that this behaviour asked for by `Scope.at`; it may have changed since."""

    def read(self, scope: Scope, resource: Resource) -> dict[str, Any]:
        """Outputs as the API gives them now."""
        return resource.outputs

    def imported(self, scope: Scope, identity: str) -> str:
        """The id behind what people give to import (the provider's importer). AwsError for another form."""
        return identity

    def unread(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Outputs of an import: without what the provider's Read does not set and only a state has."""
        left = dict(outputs)
        for path in self.row.get("unread", []):
            name, _, inner = path.partition(".")
            if inner and isinstance(left.get(name), dict):
                left[name] = {k: v for k, v in left[name].items() if k != inner}
            elif not inner:
                left.pop(name, None)
        return left

    def seconds(self, scope: Scope, kind: str, resource: Resource, before: dict[str, Any] | None = None) -> float:
        """Simulated seconds of a create, update or delete."""
        what = self.row.get("seconds", {}).get(kind)
        return scope.catalog.seconds(what) if what else scope.catalog.seconds("default")

    # -- the generic part -------------------------------------------------------------------------------------------
    def create(self, scope: Scope, inputs: dict[str, Any]) -> Resource:
        """Check and make the resource; nothing is stored when it raises."""
        named = self.with_name(inputs)
        self.check_tags(inputs)
        self.check_references(scope, inputs)
        self.check_unique(scope, named)
        self.validate(scope, named)
        identity = self.identity(scope, named)
        region = "" if self.is_global else scope.region
        resource = Resource(CLOUD, scope.account, region, self.token, identity, inputs=inputs,
                            created=scope.world.clock.now())  # fmt: skip
        resource.outputs = self.first_outputs(scope, identity, named)
        self.complete(scope, resource)
        return resource

    def with_name(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs with the name that the provider makes of a prefix: time and counter, 26 digits."""
        rule = self.rules.autoname
        if rule is None or inputs.get(rule["property"]):
            return inputs
        partners = [p for group in self.rules.lists("conflicts") if rule["property"] in group for p in group]
        prefix = next((inputs[p] for p in partners if p.endswith("Prefix") and inputs.get(p)), "terraform-")
        suffix = f"{time.strftime('%Y%m%d%H%M%S')}{time.time_ns() % 10**12:012d}"
        return {**inputs, rule["property"]: f"{prefix}{suffix}"}

    def first_outputs(self, scope: Scope, identity: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs, templates of the data, and empty values for the rest that the provider always sets."""
        out = dict(inputs)
        words = {"id": identity, "account": scope.account, "region": scope.region, **_words(inputs)}
        for name, template in self.row.get("outputs", {}).items():
            if out.get(name) is None:
                out[name] = render(template, words)
        if out.get("arn") is None and self.rules.data.get("arn") and "arn" in self.rules.outputs:
            out["arn"] = render(self.rules.data["arn"], {**words, "path": inputs.get("path", "/")})
        for name, kind in self.rules.outputs.items():
            if name == "region":
                out["region"] = scope.region
            shape = self.rules.inputs.get(name)
            if name not in out and kind in ZERO and (shape is None or shape.get("computed")):
                out[name] = ZERO[kind]
        return out

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        """The id as the provider knows it."""
        return str(render(self.row["id"], {"account": scope.account, "region": scope.region, **_words(inputs)}))

    def change(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> dict[str, Any]:
        """Check and carry out an update on the object; gives the old outputs."""
        self.check_tags(inputs)
        self.check_references(scope, inputs)
        self.validate_update(scope, resource, inputs)
        before = resource.outputs
        planned = planned_update(self.rules, before, resource.inputs, inputs, scope.region)
        resource.outputs = {k: v if v is not UNKNOWN else before.get(k) for k, v in planned.items()}
        for name in self.row.get("silent", []):  # the provider plans an update and calls nothing
            resource.outputs.pop(name, None)
            resource.outputs |= {name: before[name]} if name in before else {}
        resource.inputs = inputs
        self.updated(scope, resource, before)
        return before

    def check_delete(self, scope: Scope, resource: Resource) -> None:
        """Refuse a delete while others use the resource."""
        for use in self.row.get("used_by", []):
            key = resource.outputs.get(use["key"]) if "key" in use else resource.id
            for other in scope.all(use["type"]):
                if other.owner == self.own(resource) or other.id == resource.id:
                    continue
                if key in get_all(other.outputs, use["path"]):
                    raise AwsError(
                        use.get("code", self.row.get("in_use", ["DependencyViolation", ""])[0]),
                        render(use.get("message") or self.row["in_use"][1], {"id": resource.id, "other": other.id}),
                        use.get("status", 400),
                    )
        self.validate_delete(scope, resource)

    def check_references(self, scope: Scope, inputs: dict[str, Any]) -> None:
        """Everything named must exist."""
        for path, kind in self.row.get("refs", {}).items():
            for value in get_all(inputs, path):
                self.reference(scope, kind, value)

    def reference(self, scope: Scope, kind: str, value: Any) -> Resource:
        """The resource that a value names; the API's error when there is none."""
        row = self.references[kind]
        found: Resource | None
        if "by" in row:
            found = next((r for r in scope.all(row["type"]) if r.outputs.get(row["by"]) == value), None)
        else:
            found = scope.find(row["type"], value)
        if found is None:
            override = self.row.get("missing", {}).get(kind)
            code, message = override or (row["code"], row["message"])
            raise AwsError(code, render(message, {"value": value}), row.get("status", 400))
        return found

    def check_unique(self, scope: Scope, inputs: dict[str, Any]) -> None:
        """Names that the API takes once."""
        unique = self.row.get("unique")
        if not unique:
            return
        key = [inputs.get(p) for p in unique["keys"]]
        if any(k is None for k in key[:1]):
            return
        for other in scope.all(self.token):
            if [other.outputs.get(p) for p in unique["keys"]] == key:
                words = {**_words(inputs), "id": other.id}
                raise AwsError(unique["code"], render(unique["message"], words), unique.get("status", 400))

    @staticmethod
    def check_tags(inputs: dict[str, Any]) -> None:
        """AWS's limits on tags."""
        tags = inputs.get("tagsAll") or {}
        if not isinstance(tags, dict):
            return
        if len(tags) > 50:
            raise AwsError("TagLimitExceeded", f"More than 50 tags specified ({len(tags)})")
        for key, value in tags.items():
            if key.lower().startswith("aws:"):
                raise AwsError(
                    "InvalidParameterValue",
                    f"Value ( {key} ) for parameter key is invalid. Tag keys starting with 'aws:' are reserved for "
                    "internal use",
                )
            if not 1 <= len(key) <= 128 or len(value) > 256:
                raise AwsError(
                    "InvalidParameterValue",
                    f"Tag {key!r}: keys have 1 to 128 characters, values at most 256 ({len(key)}, {len(value)})",
                )


def _words(inputs: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in inputs.items() if isinstance(v, (str, int))}


_FIELD = re.compile(r"\{(\w+)\}")


def render(template: Any, words: dict[str, Any]) -> Any:
    """A template with its words; `{hexN}` is N random hexadecimal digits. What is no string stays."""
    if not isinstance(template, str):
        return template

    def word(match: re.Match[str]) -> str:
        name = match.group(1)
        if name.startswith("hex") and name[3:].isdigit():
            return secrets.token_hex(int(name[3:]))[: int(name[3:])]
        if name == "uuid":
            return Scope.uuid()
        return str(words.get(name, ""))

    return _FIELD.sub(word, template)
