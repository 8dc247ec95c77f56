"""The command `fleet`: finds the rooms' subcommands, runs one, and tells mistakes without a traceback."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import NoReturn

from accelerator_fleet.errors import FleetError, nearest

GROUP = "accelerator_fleet.commands"
MISTAKE = 2  # also argparse's own
EMBEDDED = "000000000000"  # the account of the embedded datacentre, the only one that `fleet env` prepares a shell for
HINTED = {"plan", "status", "job"}  # after these a person may want pulumi; `up` and `preview` say it themselves


class Parser(argparse.ArgumentParser):
    """argparse, but a mistyped word names the nearest one."""

    def error(self, message: str) -> NoReturn:
        word, _, rest = message.partition("invalid choice: '")[2].partition("'")
        if word and "choose from" in rest:
            known = [w.strip(" '") for w in rest.partition("choose from")[2].strip(" )").split(",")]
            close = nearest(word, known)
            hint = f"; nearest: {close[0]}" if close else ""
            message = f"unknown word '{word}'{hint}; known: {', '.join(known)}"
        elif "arguments are required" in message:
            message += f"; see: {self.prog} --help"
        self.exit(MISTAKE, f"{self.prog}: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0, 2 for a mistake in what was asked or written, or the command's own code."""
    # Building the models makes many objects and no garbage: the collector would take a tenth of a plan's time.
    gc.set_threshold(100_000, 50, 50)
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(words)
    if not words:
        parser.print_help(sys.stderr)
        return MISTAKE
    args, rest = parser.parse_known_args(words)
    if rest:
        parser.exit(
            MISTAKE, f"fleet {args.command}: not understood: {' '.join(rest)}; see: fleet {args.command} --help\n"
        )
    path = os.environ.get("PATH")  # the typing shell's: commands that reach a cluster change it
    try:
        code = int(args.func(args) or 0)
        sys.stdout.flush()
    except FleetError as e:
        print(e, file=sys.stderr)
        code = MISTAKE
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # `fleet … | head` is no mistake; the descriptor is closed for good so that Python's exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if not code:
        _hint(args, path)
    return code


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = Parser(prog="fleet", description="Accelerator fleets as data.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    found = {e.name: e for e in entry_points(group=GROUP)}
    # Only the asked command's module is imported; help and mistyped words need them all.
    asked = next((w for w in words if not w.startswith("-")), None)
    wanted = [found[asked]] if asked in found else [found[n] for n in sorted(found)]
    for entry in wanted:
        _load(entry, commands)
    return parser


def _load(entry: EntryPoint, commands: argparse._SubParsersAction[Parser]) -> None:
    try:
        register = entry.load()
    except (ImportError, AttributeError) as e:
        # One broken room must not take the other commands away.
        print(f"fleet {entry.name}: not available ({e})", file=sys.stderr)
        return
    register(commands)


def _hint(args: argparse.Namespace, path: str | None) -> None:
    """Outside a prepared shell, the line that prepares it; not for programs (`--json`), nor for real accounts."""
    if args.command not in HINTED or os.environ.get("ACCELERATOR_FLEET_HOME") or getattr(args, "json", False):
        return
    from accelerator_fleet.cli.environment import spec_path
    from accelerator_fleet.cli.shell import eval_line

    try:
        spec = spec_path(args.env)
    except FleetError:  # `plan --file`, outside a project
        return
    stack = spec.parents[1] / f"Pulumi.{args.env}.yaml"
    if stack.is_file() and EMBEDDED in spec.read_text(encoding="utf-8"):
        print(f"hint: {eval_line(args.env, path)} prepares this shell for pulumi", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
