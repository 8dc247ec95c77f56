"""What is built is what is pinned: versions agree everywhere, and the cache key follows every byte that matters."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from accelerator_fleet_engine import cache, recipes

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = recipes.load()


def required(recipe: recipes.Recipe) -> str:
    text = (recipe.folder / "go.mod").read_text()
    found = re.search(rf"^(?:require )?\s*{re.escape(recipe.requires)} (v\S+)", text, re.MULTILINE)
    assert found, f"{recipe.name}: go.mod does not require {recipe.requires}"
    return found[1]


def test_every_module_folder_has_a_recipe_and_the_other_way_round() -> None:
    folders = {p.name for p in recipes.GOMODS.iterdir() if (p / "go.mod").is_file()}
    assert folders == set(CATALOGUE.modules)


@pytest.mark.parametrize("name", sorted(CATALOGUE.modules))
def test_recipe_go_mod_and_stamp_name_one_version(name: str) -> None:
    recipe = CATALOGUE.modules[name]
    pinned = required(recipe)
    if name != "pulumi-kubernetes":  # its module has no tag; the next test ties it to its release
        assert pinned == f"v{recipe.version}"
    stamps = [flag for flag in recipe.ldflags if "ersion=" in flag]
    assert all(stamp.endswith(recipe.version) for stamp in stamps)
    assert f"{recipe.requires} {pinned} h1:" in (recipe.folder / "go.sum").read_text()


def test_the_kubernetes_provider_is_the_release_of_the_sdk() -> None:
    recipe = CATALOGUE.modules["pulumi-kubernetes"]
    assert required(recipe).endswith("-f47bc2d6f199")  # the commit that the release tag v4.25.0 names
    assert recipe.version == "4.25.0" == importlib.metadata.version("pulumi-kubernetes")
    components = tomllib.loads((ROOT / "components" / "pyproject.toml").read_text())
    assert f"pulumi-kubernetes=={recipe.version}" in components["project"]["dependencies"]
    assert any(flag.endswith(f"Version={recipe.version}") for flag in recipe.ldflags)


def test_go_is_new_enough_for_every_module() -> None:
    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    for recipe in CATALOGUE.modules.values():
        directive = re.search(r"^go (\S+)$", (recipe.folder / "go.mod").read_text(), re.MULTILINE)
        assert directive
        assert numbers(directive[1]) <= numbers(CATALOGUE.go.minimum) <= numbers(CATALOGUE.go.version)


def test_what_is_accepted_instead_includes_what_is_built() -> None:
    from accelerator_fleet_engine import lookup

    for name, rule in CATALOGUE.accept.items():
        if rule.minimum:
            assert lookup.accepted(rule, CATALOGUE.recipe_of(name).version), name
            assert not lookup.accepted(rule, rule.below), name


@pytest.fixture
def etcd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> recipes.Recipe:
    shutil.copytree(recipes.GOMODS / "etcd", tmp_path / "etcd")
    monkeypatch.setattr(recipes, "GOMODS", tmp_path)
    return CATALOGUE.modules["etcd"]


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_the_key_follows_every_source_file(etcd: recipes.Recipe, file: str) -> None:
    before = cache.key(etcd)
    assert cache.key(etcd) == before
    path = etcd.folder / file
    path.write_text(path.read_text() + "\n")
    assert cache.key(etcd) != before


def test_the_key_follows_flags_targets_and_copied_files(etcd: recipes.Recipe) -> None:
    before = cache.key(etcd)
    for change in ({"ldflags": ("-X", "a=b")}, {"output": "other"}, {"packages": ("./x",)}, {"version": "9.9.9"}):
        assert cache.key(dataclasses.replace(etcd, **change)) != before
    copy = recipes.Copy(source="langhost/pulumi-language-python.sh", target="x")
    with_copy = cache.key(dataclasses.replace(etcd, copies=(copy,)))
    assert with_copy != before
    changes = (recipes.Change(module="example.org/m", file="main.go", old="a", new="b"),)
    assert cache.key(dataclasses.replace(etcd, changes=changes)) != before


def test_the_cache_honours_xdg_and_ignores_a_relative_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/some where")
    assert cache.engine_root() == Path("/some where/accelerator-fleet/engine")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.root() == Path.home() / ".cache" / "accelerator-fleet"
