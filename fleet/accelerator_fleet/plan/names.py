"""Names that clouds and Kubernetes see, and the checks that they fit: limits come from the catalogue."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet.plan.placed import OF_SHAPE
from accelerator_fleet.spec.model import FleetSpec

CLOUDS: Final = ("eks", "gke")
KEY_LENGTH: Final = 8  # hex digits of a shape key: one clash in 65,000 shapes of one pool name


def cluster_name(fleet: str, env: str, site: str) -> str:
    """`{fleet}-{env}-{site}`."""
    return f"{fleet}-{env}-{site}"


def group_prefix(pool: str, shape_key: str) -> str:
    """The node group's name up to the provider's own suffix. It carries the shape key, so shapes never collide."""
    return f"{pool}-{shape_key}-"


def flavor_name(pool: PoolPlan) -> str:
    """The pool's ResourceFlavor. Kueue lets nothing of a flavour change that has a topology: what stands in it is part
    of the name, so that another chip or taint is another flavour. GPUs with their own taint keep the pool's name.
    """
    gpu = [("nvidia.com/gpu", "present", "NoSchedule")]
    plain = pool.topology and [(t.key, t.value, t.effect) for t in pool.taints] == gpu
    if plain or pool.capacity_mode == "existing":
        return pool.name
    if pool.queued is not None:
        return ""  # nothing of it is in the cluster
    return f"{pool.name}-{flavor_key(pool)}"


def flavor_key(pool: PoolPlan) -> str:
    """Digest of what stands in the pool's ResourceFlavor and cannot change there."""
    taints = [[t.key, t.value, t.effect] for t in pool.taints]
    return shape_key({"topology": pool.topology, "taints": taints})


def kept_flavor(pool: PoolPlan, kept: tuple[str, str] | None) -> str:
    """The flavour that is up (`kept`: its name and what it was for), while it is for the same; else the pool's own.

    A name that is up for something else is not taken: Kueue would refuse the change.
    """
    if pool.queued is not None:
        return ""
    name, was_for = kept or ("", "")
    if was_for in {flavor_key(pool), f"{OF_SHAPE}{pool.shape_key}"}:
        return name
    return f"{pool.name}-{flavor_key(pool)}" if name == pool.flavor and pool.topology else pool.flavor


def shape_key(shape: dict[str, object]) -> str:
    """Digest of what makes a pool another pool: the keys' order does not matter."""
    text = json.dumps(shape, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def name_errors(spec: FleetSpec, catalog: Catalog) -> list[FleetError]:
    """Names of pools over the clouds' limits, with how many characters fit."""
    errors: list[FleetError] = []
    kinds = {s.name: s.kind for s in spec.sites}
    for i, pool in enumerate(spec.pools):
        # The strictest of the sites that it may be on.
        for kind in sorted({kinds[s] for s in pool.site if kinds.get(s) in CLOUDS}, reverse=True):
            error = _pool_error(spec, i, kind, catalog)
            if error:
                errors.append(error)
                break
    return errors


def _pool_error(spec: FleetSpec, index: int, kind: str, catalog: Catalog) -> FleetError | None:
    limits, pool = catalog.limits.entries, spec.pools[index]
    if kind == "eks":
        group = limits["eks.nodegroup.name"].value - limits["aws-provider.name-suffix"].value
        fits = group - len(group_prefix("", "0" * KEY_LENGTH))
        what = f"a node group's prefix takes {group} and the shape key {group - fits} of them"
    else:
        group = limits["gke.nodepool.name"].value
        rest = len(f"-{limits['gke.slices'].value - 1}{group_prefix('', '0' * KEY_LENGTH)}")
        fits = group - rest - limits["google-provider.name-suffix"].value
        what = f"a GKE node pool's name takes {group}, and slice, shape key and suffix {group - fits} of them"
    if len(pool.name) <= fits:
        return None
    text = f"'{pool.name}' has {len(pool.name)} characters; {what}; at most {fits}"
    return spec.error(f"pools[{index}].name", text)
