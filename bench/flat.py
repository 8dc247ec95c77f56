"""Writes the flat program of a stack: one call a resource, as someone would write it by hand who needs this stack only.

The yardstick of `python -m bench flat`: same resources, inputs, references, providers and SDK modules, and none of what
the toolkit adds (no spec, plan, checks or components). Made from the stack's own state, so that it cannot fall behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

# What a provider's Check adds by itself.
COMPUTED = {"__defaults", "__internal", "tagsAll", "effectiveLabels", "pulumiLabels"}
# Outputs that many things share by chance.
COMMON = {"region", "capacityType", "project", "location"}
SHORTEST = 6  # a value that is found inside a text must be longer than chance
HEAD = '''"""Flat program of one stack, written by bench/flat.py."""

import pulumi
{imports}
SDK = [{modules}]  # what a program by hand calls, loaded as it is there


class R(pulumi.CustomResource):
    def __init__(self, kind, name, props, outs, **opts):
        super().__init__(kind, name, {{**dict.fromkeys(outs), **props}}, pulumi.ResourceOptions(**opts))


def out(resource, *path):
    def walk(value):
        for step in path[1:]:
            value = value[step]
        return value
    return resource.id if path == ("id",) else pulumi.Output.from_input(getattr(resource, path[0])).apply(walk)


def text(*parts):
    return pulumi.Output.concat(*parts)


'''
Found = list[tuple[str, str, tuple[str | int, ...]]]  # value, variable, where in the outputs


def _sdk(kinds: set[str]) -> tuple[list[str], list[str]]:
    """Packages to import and SDK classes that a hand-written program names, which loads their modules."""
    packages, names = set(), set()
    for kind in kinds:
        package, module, name = kind.split(":")
        if package == "pulumi":
            continue
        packages.add(f"pulumi_{package}")
        module, _, version = module.partition("/")
        if package == "kubernetes":
            group, dot, domain = module.partition(".")
            if (dot and not domain.endswith(("k8s.io", "sh"))) or group == "kueue":  # an object of someone's CRD
                module, name = "apiextensions", "CustomResource"
            else:
                module = f"{group}.{version}"
        names.add(f"pulumi_{package}.{module}.{name}" if module != "index" else f"pulumi_{package}.{name}")
    return sorted(packages), sorted(names)


def program(export: dict[str, Any]) -> str:
    """Python source. `export`: `pulumi stack export --show-secrets`."""
    resources = export["deployment"]["resources"]
    kept = [r for r in resources if r.get("custom") and not r["type"].startswith("pulumi:providers:pulumi")]
    variables = {r["urn"]: f"r{i}" for i, r in enumerate(kept)}
    packages, names = _sdk({r["type"] for r in kept})
    lines = [HEAD.format(imports="".join(f"import {p}\n" for p in packages), modules=", ".join(names))]
    wanted: dict[str, set[str]] = {}
    bodies = []
    for one in kept:
        near = [u for u in one.get("dependencies", []) if u in variables]
        known = sorted(_values([r for r in kept if r["urn"] in near], variables), key=lambda f: -len(f[0]))
        body = _expression({k: v for k, v in one["inputs"].items() if k not in COMPUTED}, known, wanted, one["inputs"])
        bodies.append((one, body, near))
    for one, body, near in bodies:
        name = variables[one["urn"]]
        options = [f"depends_on=[{', '.join(variables[u] for u in near)}]"] if near else []
        provider = one.get("provider", "").rpartition("::")[0]
        options += [f"provider={variables[provider]}"] if provider in variables else []
        outs = sorted(wanted.get(name, set()) - {"id"})
        kind, label = one["type"], one["urn"].rpartition("::")[2]
        if kind.startswith("pulumi:providers:"):
            package = kind.rpartition(":")[2]
            version = json.dumps(one["inputs"].get("version") or one.get("outputs", {}).get("version"))
            options = [repr(package), repr(label), body, f"pulumi.ResourceOptions(version={version})"]
            lines.append(f"{name} = pulumi.ProviderResource({', '.join(options)})")
            continue
        lines.append(f"{name} = R({', '.join([repr(kind), repr(label), body, repr(outs), *options])})")
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


def _expression(value: Any, known: Found, wanted: dict[str, set[str]], inside: Any) -> str:
    if isinstance(value, dict):
        if "plaintext" in value and len(value) == 2:  # a secret, shown
            return f"pulumi.Output.secret({_expression(json.loads(value['plaintext']), known, wanted, None)})"
        gone = {*COMPUTED, *(inside.get("__defaults", []) if isinstance(inside, dict) else [])}
        rows = [f"{k!r}: {_expression(v, known, wanted, v)}" for k, v in value.items() if k not in gone]
        return "{" + ", ".join(rows) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_expression(v, known, wanted, v) for v in value) + "]"
    if isinstance(value, str):
        return _text(value, known, wanted)
    return repr(value)


def _text(value: str, known: Found, wanted: dict[str, set[str]]) -> str:
    for found, name, path in known:
        if found and found in value and (found == value or len(found) >= SHORTEST):
            wanted.setdefault(name, set()).add(str(path[0]))
            reference = f"out({', '.join([name, *(repr(p) for p in path)])})"
            if found == value:
                return reference
            before, _, after = value.partition(found)
            parts = [_text(before, known, wanted), reference, _text(after, known, wanted)]
            return f"text({', '.join(p for p in parts if p != repr(''))})"
    return repr(value)
