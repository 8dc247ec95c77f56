"""`fleet sim fault add|list|clear`, `fleet sim console scale|terminate`: what goes wrong, and somebody else's hand."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .daemon.faultkinds import KINDS

if TYPE_CHECKING:
    from .client import Client


def register(verbs: argparse._SubParsersAction[Any]) -> None:
    """Add the verbs `fault` and `console` of `fleet sim`."""
    fault = verbs.add_parser("fault", help="make the cloud fail: throttling, stock-outs, lost answers …")
    what = fault.add_subparsers(dest="what", required=True)
    add = what.add_parser("add", help="let something go wrong", formatter_class=argparse.RawDescriptionHelpFormatter,
                          epilog="\n".join(f"{k:<22}{text}" for k, text in KINDS.items()))  # fmt: skip
    add.add_argument("kind", choices=list(KINDS), metavar="KIND", help="one of those below")
    add.add_argument("--cloud", choices=["aws", "gcp"], help="only this cloud")
    add.add_argument("--type", help="only this type: NodeGroup, aws:ec2/*, …")
    add.add_argument("--name", help="only names with this word between hyphens, or fitting this pattern")
    add.add_argument("--zone", help="only this zone")
    add.add_argument("--cluster", "--site", help="only this cluster, by its name or a word of it")
    add.add_argument("--after", type=float, metavar="SECONDS", help="not before so many simulated seconds")
    add.add_argument("--times", type=int, metavar="N", help="only N calls, or N pools; else until it is cleared")
    add.add_argument("--seconds", type=float, help="how long a stale read or an outage lasts")
    what.add_parser("list", help="faults, what they have struck, what they still will")
    clear = what.add_parser("clear", help="forget one, or all")
    clear.add_argument("id", type=int, nargs="?")
    console = verbs.add_parser("console", help="what somebody does in the cloud's console, past every program")
    hands = console.add_subparsers(dest="what", required=True)
    scale = hands.add_parser("scale", help="change the node count of a node group or pool")
    scale.add_argument("name", help="a word of its name, or the whole name")
    scale.add_argument("nodes", type=int)
    gone = hands.add_parser("terminate", help="end a node's machine, as a failure or a spot interruption does")
    gone.add_argument("node", help="its name in Kubernetes")
    reserve = hands.add_parser("reserve", help="Google delivers a reservation of calendar mode")
    reserve.add_argument("name")
    for option in ("--project", "--zone", "--machine"):
        reserve.add_argument(option, required=True)
    reserve.add_argument("--count", type=int, required=True)
    reserve.add_argument("--starts-in", type=float, default=0, metavar="SECONDS", help="simulated seconds from now")
    reserve.add_argument("--ends-in", type=float, required=True, metavar="SECONDS")


def run(args: argparse.Namespace, client: Client) -> None:
    """Carry out one of them."""
    if args.verb == "console" and args.what == "reserve":
        said = ("name", "project", "zone", "machine", "count", "starts_in", "ends_in")
        done = client.post("/console/reserve", {k: getattr(args, k) for k in said})
        print(f"{done['id']}: {args.count} {args.machine}, from {args.starts_in:g} s to {args.ends_in:g} s from now")
    elif args.verb == "console" and args.what == "terminate":
        done = client.post("/console/terminate", {"node": args.node}, timeout=120)
        then = f"another comes in {done['seconds']:g} simulated s" if done["seconds"] else "one comes when a job waits"
        print(f"{done['node']} of {done['pool']} is gone; {then}")
    elif args.verb == "console":
        done = client.post("/console/scale", {"name": args.name, "nodes": args.nodes}, timeout=120)
        print(f"{done['id']}: {done['nodes']} nodes, by hand")
    elif args.what == "add":
        keys = ("kind", "cloud", "type", "name", "zone", "cluster", "after", "times", "seconds")
        print(_line(client.post("/faults", {k: getattr(args, k) for k in keys if getattr(args, k) is not None})))
    elif args.what == "clear":
        gone = client.post("/faults/clear", {"id": args.id} if args.id is not None else {})["cleared"]
        print(f"cleared: {', '.join(map(str, gone)) or 'nothing'}")
    else:
        for row in client.get("/faults"):
            print(_line(row))


def _line(row: dict[str, Any]) -> str:
    where = " ".join(f"{k}={row[k]}" for k in ("cloud", "type", "name", "zone", "cluster") if row[k]) or "everything"
    left = "until it is cleared" if row["left"] is None else f"{row['left']} more"
    when = f", from {row['in']:.0f} simulated s on" if row["in"] > 0 else ""
    struck = f", struck: {', '.join(row['hits'])}" if row["hits"] else ""
    return f"{row['id']:>3}  {row['kind']:<22}{where}: {left}{when}{struck}"
