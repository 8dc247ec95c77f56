"""How the shell that a command was typed in can call `fleet`, and the line that prepares it for pulumi."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def fleet_word(path: str | None = None) -> str:
    """`fleet` where that name finds this very command on `path` (PATH), else its path from here."""
    ours = Path(sys.prefix) / "bin" / "fleet"
    found = shutil.which("fleet", path=path)
    if found and Path(found).resolve() == ours.resolve():
        return "fleet"
    try:
        return shlex.quote(str(ours.relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(ours))


def eval_line(env: str, path: str | None = None) -> str:
    """The line to type before `pulumi … --stack <env>`."""
    return f'eval "$({fleet_word(path)} env {env})"'
