"""Pools whose creation failed: what is left of them is given back first, because no provider asks for them again.

After a failed create the engine remembers the node group or pool with its error. On the next `up` it "updates" what has
not changed: the provider calls nothing, and the engine takes the failed pool for a good one (pulumi/pulumi
step_generator.go: init errors make an empty update; pulumi-terraform-bridge provider.go: a diff without changes). What
Terraform does with a tainted resource, delete and create, is done here: old first, so that the machines that did start
are free to be given again.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from accelerator_fleet_engine.troubles import POOLS

QUEUED = "accelerator-fleet-native:index:QueuedResource"
ENDED = ("FAILED", "SUSPENDING", "SUSPENDED")  # states that a queued resource does not leave by itself
BROKEN = "CREATE_FAILED"  # what EKS says of such a group once its state has been read


@dataclass(frozen=True)
class FailedPool:
    """A node group or node pool that was made and is no good."""

    urn: str
    name: str
    identity: str
    protected: bool


def failed_pools(resources: Iterable[dict[str, Any]]) -> list[FailedPool]:
    """Those among a state's resources whose creation failed; a failed update of a running pool is none."""
    found = []
    for one in resources:
        if one.get("type") not in POOLS or one.get("delete"):
            continue
        errors = [str(e) for e in one.get("initErrors") or []]
        status = (one.get("outputs") or {}).get("status")
        if any(e.startswith("creating ") for e in errors) or status == BROKEN:
            urn = str(one["urn"])
            found.append(FailedPool(urn, urn.rpartition("::")[2], str(one.get("id")), bool(one.get("protect"))))
    return found


def asked_again(resources: Iterable[dict[str, Any]], names: Sequence[str]) -> tuple[list[FailedPool], list[str]]:
    """Queued resources of these pools, and the names that none has: they are asked for again on request only, since a
    failed or suspended one may be what somebody still wants to look at, and its place in the queue is lost."""
    found = {
        str(r["urn"]).rpartition("::")[2]: FailedPool(
            str(r["urn"]), str(r["urn"]).rpartition("::")[2], str(r.get("id")), bool(r.get("protect"))
        )
        for r in resources
        if r.get("type") == QUEUED and not r.get("delete")
    }
    return [found[n] for n in names if n in found], [n for n in names if n not in found]


def unprotect_lines(pools: Iterable[FailedPool], stack: str, prefix: str) -> list[str]:
    """Commands that take the protection off, as typed."""
    return [f"  {prefix}pulumi state unprotect --stack {stack} --yes {shlex.quote(p.urn)}" for p in pools]
