"""How the shell that a command was typed in can call `fleet`, and the line that prepares it for pulumi."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def fleet_word() -> str:
    """`fleet` where that name finds this very command on PATH, else its path from here."""
    ours = Path(sys.prefix) / "bin" / "fleet"
    found = shutil.which("fleet")
    if found and Path(found).resolve() == ours.resolve():
        return "fleet"
    try:
        return shlex.quote(str(ours.relative_to(Path.cwd())))
    except ValueError:
        return shlex.quote(str(ours))


def eval_line(env: str) -> str:
    """The line to type before `pulumi … --stack <env>`."""
    return f'eval "$({fleet_word()} env {env})"'
