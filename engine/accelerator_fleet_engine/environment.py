"""Prepares a clone and a shell, so that the literal `pulumi … --stack ENV` works on the embedded datacentre."""

import importlib.metadata
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from accelerator_fleet_engine import binaries, cache, endpoints, recipes
from accelerator_fleet_engine.errors import EngineError
from accelerator_fleet_engine.layout import Layout, layout

# Embedded stacks keep no real secret; the passphrase is public so that a clone can open them. Real environments use
# their own secrets provider, in a shell that is not prepared.
PASSPHRASE = "embedded-datacentre"

NATIVE = "accelerator-fleet-native"  # the toolkit's own provider: the same here and in real accounts
Say = Callable[[str], None]


def shell_env(env: str, project: Path) -> dict[str, str]:
    """The variables of a prepared shell. Reads the environment and the datacentre's note, touches nothing."""
    place = layout(project)
    first = [str(Path(sys.prefix) / "bin"), str(place.bin)]
    rest = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry and entry not in first]
    return {
        "PATH": os.pathsep.join(first + rest),
        "PULUMI_HOME": str(place.pulumi),
        # No sidecar files: they are not written in one step; a program that reads its own stack could meet half of one.
        "PULUMI_BACKEND_URL": f"file://{quote(str(place.state))}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
        "PULUMI_CONTINUE_ON_ERROR": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "ACCELERATOR_FLEET_ENV": env,
        "ACCELERATOR_FLEET_HOME": str(place.home),
        "ACCELERATOR_FLEET_SIM": str(place.sim),
        "ACCELERATOR_FLEET_CHARTS": str(place.charts),
        "ACCELERATOR_FLEET_PYTHON": sys.executable,
        # Sites of kind `existing` are looked up here: never in the user's own clusters.
        "KUBECONFIG": str(place.home / "kubeconfig"),
        **endpoints.variables(place.sim),
    }


def exports(variables: dict[str, str]) -> str:
    """Lines for `eval`, safe for every value a path can have."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def is_prepared(env: str) -> bool:
    """Whether this very process runs in a shell prepared for `env`."""
    return os.environ.get("ACCELERATOR_FLEET_ENV") == env and shutil.which("pulumi") is not None


def prepare(env: str, project: Path) -> dict[str, str]:
    """Builds what is missing, lays out `.fleet/`, makes the stack; returns the shell's variables. Idempotent."""
    place = layout(project)
    variables = shell_env(env, project)
    binaries.ensure()
    for folder in (place.home, place.state, place.bin, place.logs):
        folder.mkdir(parents=True, exist_ok=True)
    place.sim.mkdir(mode=0o700, parents=True, exist_ok=True)
    _link_engine(place)
    _lay_plugins(place)
    _lay_charts(place)
    if not place.stack_state(env).is_file():
        _make_stack(env, place, variables)
    return variables


def _link_engine(place: Layout) -> None:
    """`.fleet/bin` holds links: the CLI resolves its own and so finds the language host beside the real one."""
    for name in ("pulumi", "pulumi-language-python"):
        _link(place.bin / name, binaries.find(name))
    # Pulumi's own language host (where a user has one) calls `uv`; ours needs it for `pulumi install` only.
    if not shutil.which("uv", path=os.pathsep.join(p for p in os.get_exec_path() if Path(p) != place.bin)):
        ours = sorted((cache.root() / "tools").glob("uv-*/bin/uv"))
        if ours:
            _link(place.bin / "uv", ours[-1])


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and Path(os.readlink(link)) == target:
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    scratch = link.with_name(f".{link.name}.{os.getpid()}")
    scratch.unlink(missing_ok=True)
    scratch.symlink_to(target)
    scratch.replace(link)


def _write(path: Path, text: str, mode: int) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text and os.access(path, os.X_OK) == bool(mode & 0o100):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    scratch.write_text(text, encoding="utf-8")
    scratch.chmod(mode)
    scratch.replace(path)


def _lay_plugins(place: Layout) -> None:
    """A real folder for each plugin (the engine ignores linked folders), named by the version of the installed SDK."""
    plugins = place.pulumi / "plugins"
    wanted = {
        "aws": f"resource-aws-v{importlib.metadata.version('pulumi-aws')}",
        "gcp": f"resource-gcp-v{importlib.metadata.version('pulumi-gcp')}",
        "kubernetes": f"resource-kubernetes-v{importlib.metadata.version('pulumi-kubernetes')}",
        NATIVE: f"resource-{NATIVE}-v{importlib.metadata.version(NATIVE)}",
    }
    if plugins.is_dir():
        for old in plugins.iterdir():
            ours = old.name.rpartition("-v")[0] in {f"resource-{name}" for name in wanted}
            if ours and old.is_dir() and old.name not in wanted.values():
                shutil.rmtree(old)
    modules = {
        "aws": "accelerator_fleet_sim.aws",
        "gcp": "accelerator_fleet_sim.google",
        NATIVE: "accelerator_fleet_native",
    }
    for name, module in modules.items():
        shim = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module}.plugin "$@"\n'
        _write(plugins / wanted[name] / f"pulumi-resource-{name}", shim, 0o755)
    name = "pulumi-resource-kubernetes"
    _link(plugins / wanted["kubernetes"] / name, binaries.find(name))


def _lay_charts(place: Layout) -> None:
    """Charts by name at a path that stays the same when the engine is built anew: it becomes an input of releases."""
    modules = recipes.load().modules
    for name in ("kueue", "jobset", "nvidia-device-plugin"):
        mark = place.charts / f".{name}"
        content = cache.key(modules[name])
        if mark.is_file() and mark.read_text(encoding="utf-8") == content and (place.charts / name).is_dir():
            continue
        shutil.rmtree(place.charts / name, ignore_errors=True)
        shutil.copytree(binaries.module_dir(name) / "charts" / name, place.charts / name)
        mark.write_text(content, encoding="utf-8")


def _make_stack(env: str, place: Layout, variables: dict[str, str]) -> None:
    done = subprocess.run(
        [place.bin / "pulumi", "stack", "init", env, "--non-interactive"],
        cwd=place.project,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not place.stack_state(env).is_file():
        raise EngineError(f"pulumi stack init {env} failed:\n{(done.stderr or done.stdout).strip()}")
