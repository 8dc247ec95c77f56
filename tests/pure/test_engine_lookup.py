"""A user's own installation is used where its version fits, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelerator_fleet_engine import binaries, cache, recipes


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing installed and nothing built."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("KUBEBUILDER_ASSETS", "PULUMI_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def put(path: Path, says: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def build(name: str) -> Path:
    recipe = recipes.load().recipe_of(name)
    path = put(cache.folder(recipe) / name)
    (path.parent / cache.DONE).write_text("{}")
    return path


def test_nothing_there_names_the_command_that_helps(home: Path) -> None:
    with pytest.raises(
        binaries.EngineMissing, match=r"^etcd: not found on PATH and not built yet; run: fleet engine build$"
    ):
        binaries.find("etcd")


def test_an_unknown_name_lists_the_known_ones(home: Path) -> None:
    with pytest.raises(binaries.EngineError, match=r"no such binary; known: pulumi, .*kueue"):
        binaries.find("etcdd")


def test_a_fitting_version_on_path_wins_over_our_own_build(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = build("pulumi")
    assert binaries.find("pulumi") == own
    theirs = put(home / "bin" / "pulumi", "v3.280.1")
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    assert binaries.find("pulumi") == theirs


@pytest.mark.parametrize("says", ["v3.271.9", "v4.0.0", "v2.9.0", "no version here", ""])
def test_another_version_on_path_is_left_alone(home: Path, monkeypatch: pytest.MonkeyPatch, says: str) -> None:
    put(home / "bin" / "pulumi", says)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    with pytest.raises(binaries.EngineMissing):
        binaries.find("pulumi")
    own = build("pulumi")
    assert binaries.find("pulumi") == own


def test_an_upgrade_on_path_is_noticed_although_versions_are_remembered(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = put(home / "bin" / "pulumi", "v3.271.0")
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    own = build("pulumi")
    assert binaries.find("pulumi") == own
    put(theirs, "v3.2720.0")  # another size
    assert binaries.find("pulumi") == theirs


def test_kubebuilder_assets_come_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(home / "bin" / "etcd", "etcd Version: 3.6.1")
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    assets = put(home / "assets" / "etcd", "etcd Version: 3.6.4")
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(home / "assets"))
    assert binaries.find("etcd") == assets
    put(home / "assets" / "etcd", "etcd Version: 3.5.100")
    assert binaries.find("etcd") == home / "bin" / "etcd"


def test_the_provider_of_the_plugin_folder_must_be_the_sdks_release(home: Path) -> None:
    plugins = home / ".pulumi" / "plugins"
    put(plugins / "resource-kubernetes-v4.24.0" / "pulumi-resource-kubernetes")
    with pytest.raises(binaries.EngineMissing):
        binaries.find("pulumi-resource-kubernetes")
    right = put(plugins / "resource-kubernetes-v4.25.0" / "pulumi-resource-kubernetes")
    assert binaries.find("pulumi-resource-kubernetes") == right


def test_the_language_host_is_the_one_beside_the_cli(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = put(home / "opt" / "pulumi", "v3.274.1")
    host = put(home / "opt" / "pulumi-language-python")
    (home / "bin").mkdir()
    (home / "bin" / "pulumi").symlink_to(real)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    assert binaries.find("pulumi-language-python") == host


def test_only_what_is_missing_is_built(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = [recipe.name for recipe in binaries.missing()]
    assert set(everything) == set(recipes.load().modules)
    build("etcd")
    put(home / "bin" / "pulumi", "v3.274.1")
    put(home / "bin" / "pulumi-language-python")
    # kwok is there too, but its stage files come with our own build.
    put(home / "bin" / "kwok", "kwok version v0.8.0")
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin:/bin")
    assert [n for n in everything if n not in {"etcd", "pulumi"}] == [recipe.name for recipe in binaries.missing()]
    assert [recipe.name for recipe in binaries.missing(["etcd"])] == []
