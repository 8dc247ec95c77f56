"""Two builders never collide, and a failed build leaves nothing that looks finished."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from accelerator_fleet_engine import cache, recipes

ETCD = recipes.load().modules["etcd"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def finish(target: Path | None) -> None:
    assert target is not None
    (target / "etcd").write_text("binary")
    (target / cache.DONE).write_text("{}")


def test_a_build_appears_whole_or_not_at_all() -> None:
    with cache.building(ETCD, lambda: None) as target:
        finish(target)
        assert not cache.is_built(ETCD)
        assert not cache.folder(ETCD).exists()
    assert cache.is_built(ETCD)
    assert (cache.folder(ETCD) / "etcd").read_text() == "binary"


def test_a_failed_build_leaves_nothing_and_can_be_repeated() -> None:
    def build() -> None:
        with cache.building(ETCD, lambda: None) as target:
            finish(target)
            raise RuntimeError("compiler")

    with pytest.raises(RuntimeError, match="compiler"):
        build()
    assert not cache.is_built(ETCD)
    assert [p.name for p in cache.engine_root().iterdir() if not p.name.endswith(".lock")] == []
    with cache.building(ETCD, lambda: None) as target:
        finish(target)
    assert cache.is_built(ETCD)


def test_the_second_builder_waits_and_takes_the_firsts_result() -> None:
    waited, got = threading.Event(), []

    def second() -> None:
        with cache.building(ETCD, waited.set) as target:
            got.append(target)

    with cache.building(ETCD, lambda: None) as target:
        other = threading.Thread(target=second)
        other.start()
        assert waited.wait(10), "the second builder did not notice the first"
        assert got == []
        finish(target)
    other.join(10)
    assert got == [None]


def test_what_a_killed_builder_left_is_cleared_away() -> None:
    scratch = cache.engine_root() / f".{cache.folder(ETCD).name}.building"
    scratch.mkdir(parents=True)
    (scratch / "half").write_text("")
    cache.folder(ETCD).mkdir()  # a folder without its mark is not a build
    with cache.building(ETCD, lambda: None) as target:
        assert target is not None
        assert list(target.iterdir()) == []
        finish(target)
    assert cache.is_built(ETCD)
