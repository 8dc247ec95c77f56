"""Which quotas of an account or project pools take, under the names that the cloud's console and API have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.plan.machine import CLOUD_OF
from accelerator_fleet.plan.model import FactStatus, PoolPlan, QueuedPlan, QuotaPlan, SitePlan

# mode -> whose quota it is; a mode that is not here has its own.
AS: Final = {
    "aws": {"reserved": "on-demand"},  # the reservation itself counts, used or not
    "gcp": {"flex-start": "spot", "queued-provisioning": "spot", "calendar": "reserved"},  # Google: preemptible quota
}


class _Taken(NamedTuple):
    service: str
    name: str
    code: str
    amount: int
    unit: str
    status: FactStatus


def quotas(pools: Iterable[PoolPlan], sites: Iterable[SitePlan], catalog: Catalog) -> tuple[QuotaPlan, ...]:
    """Every quota that the pools take, once per account and region; an existing cluster's nodes take none."""
    where = {s.name: s for s in sites if s.kind in CLOUD_OF}
    out: dict[tuple[str, str, str], QuotaPlan] = {}
    for pool in pools:
        site = where.get(pool.site)
        taken = _taken(pool, CLOUD_OF[site.kind], catalog) if site is not None else None
        if site is None or taken is None:
            continue
        account = site.account or str(site.project)
        key = (account, site.region, taken.name)
        was = out.get(key)
        fields = {**taken._asdict(), "amount": taken.amount + (was.amount if was else 0)}
        names = (*(was.pools if was else ()), pool.name)
        out[key] = QuotaPlan(account=account, region=site.region, pools=names, **fields)
    return tuple(out.values())


def _taken(pool: PoolPlan, cloud: str, catalog: Catalog) -> _Taken | None:
    if pool.queued is not None:
        return _queued(pool, pool.queued, catalog)
    mode = AS[cloud].get(pool.capacity_mode, pool.capacity_mode)
    machines = catalog.machines.entries if cloud == "aws" else catalog.gke_machines.entries
    for family in _families(pool, cloud, catalog):
        entry = catalog.quotas.entries.get(f"{cloud}/{family}/{mode}")
        if entry is not None:
            each = {"vcpu": machines[pool.machine].vcpu, "cards": pool.cards_per_node, "none": 0}[entry.counts]
            return _Taken(entry.service, entry.name, entry.code, each * pool.max_nodes, entry.unit, entry.status)
    return None


def _queued(pool: PoolPlan, queued: QueuedPlan, catalog: Catalog) -> _Taken:
    """The Cloud TPU API has quotas of its own, by zone, in chips or TensorCores."""
    entry = catalog.cloud_tpu.entries[pool.chip]
    code = entry.spot_quota if queued.provision == "spot" else entry.quota
    unit = "chips" if entry.per_chip == 1 else "TensorCores"
    doubt = entry.doubts.get("quota")
    status = doubt.status if doubt else entry.status
    return _Taken("tpu.googleapis.com", f"{code} in {pool.zone}", code, pool.cards * entry.per_chip, unit, status)


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
