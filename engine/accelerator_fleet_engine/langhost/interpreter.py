"""Which Python runs a program, and what Pulumi packages are installed in its environment."""

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class OptionError(Exception):
    """The `runtime: options:` of Pulumi.yaml name something that is not there."""


@dataclass(frozen=True)
class Interpreter:
    executable: Path
    virtualenv: Path | None

    def environment(self) -> dict[str, str]:
        """The environment of a program: as if its virtual environment had been activated."""
        env = dict(os.environ)
        if self.virtualenv is not None:
            env["VIRTUAL_ENV"] = str(self.virtualenv)
            env["PATH"] = f"{self.virtualenv / 'bin'}{os.pathsep}{env.get('PATH', '')}"
            env.pop("PYTHONHOME", None)
        return env

    def packages_folders(self) -> list[Path]:
        if self.virtualenv is not None:
            return sorted(self.virtualenv.glob("lib/python3*/site-packages"))
        return [Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]


def _venv(folder: Path) -> Interpreter | None:
    python = folder / "bin" / "python"
    return Interpreter(python, folder) if python.is_file() else None


def choose(options: Mapping[str, object], root: Path) -> Interpreter:
    """The `virtualenv` option (relative to the project), else the active environment, else `.venv`, else this Python.

    A copy of a project without the environment that its option names runs in the one that prepared the shell. Outside
    a prepared shell that raises OptionError: a program with other packages than its lock file says is worse than none.
    """
    option = options.get("virtualenv")
    if option:
        folder = root / str(option)
        prepared = os.environ.get("ACCELERATOR_FLEET_PYTHON")
        found = _venv(folder) or (_venv(Path(prepared).parent.parent) if prepared else None)
        if found is None:
            raise OptionError(
                f"Pulumi.yaml: runtime.options.virtualenv: {folder} is no virtual environment; run: make setup"
            )
        return found
    for candidate in (os.environ.get("VIRTUAL_ENV"), str(root / ".venv")):
        if candidate and (found := _venv(Path(candidate))):
            return found
    return Interpreter(Path(sys.executable), None)


def install_command(folder: Path) -> list[str] | None:
    """How the dependencies of a program or package are installed; None when it declares none.

    `--inexact`: a package inside a workspace shares the environment of the others, which must stay in it.
    """
    for place in (folder, *folder.parents):
        if (place / "uv.lock").is_file():
            return ["uv", "sync", "--frozen", "--inexact"]
        if (place / "pyproject.toml").is_file():
            return ["uv", "sync", "--inexact"]
    return None


@dataclass(frozen=True)
class Plugin:
    name: str
    version: str
    server: str


def required_plugins(interpreter: Interpreter) -> list[Plugin]:
    """Providers whose SDKs are installed: each generated SDK carries a `pulumi-plugin.json` that says so."""
    plugins = []
    for folder in interpreter.packages_folders():
        for path in sorted(folder.glob("*/pulumi-plugin.json")):
            try:
                entry = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue
            if entry.get("resource") and entry.get("name") and entry.get("version"):
                plugins.append(Plugin(entry["name"], str(entry["version"]).removeprefix("v"), entry.get("server", "")))
    return plugins


def plugin_home() -> Path:
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi") / "plugins"


def is_installed(plugin: Plugin) -> bool:
    return (plugin_home() / f"resource-{plugin.name}-v{plugin.version}").is_dir()


_DIST_INFO = re.compile(r"^(?P<name>.+?)-(?P<version>[^-]+)\.dist-info$")


def distributions(interpreter: Interpreter) -> list[tuple[str, str]]:
    """Name and version of every distribution in the program's environment, for `pulumi about`."""
    found = set()
    for folder in interpreter.packages_folders():
        for entry in folder.glob("*.dist-info"):
            if match := _DIST_INFO.match(entry.name):
                found.add((match["name"].replace("_", "-").lower(), match["version"]))
    return sorted(found)
