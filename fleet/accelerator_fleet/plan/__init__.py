"""The plan: the one place where machines, counts, names and addresses are decided. Pure, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from accelerator_fleet.plan.model import FleetPlan

if TYPE_CHECKING:
    from accelerator_fleet.catalog.model import Catalog
    from accelerator_fleet.spec.model import FleetSpec

__all__ = ["FleetPlan", "plan"]


def plan(spec: FleetSpec, catalog: Catalog, placements: Mapping[str, tuple[str, str]] | None = None) -> FleetPlan:
    """What `spec` means, entirely: sites, pools, volumes, names, addresses, facts relied on and reasons.

    `placements`: pool -> (site, zone) that it is in, and `volumes/<name>` -> (site, zone), from the last outputs:
    what the spec leaves open stays there. `reservations/<pool>` -> (reservation or "", machine) of the pool's nodes.
    Raises FleetError or FleetErrors with the path of everything that cannot be built.
    """
    # Here, because the catalogue's models use this package's `model`.
    from accelerator_fleet.plan.fleet import build

    return build(spec, catalog, placements or {})
