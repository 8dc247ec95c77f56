"""`fleet move POOL --to SITE`: prints the two edits of the spec that move a pool to another site."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelerator_fleet.plan.model import PoolPlan
    from accelerator_fleet.plan.move import Move


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `move`."""
    parser = subparsers.add_parser("move", help="the two edits that move a pool to another site; writes nothing")
    parser.add_argument("pool", metavar="POOL")
    parser.add_argument("--to", required=True, metavar="SITE", help="the site it goes to")
    parser.add_argument("--env", default="dev", metavar="ENV", help="environment (dev)")
    parser.add_argument("--file", metavar="PATH", help="a spec file instead of stacks/fleets/ENV.yaml")
    parser.add_argument("--chip", metavar="WORD", help="another chip there")
    parser.add_argument("--cards", type=int, metavar="N", help="another count there")
    parser.add_argument("--zone", metavar="ZONE", help="its zone there")
    parser.add_argument("--topology", metavar="T", help="TPU: its topology there")
    parser.add_argument("--cards-per-node", type=int, metavar="N", help="where the catalogue is not sure of it")
    parser.add_argument("--mode", metavar="MODE", help="capacity mode there: queued-resource, on-demand, spot, …")
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from accelerator_fleet import catalog, spec
    from accelerator_fleet.cli.environment import spec_path
    from accelerator_fleet.plan.move import Wanted, move

    wanted = Wanted(
        args.pool, args.to, args.chip, args.cards, args.zone, args.topology, args.cards_per_node, args.mode
    )  # fmt: skip
    path = Path(args.file) if args.file else spec_path(args.env)
    print(render(move(spec.load(path), catalog.load(), wanted), path.stem))
    return 0


def render(found: Move, env: str) -> str:
    """The move for people: each step's edit, its command, and what to mind."""
    old, new = found.old, found.new
    lines = [f"{old.name}: {_said(old)} -> {new.name}: {_said(new)}", ""]
    lines.append(f"step 1, add beside: stacks/fleets/{env}.yaml, under `pools`")
    if found.narrowed:
        lines.append(f"  in {old.name}: site: {old.site}")
    lines.append(f"  + - {_yaml(found.added)}")
    lines.append(f"  then bring it up (`make up ENV={env}`); {_meanwhile(old, new)}")
    lines += ["", f"step 2, remove: stacks/fleets/{env}.yaml, under `pools`"]
    lines.append(f"  - - {{name: {found.removed}, …}}" + (f"   ({found.place})" if found.place else ""))
    lines.append(f"  then bring it up again: the nodes of {old.name} go")
    lines.append("")
    lines += [f"mind: {m}" for m in found.mind]
    return "\n".join(lines)


def _meanwhile(old: PoolPlan, new: PoolPlan) -> str:
    if new.site == old.site:
        return f"new work runs on {new.name}, old work ends on {old.name}"
    return f"new jobs run on {new.site}, old ones end on {old.site}"


def _said(pool: PoolPlan) -> str:
    from accelerator_fleet.cli.table import count

    machine = f"{pool.nodes} x {pool.machine}" if pool.machine else f"on {count(pool.nodes, 'node')} found there"
    shape = f", {pool.slices} x {pool.topology_shape}" if pool.topology_shape else ""
    shape += f", queued resource of {pool.queued.accelerator_type}" if pool.queued else ""
    return f"{pool.cards} {pool.chip} on {pool.site}{f' ({pool.zone})' if pool.zone else ''}, {machine}{shape}"


def _yaml(entry: dict[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(entry, default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True)
    return text.strip()
