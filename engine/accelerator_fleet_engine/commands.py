"""The engine's commands: `fleet engine|env|up|preview|down`. Light to import: the work is imported when it is done."""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from accelerator_fleet_engine.errors import EngineError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def _guarded(work: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Turns what a person can mend into one sentence and exit code 2."""

    def run(arguments: argparse.Namespace) -> int:
        try:
            return work(arguments)
        except EngineError as error:
            print(error, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
            return 130

    return run


def register_engine(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser("engine", help="build or list the binaries that the embedded datacentre runs")
    what = parser.add_subparsers(dest="what", required=True, metavar="build|list")
    build = what.add_parser("build", help="build what is missing into the user's cache (once per machine)")
    build.set_defaults(func=_guarded(_build))
    listing = what.add_parser("list", help="where each binary comes from")
    listing.set_defaults(func=_guarded(_list))


def register_env(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser("env", help='prepare a shell: eval "$(fleet env dev)"')
    parser.add_argument("env", metavar="ENV", help="the environment, a stack of stacks/Pulumi.<ENV>.yaml")
    parser.set_defaults(func=_guarded(_env))


def _register_life(subparsers: "Subparsers", name: str, help_text: str) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name, help=help_text)
    parser.add_argument("--env", default="dev", metavar="ENV", help="the environment (default: dev)")
    parser.set_defaults(func=_guarded(_life), command_name=name)
    return parser


def register_up(subparsers: "Subparsers") -> None:
    parser = _register_life(subparsers, "up", "bring an environment up on the embedded datacentre")
    parser.add_argument(
        "--retry", action="append", default=[], metavar="POOL", help="give its queued resource back and ask once more"
    )


def register_preview(subparsers: "Subparsers") -> None:
    _register_life(subparsers, "preview", "say what `up` would change")


def register_down(subparsers: "Subparsers") -> None:
    _register_life(subparsers, "down", "remove an environment, or list what is protected")


def _build(arguments: argparse.Namespace) -> int:
    from accelerator_fleet.cli.shell import fleet_word
    from accelerator_fleet_engine import binaries

    found = binaries.ensure()
    print(f"engine: all {len(found)} binaries are there; where they come from: {fleet_word()} engine list")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    from accelerator_fleet_engine import binaries, cache, recipes

    absent = 0
    for name in recipes.load().binaries:
        recipe = recipes.load().recipe_of(name)
        try:
            path = str(binaries.find(name))
        except binaries.EngineMissing:
            path, absent = "not built: fleet engine build", absent + 1
        ours = "own build" if path.startswith(str(cache.engine_root())) else "installed"
        print(f"{name:<28}{recipe.version:<10}{'' if path.startswith('not ') else ours:<11}{path}")
    return 1 if absent else 0


def _env(arguments: argparse.Namespace) -> int:
    from accelerator_fleet_engine import datacentre, embedded, environment
    from accelerator_fleet_engine.layout import find_project, layout

    place = layout(find_project())
    embedded.require(place, arguments.env)
    variables = environment.prepare(arguments.env, place.project)
    if datacentre.start(place, variables):
        print("the embedded datacentre is started; end it with: fleet sim stop", file=sys.stderr)
    for context in embedded.contexts(place, arguments.env):
        datacentre.seed(place, variables, context)
    sys.stdout.write(environment.exports(variables))
    return 0


def _life(arguments: argparse.Namespace) -> int:
    from accelerator_fleet_engine import lifecycle

    if arguments.command_name == "up":
        return lifecycle.up(arguments.env, arguments.retry)
    work: Callable[[str], int] = getattr(lifecycle, arguments.command_name)
    return work(arguments.env)
