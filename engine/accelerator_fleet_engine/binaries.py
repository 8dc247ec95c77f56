"""The way to every binary of the engine: the user's own where it fits, else the one built into the user's cache."""

from collections.abc import Iterable
from pathlib import Path

from accelerator_fleet_engine import cache, lookup, recipes
from accelerator_fleet_engine.errors import EngineError, EngineMissing

__all__ = ["EngineError", "EngineMissing", "ensure", "find", "missing", "module_dir"]


def _installed(name: str) -> Path | None:
    rule = recipes.load().accept.get(name)
    if rule is None:
        return None
    if rule.beside:
        neighbour = _installed(rule.beside)
        return lookup.beside(name, neighbour) if neighbour else None
    return lookup.installed(rule)


def _cached(name: str) -> Path | None:
    recipe = recipes.load().recipe_of(name)
    return cache.folder(recipe) / name if cache.is_built(recipe) else None


def _known(name: str) -> None:
    if name not in recipes.load().binaries:
        raise EngineError(f"{name}: no such binary; known: {', '.join(recipes.load().binaries)}")


def find(name: str) -> Path:
    """The executable `name` (`pulumi`, `etcd`, `kube-apiserver` …), ready to run.

    Looks on PATH, in `~/.pulumi/plugins` and in KUBEBUILDER_ASSETS for a version that fits, then in the engine cache.
    Raises EngineMissing, which names `fleet engine build`.
    """
    _known(name)
    path = _installed(name) or _cached(name)
    if path is None:
        raise EngineMissing(name)
    return path


def module_dir(name: str) -> Path:
    """Data files that a module ships, copied at build time with the paths they have there.

    `kueue`: `charts/kueue`, `config/components/crd/bases`; `jobset`: `charts/jobset`; `kwok`: `kustomize/stage`;
    `nvidia-device-plugin`: `charts/nvidia-device-plugin`. Raises EngineMissing.
    """
    recipe = recipes.load().modules.get(name)
    if recipe is None:
        raise EngineError(f"{name}: no such module; known: {', '.join(recipes.load().modules)}")
    if not cache.is_built(recipe):
        raise EngineMissing(name)
    return cache.folder(recipe) / "files"


def missing(names: Iterable[str] | None = None) -> list[recipes.Recipe]:
    """The modules that must be built before every name is there. None: all binaries and all data."""
    catalogue = recipes.load()
    wanted: dict[str, recipes.Recipe] = {}
    for name in catalogue.binaries if names is None else names:
        _known(name)
        recipe = catalogue.recipe_of(name)
        needs_data = any(copy.target.startswith("files/") for copy in recipe.copies)
        if not cache.is_built(recipe) and (needs_data or _installed(name) is None):
            wanted[recipe.name] = recipe
    if names is None:
        wanted.update({r.name: r for r in catalogue.modules.values() if not r.packages and not cache.is_built(r)})
    return [recipe for recipe in catalogue.modules.values() if recipe.name in wanted]


def ensure(names: Iterable[str] | None = None) -> dict[str, Path]:
    """Builds what is missing, with progress and remaining time on standard error; returns the path of each name."""
    wanted = list(recipes.load().binaries if names is None else names)
    todo = missing(None if names is None else wanted)
    if todo:
        from accelerator_fleet_engine import build, golang
        from accelerator_fleet_engine.progress import Steps, minutes

        weight = sum(recipe.weight for recipe in todo)
        with Steps(weight) as steps:
            steps.say(
                f"engine: {len(todo)} of {len(recipes.load().modules)} parts are not on this machine yet; building "
                f"them into {cache.engine_root()} (once; {minutes(weight)} on two cores, less when Go's cache is warm)"
            )
            go = golang.find(steps.say)
            for recipe in todo:
                build.build(recipe, go, steps)
    return {name: find(name) for name in wanted}
