"""Writes the flat program of a stack: one call a resource, as someone would write it by hand who needs this stack only.

The yardstick of `python -m bench flat`: same resources, inputs, references, providers and SDK classes, and none of what
the toolkit adds (no spec, plan, checks or components). Made from the stack's own state, so that it cannot fall behind.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from pulumi._types import resource_pulumi_to_py_names

# What a provider's Check adds by itself.
COMPUTED = {"__defaults", "__internal", "tagsAll", "effectiveLabels", "pulumiLabels"}
# Outputs that many things share by chance.
COMMON = {"region", "capacityType", "project", "location"}
SHORTEST = 6  # a value that is found inside a text must be longer than chance
HEAD = '''"""Flat program of one stack, written by bench/flat.py."""

import pulumi
{imports}

def out(resource, first, *path):
    def walk(value):
        for step, snake in path:
            value = value[snake if isinstance(value, dict) and snake in value else step]
        return value
    return pulumi.Output.from_input(getattr(resource, first)).apply(walk) if path else getattr(resource, first)


def text(*parts):
    return pulumi.Output.concat(*parts)


'''
Found = list[tuple[str, str, tuple[str | int, ...]]]  # value, variable, where in the outputs
NameOf = Callable[[str, str], str]  # variable, Pulumi's name of a property -> Python's


def _sdk(kind: str) -> str:
    """The SDK's class of a type, as a program by hand names it."""
    package, module, name = kind.split(":")
    module, _, version = module.partition("/")
    if package == "kubernetes":
        group, dot, domain = module.partition(".")
        if (dot and not domain.endswith(("k8s.io", "sh"))) or group == "kueue":  # an object of someone's CRD
            return "pulumi_kubernetes.apiextensions.CustomResource"
        module = f"{group}.{version}"
    return f"pulumi_{package}.{module}.{name}" if module != "index" else f"pulumi_{package}.{name}"


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _names(sdk: str) -> dict[str, str]:
    """Pulumi's names of a class' properties -> Python's."""
    package, _, rest = sdk.partition(".")
    found: Any = importlib.import_module(package)
    for part in rest.split("."):
        found = getattr(found, part)
    return dict(resource_pulumi_to_py_names(found))


def program(export: dict[str, Any]) -> str:
    """Python source. `export`: `pulumi stack export --show-secrets`."""
    resources = export["deployment"]["resources"]
    kept = [r for r in resources if r.get("custom") and not r["type"].startswith("pulumi:providers:pulumi")]
    variables = {r["urn"]: f"r{i}" for i, r in enumerate(kept)}
    sdk = {r["type"]: _sdk(r["type"]) for r in kept if not r["type"].startswith("pulumi:")}
    python = {kind: _names(name) for kind, name in sdk.items()}
    kinds = {variables[r["urn"]]: r["type"] for r in kept}
    lines = [HEAD.format(imports="".join(f"import {p}\n" for p in sorted({n.split(".")[0] for n in sdk.values()})))]

    def attribute(variable: str, name: str) -> str:
        return python.get(kinds[variable], {}).get(name) or _snake(name)

    for one in kept:
        near = [u for u in one.get("dependencies", []) if u in variables]
        known = sorted(_values([r for r in kept if r["urn"] in near], variables), key=lambda f: -len(f[0]))
        options = [f"depends_on=[{', '.join(variables[u] for u in near)}]"] if near else []
        provider = one.get("provider", "").rpartition("::")[0]
        options += [f"provider={variables[provider]}"] if provider in variables else []
        kind, label, name = one["type"], one["urn"].rpartition("::")[2], variables[one["urn"]]
        inputs = {k: v for k, v in one["inputs"].items() if k not in {*COMPUTED, *_defaulted(one)}}
        if kind.startswith("pulumi:providers:"):
            body = _expression(one["inputs"], known, attribute, one["inputs"])
            version = json.dumps(one["inputs"].get("version") or one.get("outputs", {}).get("version"))
            words = [repr(kind.rpartition(":")[2]), repr(label), body, f"pulumi.ResourceOptions(version={version})"]
            lines.append(f"{name} = pulumi.ProviderResource({', '.join(words)})")
            continue
        words = [f"{python[kind].get(k) or _snake(k)}={_expression(v, known, attribute, v)}" for k, v in inputs.items()]
        words.append(f"opts=pulumi.ResourceOptions({', '.join(options)})")
        lines.append(f"{name} = {sdk[kind]}({', '.join([repr(label), *words])})")
    return "\n".join(lines) + "\n"


def _values(resources: list[dict[str, Any]], variables: dict[str, str]) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Texts by which others may name a resource."""
    for one in resources:
        name = variables[one["urn"]]
        if isinstance(one.get("id"), str):
            yield one["id"], name, ("id",)
        written = {
            text for key, value in one["inputs"].items() if key not in _defaulted(one) for text, _ in _texts(value, ())
        }
        for key, value in one.get("outputs", {}).items():
            if key.startswith("__") or key in COMPUTED | COMMON:
                continue
            yield from ((text, name, path) for text, path in _texts(value, (key,)) if text not in written)


def _defaulted(one: dict[str, Any]) -> list[str]:
    return list(one["inputs"].get("__defaults", []))


def _texts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    if isinstance(value, str) and len(value) >= SHORTEST:
        yield value, path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _texts(inner, (*path, i))


def _expression(value: Any, known: Found, name_of: NameOf, inside: Any) -> str:
    if isinstance(value, dict):
        if "plaintext" in value and len(value) == 2:  # a secret, shown
            return f"pulumi.Output.secret({_expression(json.loads(value['plaintext']), known, name_of, None)})"
        gone = {*COMPUTED, *(inside.get("__defaults", []) if isinstance(inside, dict) else [])}
        rows = [f"{k!r}: {_expression(v, known, name_of, v)}" for k, v in value.items() if k not in gone]
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_expression(v, known, name_of, v) for v in value) + "]"
    if isinstance(value, str):
        return _text(value, known, name_of)
    return repr(value)


def _text(value: str, known: Found, name_of: NameOf) -> str:
    for found, name, path in known:
        if found and found in value and (found == value or len(found) >= SHORTEST):
            steps = [f"({p!r}, {_snake(str(p))!r})" for p in path[1:]]
            reference = f"out({', '.join([name, repr(name_of(name, str(path[0]))), *steps])})"
            if found == value:
                return reference
            before, _, after = value.partition(found)
            parts = [_text(before, known, name_of), reference, _text(after, known, name_of)]
            return f"text({', '.join(p for p in parts if p != repr(''))})"
    return repr(value)
