"""How one Google resource type behaves: the generic part. Types with more to them subclass it."""

from __future__ import annotations

from typing import Any

from ..core.plan import planned_create, planned_update
from ..core.rules import TypeRules
from ..core.suppress import last, link_path
from ..core.values import UNKNOWN, Unknown, get_all
from ..daemon.store import Resource
from .errors import GoogleError
from .plans import Plans
from .scope import CLOUD, Scope

ZERO: dict[str, Any] = {"string": "", "list": [], "map": {}, "boolean": False, "integer": 0, "number": 0}


def known(value: Any) -> Any:
    """A value without what is still unknown."""
    if isinstance(value, dict):
        return {k: known(v) for k, v in value.items() if not isinstance(v, Unknown)}
    if isinstance(value, list):
        return [known(v) for v in value if not isinstance(v, Unknown)]
    return value


def over(defaults: Any, given: Any) -> Any:
    """What was given, with what the cloud fills in beneath it."""
    if given is None:
        return defaults
    if isinstance(defaults, dict) and isinstance(given, dict):
        return {k: over(defaults.get(k), given.get(k)) for k in defaults.keys() | given.keys()}
    return given


class Behaviour:
    """One type. `row` is its entry in data/behaviour.json: noun, seconds, used_by, exists."""

    def __init__(self, token: str, row: dict[str, Any], rules: TypeRules) -> None:
        self.token, self.row, self.rules = token, row, rules
        self.noun: str = row["noun"]

    # -- what subclasses add ----------------------------------------------------------------------------------------
    def validate(self, scope: Scope, inputs: dict[str, Any], old: Resource | None) -> None:
        """Refuse a create (`old` is None) or an update that the API refuses; GoogleError."""

    def complete(self, scope: Scope, resource: Resource) -> None:
        """Fill in outputs that only the cloud knows."""

    def settle(self, scope: Scope, resource: Resource) -> None:
        """When a create's time is over. Slow work is allowed. GoogleError or Unhealthy."""

    def updated(self, scope: Scope, resource: Resource, before: dict[str, Any]) -> None:
        """After inputs and outputs of the resource changed; `before` are the old outputs."""

    def settle_update(self, scope: Scope, resource: Resource) -> None:
        """When an update's time is over."""

    def validate_delete(self, scope: Scope, resource: Resource, state: dict[str, Any]) -> None:
        """Refuse a delete beyond what `used_by` says; `state` is what the engine remembers."""

    def deleted(self, scope: Scope, resource: Resource) -> None:
        """When a delete's time is over."""

    def seconds(self, scope: Scope, kind: str, resource: Resource, before: dict[str, Any] | None = None) -> float:
        """Simulated seconds of a create, update or delete."""
        return scope.catalog.seconds(self.row.get("seconds", {}).get(kind, "default"))

    # -- the generic part -------------------------------------------------------------------------------------------
    def words(self, scope: Scope, inputs: dict[str, Any]) -> dict[str, Any]:
        """What templates of ids and links may name; links become names."""
        found = {k: last(str(v)) for k, v in inputs.items() if isinstance(v, (str, int)) and not isinstance(v, bool)}
        found["project"] = inputs.get("project") or scope.project
        for key in ("region", "zone"):
            found.setdefault(key, scope.settings.get(key) or "")
        found.setdefault("location", inputs.get("zone") or found["zone"] or found["region"])
        return found

    def located(self, scope: Scope, inputs: dict[str, Any]) -> dict[str, Any]:
        """Inputs with the provider's own project, region and zone where none is given."""
        made = dict(inputs)
        if "project" in self.rules.inputs:
            made.setdefault("project", scope.project)
        if "region" in self.rules.inputs and not made.get("region"):
            made["region"] = scope.settings.get("region")
            if not made["region"]:
                raise GoogleError(400, "", "Cannot determine region: set in this resource, or set provider-level "
                                  "'region' or 'zone'.")  # fmt: skip
        for key in ("region", "zone"):
            if made.get(key):
                made[key] = last(str(made[key]))
        if made.get("region") and not scope.catalog.zones(made["region"]):
            raise GoogleError(400, "invalid", f"Invalid value for field 'region': '{made['region']}'. Unknown region.")
        if made.get("zone") and not scope.catalog.is_zone(made["zone"]):
            raise GoogleError(400, "invalid", f"Invalid value for field 'zone': '{made['zone']}'. Unknown zone.")
        return made

    def identity(self, scope: Scope, inputs: dict[str, Any]) -> str:
        """The id as the provider knows it."""
        return str(self.rules.data["id"]).format_map(_Words(self.words(scope, inputs)))

    def create(self, scope: Scope, inputs: dict[str, Any]) -> Resource:
        """Check and make the resource; nothing is stored when it raises."""
        located = self.located(scope, inputs)
        self.validate(scope, located, None)
        identity = self.identity(scope, located)
        if scope.find(self.token, identity) is not None:
            raise self.exists(identity)
        resource = Resource(CLOUD, scope.project, "", self.token, identity, inputs=inputs,
                            created=scope.world.clock.now())  # fmt: skip
        planned = planned_create(self.rules, located, "", Plans({**scope.settings, "project": scope.project}).customize)
        resource.outputs = known(planned)
        link = self.rules.data.get("arn")
        if link and "selfLink" in self.rules.outputs:
            resource.outputs["selfLink"] = str(link).format_map(_Words(self.words(scope, located)))
        if "creationTimestamp" in self.rules.outputs:
            resource.outputs["creationTimestamp"] = scope.iso()
        self.complete(scope, resource)
        for name, kind in self.rules.outputs.items():
            if name not in resource.outputs and name not in self.rules.inputs and kind in ZERO:
                resource.outputs[name] = ZERO[kind]
        return resource

    def exists(self, identity: str) -> GoogleError:
        """The API's answer for a name that is taken."""
        return GoogleError(409, "alreadyExists", f"The resource '{identity}' already exists")

    def change(self, scope: Scope, resource: Resource, inputs: dict[str, Any]) -> dict[str, Any]:
        """Check and carry out an update on the object; gives the old outputs."""
        located = self.located(scope, inputs)
        name = self.rules.autoname["property"] if self.rules.autoname else None
        if name and located.get(name) != resource.outputs.get(name):
            raise GoogleError(400, "invalid", f"{name} cannot be changed: {resource.outputs.get(name)}")
        self.validate(scope, located, resource)
        before = resource.outputs
        settings = {**scope.settings, "project": scope.project}
        planned = planned_update(self.rules, before, resource.inputs, inputs, "")
        Plans(settings).customize(self.rules, before, planned, inputs)
        resource.outputs = {k: v if v is not UNKNOWN else before.get(k) for k, v in planned.items()}
        for path in self.row.get("silent", []):  # the provider plans an update and calls nothing
            _restore(resource.outputs, before, path.split("."))
        resource.inputs = inputs
        self.updated(scope, resource, before)
        return before

    def check_delete(self, scope: Scope, resource: Resource, state: dict[str, Any]) -> None:
        """Refuse a delete while others use the resource."""
        if state.get("deletionPolicy") == "PREVENT":
            raise GoogleError(400, "", f"cannot destroy {self.row['tf']} without setting deletion_policy=\"DELETE\" or "
                              "\"ABANDON\" and running `pulumi up`")  # fmt: skip
        self.validate_delete(scope, resource, state)
        for use in self.row.get("used_by", []):
            for other in scope.all(use["type"]):
                used = [str(v) for v in get_all(other.outputs, use["path"])]
                if any(names_it(u, resource.id) for u in used) and self._near(resource, other):
                    raise self.in_use(resource, other)

    @staticmethod
    def _near(resource: Resource, other: Resource) -> bool:
        """A bare name means a thing of the same region."""
        one, two = resource.outputs.get("region"), other.outputs.get("region")
        return not one or not two or one == two

    def in_use(self, resource: Resource, other: Resource) -> GoogleError:
        """The API's answer when something uses the resource."""
        word = self.noun.lower()
        return GoogleError(
            400, "resourceInUseByAnotherResource",
            f"The {word} resource '{resource.id}' is already being used by '{other.id}'",
        )  # fmt: skip


def names_it(reference: str, identity: str) -> bool:
    """Whether a link, or a bare name, means the resource with that id."""
    return link_path(reference) == identity if "/" in reference else reference == last(identity)


class _Words(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return ""


def _restore(planned: dict[str, Any], before: dict[str, Any], path: list[str]) -> None:
    if len(path) == 1:
        planned.pop(path[0], None)
        planned |= {path[0]: before[path[0]]} if path[0] in before else {}
    elif isinstance(planned.get(path[0]), dict) and isinstance(before.get(path[0]), dict):
        planned[path[0]] = dict(planned[path[0]])
        _restore(planned[path[0]], before[path[0]], path[1:])
