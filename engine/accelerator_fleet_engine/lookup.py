"""Finds what a user has installed already: on PATH, in the plugin folder, in KUBEBUILDER_ASSETS; version checked."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from accelerator_fleet_engine import cache
from accelerator_fleet_engine.recipes import Accept

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def numbers(version: str) -> tuple[int, int, int] | None:
    """The first `x.y.z` in a text, as numbers."""
    match = _VERSION.search(version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def accepted(rule: Accept, version: str) -> bool:
    found, low, high = numbers(version), numbers(rule.minimum), numbers(rule.below)
    return found is not None and low is not None and high is not None and low <= found < high


def _asked(path: Path, ask: tuple[str, ...]) -> str:
    """What the executable says of its version. Remembered by path, size and time: asking costs up to half a second."""
    stat = path.stat()
    mark = f"{path}:{stat.st_size}:{stat.st_mtime_ns}"
    memory = cache.engine_root() / "versions.json"
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if mark not in known:
        try:
            done = subprocess.run([path, *ask], capture_output=True, text=True, timeout=20, check=False)
            known[mark] = (done.stdout + done.stderr)[:200]
        except (OSError, subprocess.TimeoutExpired):
            return ""
        memory.parent.mkdir(parents=True, exist_ok=True)
        scratch = memory.with_name(f".versions.{os.getpid()}")
        scratch.write_text(json.dumps(known, indent=1), encoding="utf-8")
        scratch.replace(memory)
    return str(known[mark])


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _candidates(rule: Accept) -> Iterator[Path]:
    if rule.kubebuilder and (assets := os.environ.get("KUBEBUILDER_ASSETS")):
        yield Path(assets) / rule.name
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry) / rule.name


def _plugin(rule: Accept) -> Path | None:
    homes = [Path.home() / ".pulumi"]
    if own := os.environ.get("PULUMI_HOME"):
        homes.insert(0, Path(own))
    for home in homes:
        for folder in sorted((home / "plugins").glob(f"resource-{rule.plugin}-v*")):
            path = folder / rule.name
            if accepted(rule, folder.name.rsplit("-v", 1)[-1]) and _executable(path):
                return path
    return None


def installed(rule: Accept) -> Path | None:
    """The user's own executable that satisfies `rule`, or None. What lies in the engine cache does not count."""
    if rule.plugin:
        found = _plugin(rule)
        return found if found is None or not _ours(found) else None
    for path in _candidates(rule):
        if _executable(path) and not _ours(path) and accepted(rule, _asked(path.resolve(), rule.ask)):
            return path
    return None


def beside(name: str, neighbour: Path) -> Path | None:
    """`name` in the real folder of `neighbour`, else on PATH."""
    path = neighbour.resolve().with_name(name)
    if _executable(path):
        return path
    found = shutil.which(name)
    return Path(found) if found and not _ours(Path(found)) else None


def _ours(path: Path) -> bool:
    return path.resolve().is_relative_to(cache.engine_root().resolve())
