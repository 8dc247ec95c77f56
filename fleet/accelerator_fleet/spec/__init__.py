"""The spec: what people write. `load` reads a file; `parse` takes plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from accelerator_fleet.errors import raise_all
from accelerator_fleet.spec.check import check
from accelerator_fleet.spec.extend import resolve
from accelerator_fleet.spec.model import FleetSpec, Origin, PoolSpec, SiteSpec, VolumeSpec
from accelerator_fleet.spec.problems import translate
from accelerator_fleet.spec.read import Tree
from accelerator_fleet.spec.secret import refuse_secrets

__all__ = ["FleetSpec", "PoolSpec", "SiteSpec", "VolumeSpec", "load", "parse"]


def load(path: Path) -> FleetSpec:
    """The spec in `path` with what it extends; the environment is the file's stem.

    Raises FleetError (several at once as FleetErrors) with file, line and path; checks everything that needs no
    catalogue.
    """
    tree = resolve(path)
    raise_all(refuse_secrets(tree))
    return _validated(tree, path.stem)


def parse(data: Mapping[str, object], env: str = "dev") -> FleetSpec:
    """A spec from plain data, as a component host passes it. Raises like `load`, without files and lines."""
    tree = _tree(data, "")
    raise_all(refuse_secrets(tree))
    return _validated(tree, env)


def _validated(tree: Tree, env: str) -> FleetSpec:
    try:
        spec = FleetSpec.model_validate(tree.plain())
    except ValidationError as e:
        raise_all(translate(e, tree))
        raise
    origins = {path: Origin(node.file, node.line, node.path) for path, node in tree.walk() if node.file}
    spec = spec.located(env, origins)
    check(spec)
    return spec


def _tree(value: object, path: str) -> Tree:
    if isinstance(value, Mapping):
        items = {str(k): _tree(v, f"{path}.{k}" if path else str(k)) for k, v in value.items()}
        return Tree(items, "", 0, path)
    if isinstance(value, (list, tuple)):
        return Tree([_tree(v, f"{path}[{i}]") for i, v in enumerate(value)], "", 0, path)
    plain = value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
    return Tree(plain, "", 0, path, raw="" if plain is None else str(plain), quoted=isinstance(value, str))
