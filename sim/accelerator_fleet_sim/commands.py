"""`fleet sim start|status|stop|reset|seed|fault|console`: the embedded datacentre's own commands."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def register(subparsers: argparse._SubParsersAction[Any]) -> None:
    """Add `sim` to the `fleet` command."""
    parser = subparsers.add_parser("sim", help="the embedded datacentre: start, status, stop, reset, seed")
    verbs = parser.add_subparsers(dest="verb", required=True)
    start = verbs.add_parser("start", help="start it in the background; nothing happens when it runs")
    start.add_argument("--speed", type=float, help="simulated seconds in a real one (default 60)")
    start.add_argument("--without-control-planes", action="store_true", help=argparse.SUPPRESS)
    status = verbs.add_parser("status", help="what is in it, what runs, how much memory")
    status.add_argument("--json", action="store_true")
    verbs.add_parser("stop", help="end every process of it; what is in it stays")
    verbs.add_parser("reset", help="stop it and forget everything that is in it, the stacks that made it too")
    seed = verbs.add_parser("seed", help="put something there that no program made")
    seed.add_argument("what", choices=["existing", "lab"], help="existing: the EKS cluster 'legacy' in the existing "
                      "VPC; lab: a plain cluster with 2 nodes of 8 amd.com/gpu, in .fleet/kubeconfig")  # fmt: skip
    seed.add_argument("--also", metavar="KINDS", help="lab: further nodes, rtx4090,ascend-910b1 … (see lab.json)")
    cases = verbs.add_parser("cases", help="run changes whose class is known through the simulated providers")
    cases.add_argument("file", type=Path)
    clock = verbs.add_parser("clock", help="change how fast simulated time passes")
    clock.add_argument("--speed", type=float, required=True)
    from . import faultcommands

    faultcommands.register(verbs)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Carry out one verb; the exit status."""
    from accelerator_fleet.errors import FleetError

    from . import lifecycle
    from .client import Client, CloudError, NotRunning
    from .paths import sim_folder

    if args.verb == "cases":
        from .cases import run as run_cases

        return run_cases(args.file)
    folder = sim_folder()
    client = Client(folder)
    try:
        if args.verb == "start":
            return _start(folder, args)
        if args.verb == "stop":
            ended = lifecycle.stop(folder)
            print("stopped, with every process of it; what is in it stays" if ended else "nothing ran")
        elif args.verb == "reset":
            lifecycle.reset(folder)
            print(f"{folder} is empty")
            _forget_stacks(folder)
        elif args.verb == "seed":
            made = client.post(f"/seed/{args.what}", {"also": args.also.split(",")} if args.also else {}, timeout=600)
            print(f"cluster {made['name']} at {made['endpoint']}, {made['where']}")
        elif args.verb == "clock":
            print(f"speed {client.post('/clock', {'speed': args.speed})['speed']:g}")
        elif args.verb in ("fault", "console"):
            from . import faultcommands

            faultcommands.run(args, client)
        else:
            _status(client, args.json)
    except (NotRunning, CloudError, lifecycle.StartFailed) as error:
        raise FleetError("fleet sim", str(error)) from error
    return 0


def _forget_stacks(folder: Path) -> None:
    """A stack whose cloud is gone cannot be updated or destroyed any more: its state goes with the cloud."""
    state = folder.parent / "state"
    if state.is_dir():
        stacks = sorted(p.stem for p in state.glob(".pulumi/stacks/*/*.json"))
        shutil.rmtree(state)
        print(f"stacks forgotten with it: {', '.join(stacks) or 'none'}")


def _start(folder: Path, args: argparse.Namespace) -> int:
    from . import lifecycle

    begun, status = lifecycle.start(folder, args.speed, not args.without_control_planes)
    word = "started" if begun else "runs"
    print(
        f"embedded datacentre {word}: pid {status['pid']}, account {status['account']}, "
        f"speed {status['speed']:g}, {folder}"
    )
    if not begun and args.speed and args.speed != status["speed"]:
        print(
            f"its speed stays {status['speed']:g}; change it with: fleet sim clock --speed {args.speed:g}",
            file=sys.stderr,
        )
    return 0


def _status(client: Any, as_json: bool) -> None:
    status = client.get("/status")
    if as_json:
        print(json.dumps(status, indent=2))
        return
    print(f"account {status['account']} · pid {status['pid']} · {status['memory_mib']} MiB · "
          f"speed {status['speed']:g} · "
          f"simulated time {status['time']} · {status['operations']} operations running")  # fmt: skip
    rows = [(r["type"], r["owner"], str(r["count"])) for r in status["resources"]]
    _table(("resources", "made by", "count"), rows)
    clusters = [
        (c["name"], c.get("endpoint", ""), c.get("state", ""), f"{c.get('rss', 0) / 2**20:.0f} MiB")
        for c in status["clusters"]
    ]
    if clusters:
        print()
        _table(("control planes", "endpoint", "state", "memory"), clusters)
    total = status["memory_mib"] + sum(c.get("rss", 0) for c in status["clusters"]) / 2**20
    print(f"\nmemory in all: {total:.0f} MiB")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(len(r[i]) for r in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
