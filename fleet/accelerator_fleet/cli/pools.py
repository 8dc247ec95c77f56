"""The pools of a plan as tables: machines, network and placement; shared cards; quotas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accelerator_fleet.plan.model import FleetPlan, PoolPlan

HEAD = (
    *("pool", "site", "zone", "chip", "machine", "nodes", "cards", "topology", "network", "placement", "capacity"),
    *("scaling", "USD/month"),
)


def pools(plan: FleetPlan, money: Callable[[PoolPlan], str]) -> str:
    """One line a pool; `money` says what it costs."""
    from accelerator_fleet.cli.table import render

    rows = [
        [
            p.name,
            p.site,
            p.zone or "-",
            p.chip,
            p.machine or "as found",
            str(p.nodes),
            str(p.cards),
            f"{p.slices} x {p.topology_shape}" if p.topology_shape else "-",
            network(p),
            placement(p),
            " ".join(x for x in (p.capacity_mode, p.queued.provision if p.queued else "", p.reservation) if x),
            p.scaling if p.scaling == "fixed" else f"auto {p.min_nodes}-{p.max_nodes} nodes",
            money(p),
        ]
        for p in plan.pools
    ]
    return render(HEAD, rows)


def network(pool: PoolPlan) -> str:
    """A node's interfaces beside its usual one: `32 EFA`, `1 gVNIC + 8 RDMA`; `ICI` of a slice of several hosts."""
    if pool.efa_interfaces:
        return f"{pool.efa_interfaces} EFA"
    kinds = Counter("RDMA" if n.startswith("rdma") else "gVNIC" for n in pool.extra_networks)
    if kinds:
        return " + ".join(f"{n} {kind}" for kind, n in sorted(kinds.items(), key=lambda k: k[0] == "RDMA"))
    return "ICI" if (pool.hosts_per_slice or 1) > 1 else "-"


def placement(pool: PoolPlan) -> str:
    """How nodes come to lie close together."""
    if pool.existing_placement_group:
        return f"{pool.existing_placement_group} (its reservation's)"
    if pool.placement_group:
        return "cluster group"
    if pool.placement_policy:
        return f"compact {pool.topology_shape}" if pool.topology_shape else "compact"
    return "-"


def sharing(plan: FleetPlan) -> list[str]:
    """What jobs get of pools whose cards are shared."""
    out = []
    for p in plan.pools:
        if p.sharing is not None:
            each = p.sharing.profile or f"{p.sharing.way.replace('_', ' ')}"
            all_ = p.max_nodes * p.devices_per_node
            out.append(f"{p.name}: {p.sharing.parts} x {each} on each card, {all_} of {p.resource} for jobs, one a pod")
    return out


def quotas(plan: FleetPlan) -> str:
    """Quotas by account and region, with what the pools take of them; "": none is known."""
    from accelerator_fleet.cli.table import render

    if not plan.quotas:
        return ""
    rows = [
        [
            q.name,
            q.service,
            q.code or "?",
            f"{q.account} {q.region}",
            f"{q.amount} {q.unit}" if q.unit != "-" else "-",
            q.status,
            ", ".join(q.pools),
        ]
        for q in plan.quotas
    ]
    return render(["quota", "service", "code", "account or project", "takes", "name is", "pools"], rows)
