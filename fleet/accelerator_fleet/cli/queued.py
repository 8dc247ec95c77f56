"""A pool that is a Cloud TPU queued resource, as `fleet status` shows it: asked of Cloud TPU's own API."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from accelerator_fleet.errors import FleetError

if TYPE_CHECKING:
    from accelerator_fleet.plan.model import PoolPlan, SitePlan

# What the client reads of the environment that `fleet env` prints.
READ = ("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", "GOOGLE_APPLICATION_CREDENTIALS", "NO_PROXY", "no_proxy")


def row(env: str, pool: PoolPlan, site: SitePlan) -> dict[str, Any]:
    """The pool's row: hosts of nodes that are READY, and the request's state where others have their queue."""
    assert pool.queued is not None
    name = f"projects/{site.project}/locations/{pool.zone}/queuedResources/{pool.queued.id}"
    state, ready, why = _asked(env, str(site.project), name)
    per_host = pool.cards // pool.nodes
    return {
        "pool": pool.name,
        "site": site.name,
        "zone": pool.zone,
        "chip": pool.chip,
        "machine": pool.queued.accelerator_type,
        "nodesReady": ready,
        "nodes": pool.nodes,
        "cardsReady": ready * per_host,
        "cards": pool.cards,
        "quota": "-",
        "queue": f"none: queued resource {state}",
        "queuedResource": {"name": name, "state": state, "error": why},
    }


def _asked(env: str, project: str, name: str) -> tuple[str, int, str]:
    """State, hosts that are ready, and why it failed."""
    from accelerator_fleet.clusters import shell

    # By name: the library does not import the provider, it uses its client where it is installed.
    client = import_module("accelerator_fleet_native.client")
    os.environ.update({k: shell(env)[k] for k in READ if k in shell(env)})
    try:
        asked = client.connect(project)
        found = next(
            (q for q in asked.list_queued_resources(parent=name.partition("/queued")[0]) if q.name == name), None
        )
        if found is None:
            return "missing", 0, ""
        nodes = asked.list_nodes(parent=name.partition("/queued")[0])
        ready = sum(len(n.network_endpoints) for n in nodes if n.queued_resource == name and n.state.name == "READY")
    except Exception as problem:  # of the API, of credentials, of the way: people get a sentence
        raise FleetError(env, f"Cloud TPU does not answer for {name}: {problem}") from problem
    return found.state.state.name, ready, str(found.state.failed_data.error.message)


def lines(pools: list[dict[str, Any]]) -> list[str]:
    """What is to be said below the table: why a request failed, and that it is not asked for again by itself."""
    out = []
    for pool in pools:
        found = pool.get("queuedResource")
        if found and found["state"] in ("FAILED", "SUSPENDED"):
            why = f": {found['error']}" if found["error"] else ""
            again = f"asked for again by `fleet up --retry {pool['pool']}` only"
            out.append(f"{pool['pool']}: its queued resource is {found['state']}{why}; {again}")
    return out
