"""Entries of the state for adopted resources: the program's inputs, the cloud's ids, outputs as the provider read them.

Why not `pulumi import`, or `import_` in the program: an import keeps the inputs that the provider derives from the
cloud. It does not know which names were drawn, nor what no API returns: the next `up` would replace roles, groups and
the cluster itself (docs/adr/0005).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from accelerator_fleet_recover.model import IS_SECRET, RELEASE, SIGNATURE, UNKNOWN, Read, Wanted, has_unknown, is_hidden

# What the provider's Read answers without having asked anybody: there the program's word is all there is.
# https://github.com/hashicorp/terraform-provider-aws internal/service/eks/cluster.go (resourceClusterRead)
UNREAD: Final = {
    "aws:eks/cluster:Cluster": ("bootstrapSelfManagedAddons", "accessConfig.bootstrapClusterCreatorAdminPermissions")
}
# What Helm keeps of a release; the rest of its inputs (chart's place, timeout …) nobody but the program knows.
IN_RELEASE: Final = ("values", "version", "name", "namespace")


def entry(wanted: Wanted, read: Read, names: Mapping[str, str], providers: Mapping[str, str]) -> dict[str, Any]:
    """The state of one adopted resource. `names`: drawn names, by property; `providers`: URN -> id."""
    inputs = {k: v for k, v in _known(dict(wanted.inputs), read).items() if k not in names}
    inputs |= names
    outputs = _filled(dict(read.outputs), inputs)
    for path in UNREAD.get(wanted.type, ()):
        _put(outputs, path, _at(inputs, path))
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    made = {
        **{k: v for k, v in wanted.state.items() if k not in ("stackTrace",)},
        "id": read.id,
        "inputs": without_secrets(inputs),
        "outputs": without_secrets(outputs),
        "created": now,
        "modified": now,
    }
    reference = providers.get(wanted.provider)
    if reference is not None:
        made["provider"] = f"{wanted.provider}::{reference}"
    if wanted.type == RELEASE:
        _as_release(made, read)
    elif wanted.type.startswith("kubernetes:"):
        _as_kubernetes(made)
    return made


def provider(wanted: Wanted) -> dict[str, Any]:
    """The state of a provider that the state does not have; the engine makes no call for it."""
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    state = {k: v for k, v in wanted.state.items() if k not in ("stackTrace",)}
    outputs = {k: v for k, v in wanted.inputs.items() if k != "__internal"}
    return {**state, "id": str(uuid.uuid4()), "outputs": outputs, "created": now, "modified": now}


def component(wanted: Wanted) -> dict[str, Any]:
    """The state of a component; what it registers as outputs comes with the next `up`."""
    state = {k: v for k, v in wanted.state.items() if k not in ("stackTrace",)}
    return {**state, "inputs": {}, "outputs": {}}


def added(exported: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The exported state with more resources, each after what it needs."""
    deployment = dict(exported["deployment"])
    resources = list(deployment.get("resources") or [])
    there = {r["urn"] for r in resources}
    left = {e["urn"]: dict(e) for e in entries if e["urn"] not in there}
    known = there | left.keys()
    for one in left.values():
        _drop_unknown_urns(one, known)
    while left:
        ready = [urn for urn, one in left.items() if not (_needs(one) - {urn}) & left.keys()]
        for urn in ready or list(left)[:1]:
            resources.append(left.pop(urn))
    deployment["resources"] = resources
    return {**exported, "deployment": deployment}


def _needs(one: Mapping[str, Any]) -> set[str]:
    provider_urn = str(one.get("provider") or "").rpartition("::")[0]
    return {*(one.get("dependencies") or []), one.get("parent") or "", provider_urn, one.get("deletedWith") or ""}


def _drop_unknown_urns(one: dict[str, Any], known: set[str]) -> None:
    """The state may not name what it does not have; the next `up` adds these dependencies when it makes them."""
    if "dependencies" in one:
        one["dependencies"] = [u for u in one["dependencies"] if u in known]
    if "propertyDependencies" in one:
        pairs = one["propertyDependencies"].items()
        one["propertyDependencies"] = {k: [u for u in urns or [] if u in known] for k, urns in pairs}
    if one.get("deletedWith") and one["deletedWith"] not in known:
        del one["deletedWith"]


def _known(checked: dict[str, Any], read: Read) -> dict[str, Any]:
    """The program's inputs as the provider checked them; what was unknown then, from later in that run or the cloud."""
    made = {}
    for key, value in checked.items():
        found = _merged(value, read.asked.get(key), read.outputs.get(key))
        if found is not None and not has_unknown(found):
            made[key] = found
    return made


def _merged(checked: Any, asked: Any, found: Any) -> Any:
    """`asked` wins where it is known: names of others that were drawn for the first preview stand right in it."""
    if isinstance(checked, dict):
        lower = asked if isinstance(asked, dict) else {}
        there = found if isinstance(found, dict) else {}
        pairs = {k: _merged(v, lower.get(k), there.get(k)) for k, v in checked.items()}
        return {k: v for k, v in pairs.items() if v is not None}
    if isinstance(checked, list):
        given = asked if isinstance(asked, list) and len(asked) == len(checked) else [None] * len(checked)
        live = found if isinstance(found, list) and len(found) == len(checked) else [None] * len(checked)
        return [_merged(c, a, f) for c, a, f in zip(checked, given, live, strict=True)]
    if isinstance(checked, str):
        if isinstance(asked, str) and asked not in UNKNOWN:
            return asked
        if checked in UNKNOWN or is_hidden(checked):
            return found if asked is None or has_unknown(asked) or is_hidden(asked) else asked
    return checked


def _filled(outputs: dict[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs with the program's values where the provider read none: no API returns them, only a state has them."""
    for key, value in inputs.items():
        if key.startswith("__"):
            continue
        if outputs.get(key) is None:
            outputs[key] = value
        elif isinstance(value, dict) and isinstance(outputs[key], dict):
            outputs[key] = _filled(dict(outputs[key]), value)
    return outputs


def _at(values: Mapping[str, Any], path: str) -> Any:
    found: Any = values
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _put(values: dict[str, Any], path: str, value: Any) -> None:
    head, _, rest = path.partition(".")
    if value is None:
        return
    if rest and isinstance(values.get(head), dict):
        values[head] = dict(values[head])
        _put(values[head], rest, value)
    elif not rest:
        values[head] = value


def without_secrets(value: Any) -> Any:
    """A value without what a preview hides; a refresh brings it back, encrypted."""
    if isinstance(value, Mapping):
        return {k: without_secrets(v) for k, v in value.items() if not is_hidden(v)}
    if isinstance(value, list):
        return [without_secrets(v) for v in value if not is_hidden(v)]
    return value


def _as_release(made: dict[str, Any], read: Read) -> None:
    """A Helm release as the provider would have written it; what Helm has otherwise shows in the next preview."""
    kept = {k: read.inputs[k] for k in IN_RELEASE if read.inputs.get(k) is not None}
    made["inputs"] = {**made["inputs"], **{k: v for k, v in kept.items() if not _same(v, made["inputs"].get(k))}}
    secret = {SIGNATURE: IS_SECRET, "plaintext": json.dumps(made["inputs"])}
    made["outputs"] = {**made["outputs"], **made["inputs"], "__inputs": secret}


def _same(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def _as_kubernetes(made: dict[str, Any]) -> None:
    """What the Kubernetes provider compares with: the program's inputs with the live values, and who applied them."""
    outputs = dict(made["outputs"])
    made["inputs"] = pruned(made["inputs"], outputs)
    manager = field_manager(outputs)
    made["outputs"] = {**outputs, "__inputs": made["inputs"], **({"__fieldManager": manager} if manager else {})}


def pruned(asked: Any, live: Any) -> Any:
    """The live values of what the program asks for: a difference from the program shows in the next preview."""
    if isinstance(asked, Mapping) and isinstance(live, Mapping):
        return {k: pruned(v, live[k]) if k in live else v for k, v in asked.items()}
    if isinstance(asked, list) and isinstance(live, list) and len(asked) == len(live):
        return [pruned(a, v) for a, v in zip(asked, live, strict=True)]
    if isinstance(live, (Mapping, list)) or live is None:
        return asked if live is None else live
    return asked if str(asked) == str(live) else live


def field_manager(outputs: Mapping[str, Any]) -> str | None:
    """The Pulumi that applied an object: a later change comes under the same name, or the API server refuses it."""
    metadata = outputs.get("metadata") or {}
    names = [str(m.get("manager", "")) for m in metadata.get("managedFields") or [] if m.get("operation") == "Apply"]
    return next((n for n in names if n.startswith("pulumi-kubernetes")), None)
