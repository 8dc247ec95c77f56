"""`fleet plan`: what an environment's spec means, without an engine, a cloud or a credential."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from accelerator_fleet.cost.list_price import Estimate
    from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `plan`."""
    parser = subparsers.add_parser("plan", help="what a spec means: machines, nodes, zones, names, list prices")
    parser.add_argument("--env", default="dev", metavar="ENV", help="environment (dev)")
    parser.add_argument("--file", metavar="PATH", help="a spec file instead of stacks/fleets/ENV.yaml")
    parser.add_argument("--json", action="store_true", help="the whole plan, for programs")
    parser.add_argument("--explain", action="store_true", help="why each choice was made, and the facts behind it")
    parser.add_argument("--as-of", metavar="TIME", help="a day other than now: 2026-12-01T11:30:00Z")
    parser.set_defaults(func=_run)


def _moment(said: str | None) -> datetime:
    from datetime import UTC, datetime

    from accelerator_fleet.errors import FleetError
    from accelerator_fleet.plan.times import moment

    if said is None:
        return datetime.now(UTC)
    at = moment(said)
    if at is None:
        raise FleetError("--as-of", f"'{said}' is no time of UTC in RFC 3339, like 2026-12-01T11:30:00Z")
    return at


def _run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from accelerator_fleet.cli.environment import plan_of, spec_path

    as_of = _moment(args.as_of)
    plan = plan_of(Path(args.file) if args.file else spec_path(args.env), as_of=as_of)
    if args.json:
        print(json.dumps(plan.model_dump(mode="json"), indent=2, ensure_ascii=False))
        return 0
    print(render(plan))
    if args.explain:
        print()
        print(explain(plan))
    return 0


def render(plan: FleetPlan) -> str:
    """The plan as tables: sites, pools, quotas, volumes, and the sum at list prices."""
    from accelerator_fleet.catalog import load_prices
    from accelerator_fleet.cli import pools as tables
    from accelerator_fleet.cli.table import count
    from accelerator_fleet.cli.table import render as table
    from accelerator_fleet.cost.list_price import pool_month, system_month, with_given

    prices = with_given(load_prices(), plan.prices)
    money = {p.name: pool_month(p, plan.site(p.site).region, prices) for p in plan.pools}
    parts = [count(len(plan.sites), "site"), count(len(plan.pools), "pool"), count(plan.cards, "card")]
    parts += [count(len(plan.volumes), "volume")] if plan.volumes else []
    lines = [f"{plan.fleet} · {plan.env} · {', '.join(parts)}", ""]
    lines.append(
        table(
            ["site", "kind", "account or project", "region", "network", "cluster", "version", "system", "protect"],
            [
                [
                    s.name,
                    s.kind,
                    s.account or s.project or "-",
                    s.region or "-",
                    network(s),
                    f"{s.cluster.name} (existing)" if s.cluster.existing else s.cluster.name,
                    s.cluster.version or "as found",
                    f"{s.system_pool.nodes} x {s.system_pool.machine}" if s.system_pool else "as found",
                    "yes" if s.protect else "no",
                ]
                for s in plan.sites
            ],
        )
    )
    lines += ["", tables.pools(plan, lambda p: _usd(money[p.name]))]
    lines += [f"shared: {text}" for text in tables.sharing(plan)]
    beside = [f"{p.name} ({_slices(p)})" for p in plan.pools if p.queued]
    if beside:
        lines += ["", f"beside the clusters, without nodes, queue or `fleet job` in them: {', '.join(beside)}"]
    if plan.quotas:
        lines += ["", tables.quotas(plan)]
    if plan.volumes:
        lines += ["", _volumes(plan)]
    if plan.purchases:
        lines += ["", _purchases(plan)]
    lines.append("")
    lines.append(_sum({**money, **{f"{s.name}'s system nodes": system_month(s, prices) for s in plan.sites}}))
    lines += [f"mind: {w.path}: {w.why}" for w in plan.warnings]
    return "\n".join(lines)


def _slices(pool: PoolPlan) -> str:
    assert pool.queued is not None
    until = f", until {pool.queued.valid_until}" if pool.queued.valid_until else ""
    kind = f"{pool.slices} x {pool.queued.accelerator_type} on {pool.queued.runtime_version}"
    return f"queued resource {pool.queued.id}: {kind}{until}"


def network(site: SitePlan) -> str:
    """Which addresses a site has, in a word."""
    if site.network is not None:
        return site.network.cidr or f"{site.network.existing_vpc} (existing)"
    if site.gke_network is not None:
        return f"nodes {site.gke_network.nodes_cidr}, pods {site.gke_network.pods_cidr}"
    return "as found"


def _volumes(plan: FleetPlan) -> str:
    from accelerator_fleet.cli.table import render as table

    return table(
        ["volume", "site", "service", "zone", "GiB", "asked", "mount", "protect"],
        [
            [
                v.name,
                v.site,
                " ".join(x for x in (v.service, v.tier) if x),
                v.zone or "all" if v.service in ("efs", "filestore") else v.zone or "-",
                str(v.size_gib),
                str(v.asked_gib),
                v.mount,
                "yes" if v.protect else "no",
            ]
            for v in plan.volumes
        ],
    )


def _purchases(plan: FleetPlan) -> str:
    from accelerator_fleet.cli.table import render as table

    return table(
        ["purchase", "site", "zone", "machine", "nodes", "starts", "ends", "offering", "USD up front"],
        [
            [
                p.name,
                p.site,
                p.zone,
                p.machine,
                str(p.nodes),
                p.starts,
                p.ends,
                p.offering,
                "?" if p.price is None else f"{p.price:,.0f}",
            ]
            for p in plan.purchases
        ],
    )


def _usd(estimate: Estimate) -> str:
    return "?" if estimate.usd is None else f"{estimate.usd:,.0f}"


def _sum(named: dict[str, Estimate]) -> str:
    estimates = list(named.values())
    known = sum(e.usd for e in estimates if e.usd is not None)
    dates = sorted({e.price.date for e in estimates if e.price and e.price.date})
    when = f"prices of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}" if dates else "no price known"
    missing = [name for name, e in named.items() if e.usd is None]
    # Always a lower bound: what has no fixed count (disks, NAT, traffic, the control plane's hours) is not in it.
    text = f"≥ {known:,.0f} USD/month at list price ({when}), nodes for 730 h; not disks, NAT, traffic, control planes"
    return f"{text}; no price known of {', '.join(missing)}" if missing else text


def explain(plan: FleetPlan) -> str:
    """Reasons by spec path, then the facts relied on with status, source and date."""
    lines = ["why"]
    lines += [f"  {r.path} = {r.choice}: {r.why}" for r in plan.reasons]
    lines.append("relied on")
    for f in plan.relied_on:
        value = f"{f.value} {f.unit}" if f.unit else f"{f.value}"
        lines.append(f"  {f.subject} = {value} [{f.status}] {f.source}{f' ({f.date})' if f.date else ''}")
    return "\n".join(lines)
