"""Where built binaries lie: one folder a module under the user's cache, named by the content it was built from."""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from accelerator_fleet_engine.recipes import HERE, Recipe

# Go's flags are part of what a binary is. `-mod=readonly` makes an incomplete go.sum an error instead of a silent edit.
GO_BUILD_FLAGS = ("-trimpath",)
GO_LINK_FLAGS = ("-s", "-w")
DONE = "built.json"


def root() -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/accelerator-fleet`: shared by every clone of this user."""
    base = os.environ.get("XDG_CACHE_HOME") or ""
    # The base directory specification says that a relative path in XDG_CACHE_HOME is to be ignored.
    home = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return home / "accelerator-fleet"


def engine_root() -> Path:
    return root() / "engine"


def key(recipe: Recipe) -> str:
    """Digest of everything that decides the result: sources, pins, flags, copied files, platform.

    The version of the Go toolchain is recorded in the folder but is not part of its name: a Go update on a machine
    must not cost its user twenty minutes.
    """
    digest = hashlib.sha256()

    def feed(*parts: str | bytes) -> None:
        for part in parts:
            data = part.encode() if isinstance(part, str) else part
            digest.update(len(data).to_bytes(8, "big") + data)

    feed(platform.system(), platform.machine(), "CGO_ENABLED=0", *GO_BUILD_FLAGS, *GO_LINK_FLAGS)
    feed(recipe.name, recipe.version, *recipe.packages, recipe.output or "", *recipe.ldflags)
    for path in sorted(p for p in recipe.folder.iterdir() if p.suffix in {".go", ".mod", ".sum"}):
        feed(path.name, path.read_bytes())
    for copy in (*recipe.embeds, *recipe.copies):
        feed(copy.source, copy.target, copy.module or "", str(copy.executable))
        if copy.module is None:
            feed((HERE / copy.source).read_bytes())
    for change in recipe.changes:
        feed(change.module, change.file, change.old, change.new)
    return digest.hexdigest()[:16]


def folder(recipe: Recipe) -> Path:
    return engine_root() / f"{recipe.name}-{key(recipe)}"


def is_built(recipe: Recipe) -> bool:
    return (folder(recipe) / DONE).is_file()


@contextlib.contextmanager
def building(recipe: Recipe, waiting: Callable[[], None]) -> Iterator[Path | None]:
    """An empty scratch folder that becomes the cache folder at the end, under a lock that two builders cannot share.

    Yields None when another process built it meanwhile. `waiting` is called once when the lock is held elsewhere.
    """
    final = folder(recipe)
    final.parent.mkdir(parents=True, exist_ok=True)
    with open(final.parent / f".{final.name}.lock", "w", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        if is_built(recipe):
            yield None
            return
        scratch = final.parent / f".{final.name}.building"
        for left_over in (scratch, final):
            if left_over.exists():
                shutil.rmtree(left_over)
        scratch.mkdir()
        try:
            yield scratch
            scratch.rename(final)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
