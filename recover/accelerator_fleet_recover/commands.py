"""The command `fleet recover`: its words. What it does is imported when it runs."""

from __future__ import annotations

import argparse


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `recover`."""
    parser = subparsers.add_parser(
        "recover", help="finds what a killed run left behind, or a lost state knew; adopts it with --yes"
    )
    parser.add_argument("--env", default="dev", metavar="ENV", help="environment (dev)")
    parser.add_argument(
        "--yes", action="store_true", help="adopt what belongs to the program, clear pending operations"
    )
    parser.add_argument(
        "--delete", action="store_true", help="with --yes: delete without asking what cannot belong (never a volume)"
    )
    parser.add_argument(
        "--wait", type=int, default=1800, metavar="SECONDS",
        help="how long to wait for what is still being made or deleted (1800)",
    )  # fmt: skip
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    from accelerator_fleet.clusters import reached
    from accelerator_fleet_recover.errors import asked
    from accelerator_fleet_recover.recover import Recovery

    with reached(args.env), asked(args.env):
        return Recovery(args.env, adopt=args.yes, delete=args.delete, patience=args.wait).run()
