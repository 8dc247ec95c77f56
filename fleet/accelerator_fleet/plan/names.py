"""Names that clouds and Kubernetes see, and the checks that they fit: limits come from the catalogue."""

from __future__ import annotations

import hashlib
import json
from typing import Final

from accelerator_fleet.catalog.model import Catalog
from accelerator_fleet.errors import FleetError
from accelerator_fleet.spec.model import FleetSpec

KEY_LENGTH: Final = 8  # hex digits of a shape key: one clash in 65,000 shapes of one pool name


def cluster_name(fleet: str, env: str, site: str) -> str:
    """`{fleet}-{env}-{site}`."""
    return f"{fleet}-{env}-{site}"


def group_prefix(pool: str, shape_key: str) -> str:
    """The node group's name up to the provider's own suffix. It carries the shape key, so shapes never collide."""
    return f"{pool}-{shape_key}-"


def shape_key(shape: dict[str, object]) -> str:
    """Digest of what makes a pool another pool: the keys' order does not matter."""
    text = json.dumps(shape, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def name_errors(spec: FleetSpec, catalog: Catalog) -> list[FleetError]:
    """Names over the clouds' limits, with how many characters fit."""
    limits = catalog.limits.entries
    errors: list[FleetError] = []
    most = limits["eks.cluster.name"].value
    for i, site in enumerate(spec.sites):
        name = cluster_name(spec.fleet, spec.env, site.name)
        if site.cluster.name is None and len(name) > most:
            fits = most - len(name) + len(site.name)
            text = f"the cluster's name '{name}' has {len(name)} characters and EKS takes {most}"
            advice = f"at most {fits} here" if fits > 0 else "shorten `fleet` too"
            errors.append(spec.error(f"sites[{i}].name", f"{text}; {advice}"))
        if site.cluster.name is not None and len(site.cluster.name) > most:
            text = f"'{site.cluster.name}' has {len(site.cluster.name)} characters and EKS takes {most}"
            errors.append(spec.error(f"sites[{i}].cluster.name", text))
    group = limits["eks.nodegroup.name"].value - limits["aws-provider.name-suffix"].value
    fits = group - len(group_prefix("", "0" * KEY_LENGTH))
    for i, pool in enumerate(spec.pools):
        if len(pool.name) > fits:
            text = (
                f"'{pool.name}' has {len(pool.name)} characters; a node group's prefix takes {group} "
                f"and the shape key {group - fits} of them"
            )
            errors.append(spec.error(f"pools[{i}].name", f"{text}; at most {fits}"))
    return errors
