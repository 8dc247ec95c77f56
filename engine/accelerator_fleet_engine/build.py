"""Builds one module of `gomods/` into the user's cache and takes the data files out of the modules it needs."""

import collections
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from accelerator_fleet_engine import cache, golang
from accelerator_fleet_engine.errors import EngineError
from accelerator_fleet_engine.progress import Steps, minutes
from accelerator_fleet_engine.recipes import HERE, Change, Copy, Recipe

_TAIL = 25  # lines of the compiler's output that an error shows


def build(recipe: Recipe, go: Path, steps: Steps) -> None:
    """Builds `recipe` unless it is in the cache; raises EngineError with the last lines of Go's output."""
    started = time.monotonic()
    label = f"{recipe.name} {recipe.version}"
    steps.begin(label, recipe.weight)

    def waiting() -> None:
        steps.say(f"{label}: another process is building it; waiting")

    with cache.building(recipe, waiting) as target, tempfile.TemporaryDirectory(prefix="accelerator-fleet-") as scratch:
        if target is not None:
            source = Path(scratch) / "source"
            shutil.copytree(recipe.folder, source)
            _take(recipe.embeds, source, source, go)
            _take(recipe.copies, source, target, go)
            _change(recipe.changes, source, go)
            if recipe.packages:
                _compile(recipe, source, target, go, steps)
            record = {"module": recipe.name, "version": recipe.version, "go": golang.version(go)}
            (target / cache.DONE).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    steps.end(f"{label}: ready ({minutes(time.monotonic() - started)})")


def _go(go: Path, arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [go, *arguments], cwd=folder, env=golang.environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise EngineError(f"`go {arguments[0]}` failed:\n{(done.stderr or done.stdout).strip()[-3000:]}")
    return done.stdout


def _take(copies: tuple[Copy, ...], source: Path, target: Path, go: Path) -> None:
    """Copies files and folders out of modules (downloaded and verified against go.sum by Go itself)."""
    folders: dict[str, Path] = {}
    for copy in copies:
        if copy.module is None:
            origin = HERE / copy.source
        else:
            if copy.module not in folders:
                folders[copy.module] = _module(copy.module, source, go)
            origin = folders[copy.module] / copy.source
        place = target / copy.target
        place.parent.mkdir(parents=True, exist_ok=True)
        if origin.is_dir():
            _copy_folder(origin, place)
        else:
            _plain_copy(str(origin), str(place))
            if copy.executable:
                place.chmod(0o755)


def _change(changes: tuple[Change, ...], source: Path, go: Path) -> None:
    """Lets `source` use copies of modules in which the changed texts stand."""
    for number, module in enumerate(dict.fromkeys(change.module for change in changes)):
        copy = source / f"changed-{number}"
        _copy_folder(_module(module, source, go), copy)
        for change in (c for c in changes if c.module == module):
            path = copy / change.file
            text = path.read_text(encoding="utf-8")
            if text.count(change.old) != 1:
                raise EngineError(f"{change.old} stands {text.count(change.old)} times in {change.file} of {module}")
            path.write_text(text.replace(change.old, change.new), encoding="utf-8")
        _go(go, ["mod", "edit", f"-replace={module}=./{copy.name}"], source)


def _module(name: str, source: Path, go: Path) -> Path:
    """A module's folder in Go's cache."""
    return Path(json.loads(_go(go, ["mod", "download", "-json", name], source))["Dir"])


def _copy_folder(origin: Path, place: Path) -> None:
    # Go keeps its module cache read-only; what lies in ours must be removable by `rm -r`.
    shutil.copytree(origin, place, copy_function=_plain_copy)
    for folder, _, _ in os.walk(place):
        os.chmod(folder, 0o755)


def _plain_copy(origin: str, place: str) -> None:
    shutil.copyfile(origin, place)
    os.chmod(place, 0o644)


def _flags(recipe: Recipe) -> list[str]:
    return [*cache.GO_BUILD_FLAGS, "-ldflags", " ".join((*cache.GO_LINK_FLAGS, *recipe.ldflags))]


def _compile(recipe: Recipe, source: Path, target: Path, go: Path, steps: Steps) -> None:
    flags = _flags(recipe)
    # What is stale is exactly what `go build -v` will name, one line a package: that makes an honest progress bar.
    listing = ["list", *flags, "-deps", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}", *recipe.packages]
    total = 0
    for kind, text in _lines(go, listing, source):
        if kind == "out" and text:
            total += 1
        elif text.startswith("go: downloading"):
            steps.update(0.0, "fetching modules")
    output = str(target / recipe.output) if recipe.output else f"{target}{os.sep}"
    built = 0
    for kind, text in _lines(go, ["build", "-v", *flags, "-o", output, *recipe.packages], source):
        if kind == "err" and text and not text.startswith(("go: ", "#", "\t")):
            built += 1
            steps.update(built / max(total, built, 1), f"package {built} of {max(total, built)}")


def _lines(go: Path, arguments: list[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Runs `go` and yields its lines as they come; raises EngineError when it fails, ends it when we are stopped."""
    tail: collections.deque[str] = collections.deque(maxlen=_TAIL)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(
            [go, *arguments], cwd=folder, env=golang.environment(), stdout=out, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        try:
            for line in process.stderr:
                tail.append(line.rstrip("\n"))
                yield "err", tail[-1]
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if code:
            raise EngineError(f"`go {arguments[0]}` failed:\n" + "\n".join(tail))
        out.seek(0)
        for line in out:
            yield "out", line.strip()
