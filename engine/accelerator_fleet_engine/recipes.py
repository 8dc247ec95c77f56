"""What the engine consists of, read from `binaries.toml`: the recipe of each module and what is accepted instead."""

import functools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GOMODS = HERE / "gomods"


@dataclass(frozen=True)
class Copy:
    """A file or folder taken from a Go module (`module`) or from this package (`own`)."""

    source: str
    target: str
    module: str | None = None
    executable: bool = False


@dataclass(frozen=True)
class Change:
    """One text of a module's file that is another one in our build; it must stand there exactly once."""

    module: str
    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Recipe:
    """One Go module of `gomods/`: what is built from it and which files are taken from it.

    `weight` is the cold build time in seconds on two cores; it shapes the remaining time shown, nothing else.
    """

    name: str
    version: str
    requires: str
    packages: tuple[str, ...]
    output: str | None
    ldflags: tuple[str, ...]
    copies: tuple[Copy, ...]
    embeds: tuple[Copy, ...]
    weight: float
    changes: tuple[Change, ...] = ()

    @property
    def folder(self) -> Path:
        return GOMODS / self.name

    @property
    def binaries(self) -> tuple[str, ...]:
        """Names of the executables that lie in the cache folder once it is built."""
        built = (self.output,) if self.output else tuple(p.rsplit("/", 1)[-1] for p in self.packages)
        return built + tuple(c.target for c in self.copies if c.executable and not c.target.endswith("-exec"))


@dataclass(frozen=True)
class Accept:
    """Which installation of a user's own is as good as ours."""

    name: str
    minimum: str = ""
    below: str = ""
    ask: tuple[str, ...] = ()
    plugin: str | None = None
    beside: str | None = None
    kubebuilder: bool = False


@dataclass(frozen=True)
class GoRule:
    minimum: str
    distribution: str
    version: str


@dataclass(frozen=True)
class Catalogue:
    go: GoRule
    modules: dict[str, Recipe]
    accept: dict[str, Accept]

    def recipe_of(self, binary: str) -> Recipe:
        """The module that `binary` comes out of; raises KeyError for a name that no module has."""
        for recipe in self.modules.values():
            if binary in recipe.binaries:
                return recipe
        raise KeyError(binary)

    @property
    def binaries(self) -> tuple[str, ...]:
        return tuple(name for recipe in self.modules.values() for name in recipe.binaries)


def _copy(entry: dict[str, Any]) -> Copy:
    return Copy(
        source=entry.get("own") or entry["from"],
        target=entry["to"],
        module=entry.get("module"),
        executable=entry.get("executable", False),
    )


def _recipe(name: str, entry: dict[str, Any]) -> Recipe:
    return Recipe(
        name=name,
        version=entry["version"],
        requires=entry["requires"],
        packages=tuple(entry["packages"]),
        output=entry.get("output"),
        ldflags=tuple(entry.get("ldflags", ())),
        copies=tuple(_copy(c) for c in entry.get("copy", ())),
        embeds=tuple(_copy(c) for c in entry.get("embed", ())),
        weight=float(entry["weight"]),
        changes=tuple(Change(c["module"], c["file"], c["from"], c["to"]) for c in entry.get("change", ())),
    )


@functools.cache
def load() -> Catalogue:
    data = tomllib.loads((HERE / "binaries.toml").read_text(encoding="utf-8"))
    accept = {
        name: Accept(
            name=name,
            minimum=entry.get("minimum", ""),
            below=entry.get("below", ""),
            ask=tuple(entry.get("ask", ())),
            plugin=entry.get("plugin"),
            beside=entry.get("beside"),
            kubebuilder=entry.get("kubebuilder", False),
        )
        for name, entry in data["accept"].items()
    }
    modules = {name: _recipe(name, entry) for name, entry in data["module"].items()}
    return Catalogue(go=GoRule(**data["go"]), modules=modules, accept=accept)
