"""Money per month at list prices: nodes × price × 730 h. What has no price makes a sum a lower bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from accelerator_fleet.catalog.model import Price, Prices
from accelerator_fleet.plan.model import GivenPrice, PoolPlan, SitePlan

HOURS_A_MONTH: Final = 730
# A capacity reservation, Google's too, is billed like the on-demand nodes that fill it:
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-reservations-pricing-billing.html
PRICED_AS: Final = {
    "on-demand": "on-demand",
    "reserved": "on-demand",
    "spot": "spot",
    "capacity-block": "capacity-block",
    # Dynamic Workload Scheduler has prices of its own: https://cloud.google.com/products/dws/pricing
    "flex-start": "flex-start",
    "queued-provisioning": "flex-start",
    "calendar": "calendar",
}


@dataclass(frozen=True)
class Estimate:
    """USD per month; `usd` None: no price known. `price` is the row it came from."""

    usd: float | None
    price: Price | None


def with_given(prices: Prices, given: Iterable[GivenPrice]) -> Prices:
    """`prices` with a spec's own in front."""
    own = tuple(Price(**g.model_dump(), status="verified") for g in given)
    return prices.model_copy(update={"entries": (*own, *prices.entries)})


def pool_month(pool: PoolPlan, region: str, prices: Prices) -> Estimate:
    """A pool's nodes for a month, without storage and traffic; zero for nodes that are there already."""
    if pool.capacity_mode == "existing":
        return Estimate(0.0, None)
    mode = pool.queued.provision if pool.queued else pool.capacity_mode
    return _month(pool.machine, region, PRICED_AS[mode], pool.nodes, prices)


def system_month(site: SitePlan, prices: Prices) -> Estimate:
    """A site's system nodes for a month; zero for an existing cluster."""
    if site.system_pool is None:
        return Estimate(0.0, None)
    return _month(site.system_pool.machine, site.region, "on-demand", site.system_pool.nodes, prices)


def _month(machine: str, region: str, mode: str, nodes: int, prices: Prices) -> Estimate:
    for row in prices.entries:
        if (row.machine, row.region, row.mode) == (machine, region, mode) and row.status != "unknown":
            return Estimate(nodes * row.value * HOURS_A_MONTH, row)
    return Estimate(None, None)
