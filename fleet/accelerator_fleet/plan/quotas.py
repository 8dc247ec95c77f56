"""Which quota of the account or project a pool takes, under the names that its cloud's console and API have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.plan.model import PoolPlan, QueuedPlan, QuotaPlan, SitePlan

# mode -> whose quota it is; a mode that is not here has its own.
AS: Final = {
    "aws": {"reserved": "on-demand"},  # the reservation itself counts, used or not
    "gcp": {"flex-start": "spot", "queued-provisioning": "spot", "calendar": "reserved"},  # Google: preemptible quota
}


def quotas(pool: PoolPlan, kind: str, catalog: Catalog) -> tuple[QuotaPlan, ...]:
    """What the pool takes at its largest; (): an existing cluster's nodes, or a machine whose quota is not known."""
    if kind not in ("eks", "gke") or not pool.machine:
        return ()
    if pool.queued is not None:
        return _queued(pool, pool.queued, catalog)
    cloud = "aws" if kind == "eks" else "gcp"
    mode = AS[cloud].get(pool.capacity_mode, pool.capacity_mode)
    known = catalog.quotas.entries
    for family in _families(pool, cloud, catalog):
        entry = known.get(f"{cloud}/{family}/{mode}")
        if entry is None:
            continue
        machines = catalog.machines.entries if cloud == "aws" else catalog.gke_machines.entries
        each = {"vcpu": machines[pool.machine].vcpu, "cards": pool.cards_per_node, "none": 0}[entry.counts]
        return (
            QuotaPlan(
                service=entry.service,
                name=entry.name,
                code=entry.code,
                amount=each * pool.max_nodes,
                unit=entry.unit,
                status=entry.status,
            ),
        )
    return ()


def _queued(pool: PoolPlan, queued: QueuedPlan, catalog: Catalog) -> tuple[QuotaPlan, ...]:
    """The Cloud TPU API has quotas of its own, by zone, in chips or TensorCores."""
    entry = catalog.cloud_tpu.entries[pool.chip]
    code = entry.spot_quota if queued.provision == "spot" else entry.quota
    unit = "chips" if entry.per_chip == 1 else "TensorCores"
    doubt = entry.doubts.get("quota")
    return (
        QuotaPlan(
            service="tpu.googleapis.com",
            name=f"{code} in {pool.zone}",
            code=code,
            amount=pool.cards * entry.per_chip,
            unit=unit,
            status=doubt.status if doubt else entry.status,
        ),
    )


def _families(pool: PoolPlan, cloud: str, catalog: Catalog) -> Iterator[str]:
    """Under which words the machine's quota may stand, the narrowest first: p5en, p, *."""
    if cloud == "gcp":
        yield catalog.gke_machines.entries[pool.machine].accelerator
    else:
        family = pool.machine.partition(".")[0]
        yield family
        letters = re.match(r"[a-z]+", family)
        yield letters.group() if letters else family
    yield "*"


def with_quotas(pool: PoolPlan, kind: str, catalog: Catalog) -> PoolPlan:
    """The pool on a site of `kind`, and its quotas."""
    return pool.model_copy(update={"quotas": quotas(pool, kind, catalog)})


def summed(pools: tuple[PoolPlan, ...], sites: tuple[SitePlan, ...]) -> list[tuple[str, QuotaPlan, int, list[str]]]:
    """(account or project and region, quota, amount, pools) of a fleet: quotas are per account and region."""
    where = {s.name: f"{s.account or s.project} {s.region}" for s in sites}
    out: dict[tuple[str, str], tuple[str, QuotaPlan, int, list[str]]] = {}
    for pool in pools:
        for quota in pool.quotas:
            key = (where[pool.site], quota.name)
            _, _, amount, names = out.get(key, ("", quota, 0, []))
            out[key] = (key[0], quota, amount + quota.amount, [*names, pool.name])
    return list(out.values())
