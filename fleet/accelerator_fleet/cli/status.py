"""`fleet status`: what is up, read from the clusters: sites, endpoints, pools, nodes, cards, quotas."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightkube import Client

    from accelerator_fleet.plan.model import PoolPlan, SitePlan, VolumePlan


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `status`."""
    parser = subparsers.add_parser("status", help="what is up: sites, pools, cards, endpoints")
    parser.add_argument("--env", default="dev", metavar="ENV", help="environment (dev)")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(func=lambda args: show(args.env, as_json=args.json))


def show(env: str, *, as_json: bool = False) -> int:
    """Prints the table of an environment; every count is read from the cluster now, not from the plan."""
    from accelerator_fleet.clusters import reached

    with reached(env):
        found = read(env)
    if as_json:
        print(json.dumps(found, indent=2))
        return 0
    from accelerator_fleet.cli import queued, table

    sites, pools = found["sites"], found["pools"]
    keys = ["site", "kind", "account", "region", "cluster", "version", "endpoint"]
    table.show(keys, [[str(s[k]) for k in keys] for s in sites])
    print()
    keys = ["pool", "site", "zone", "chip", "machine"]
    table.show(
        [*keys, "nodes", "cards", "quota", "queue"],
        [
            [
                *[str(p[k]) for k in keys],
                f"{p['nodesReady']}/{p['nodes']}",
                f"{p['cardsReady']}/{p['cards']}",
                str(p["quota"]),
                str(p["queue"]),
            ]
            for p in pools
        ],
    )
    for line in queued.lines(pools):
        print(line)
    if found["volumes"]:
        print()
        keys = ["volume", "site", "zone", "service", "size", "claim", "phase"]
        table.show(keys, [[str(v[k]) for k in keys] for v in found["volumes"]])
    return 0


def read(env: str) -> dict[str, Any]:
    """`sites`, `pools` and `volumes` of an environment as the clusters report them.

    `nodesReady`/`nodes`: ready in the API server / planned; `cardsReady`/`cards`: allocatable / planned;
    `quota`: the pool's flavour in the ClusterQueue, cards; `size`, `phase`: of the volume's claim.
    """
    from accelerator_fleet.cli import queued
    from accelerator_fleet.cli.environment import plan_of, spec_path
    from accelerator_fleet.clusters import client, outputs, placements

    path = spec_path(env)
    up = outputs(env)
    plan = plan_of(path, placements(up))
    sites, pools, volumes = [], [], []
    for site in plan.sites:
        if site.name not in up["sites"]:
            continue
        out = up["sites"][site.name]
        reach = client(env, out)
        sites.append(_site(site, out))
        pools += [
            queued.row(env, pool, site) if pool.queued else _pool(pool, site, reach)
            for pool in plan.pools_of(site.name)
        ]
        volumes += [_volume(volume, site, reach) for volume in plan.volumes if volume.site == site.name]
    return {"env": env, "sites": sites, "pools": pools, "volumes": volumes}


def _site(site: SitePlan, out: dict[str, Any]) -> dict[str, Any]:
    return {
        "site": site.name,
        "kind": site.kind,
        "account": site.account or site.project or "-",
        "region": site.region or "-",
        "cluster": out["cluster"],
        # An existing cluster is named by its context; what it is stands in the kubeconfig.
        "version": out.get("version", "-"),
        "endpoint": out.get("endpoint", f"context {out.get('context')}"),
    }


def _pool(pool: PoolPlan, site: SitePlan, client: Client) -> dict[str, Any]:
    from lightkube.resources.core_v1 import Node

    from accelerator_fleet.jobs.cluster import listed
    from accelerator_fleet.jobs.pods import POOL_LABEL

    labels = dict(pool.node_selector) if site.kind == "existing" else {POOL_LABEL: pool.name}
    statuses = [n["status"] for n in listed(client, Node, labels=labels)]
    ready = [s for s in statuses if ("Ready", "True") in {(c["type"], c["status"]) for c in s.get("conditions", [])}]
    return {
        "pool": pool.name,
        "site": site.name,
        "zone": pool.zone or "-",
        "chip": pool.chip,
        "machine": pool.machine or "-",
        "nodesReady": len(ready),
        "nodes": pool.nodes,
        "cardsReady": sum(int(s.get("allocatable", {}).get(pool.resource, "0")) for s in ready),
        "cards": pool.cards,
        "quota": _quota(pool, site, client),
        "queue": f"{site.jobs_namespace}/{pool.local_queue}",
    }


def _volume(volume: VolumePlan, site: SitePlan, client: Client) -> dict[str, Any]:
    from httpx2 import HTTPStatusError
    from lightkube.resources.core_v1 import PersistentVolumeClaim

    found = {"volume": volume.name, "site": site.name, "zone": volume.zone or "-", "service": volume.service}
    found["claim"] = f"{site.jobs_namespace}/{volume.claim}"
    try:
        status = client.get(PersistentVolumeClaim, volume.claim, namespace=site.jobs_namespace).status
    except HTTPStatusError as refused:
        if refused.response.status_code == 404:
            return {**found, "size": "-", "phase": "missing"}
        raise
    size = (status.capacity or {}).get("storage", "-") if status else "-"
    return {**found, "size": size, "phase": (status.phase if status else None) or "-"}


def _quota(pool: PoolPlan, site: SitePlan, client: Client) -> int | str:
    from httpx2 import HTTPStatusError
    from lightkube.generic_resource import create_global_resource

    kind = create_global_resource("kueue.x-k8s.io", "v1beta2", "ClusterQueue", "clusterqueues")
    try:
        queues = [
            q["spec"] for q in client.list(kind) if site.queue in (q["metadata"]["name"], q["spec"].get("cohortName"))
        ]
    except HTTPStatusError as refused:  # the whole kind is missing
        if refused.response.status_code == 404:
            return "-"
        raise
    # With teams the cards lie in several queues of one cohort.
    groups = [group for spec in queues for group in spec.get("resourceGroups", [])]
    flavors = [f for group in groups for f in group["flavors"] if f["name"] == pool.flavor]
    if flavors:
        return sum(int(f["resources"][0]["nominalQuota"]) for f in flavors)
    return "-"
