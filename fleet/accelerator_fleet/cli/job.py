"""`fleet job run|list|logs|delete`: training jobs through the queue of a pool or a team."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightkube import Client

    from accelerator_fleet.jobs import Wish
    from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `job`."""
    job = subparsers.add_parser("job", help="submit, list, read and delete training jobs")
    actions = job.add_subparsers(dest="action", required=True, metavar="ACTION")
    submit = actions.add_parser("run", aliases=["submit"], help="start a job on a pool, or queue it until it fits")
    submit.add_argument("template", metavar="TEMPLATE", help="pytorch, pytorch-rocm, jax-tpu, neuron, cann, hello")
    submit.add_argument("--pool", required=True, metavar="NAME", help="the pool to run on, or several: a,b")
    submit.add_argument("--cards", type=int, metavar="N", help="cards of the whole job (default: all of the pool)")
    submit.add_argument("--name", metavar="JOB", help="the job's name (default: TEMPLATE-<time>)")
    submit.add_argument("--wait", type=float, default=30, metavar="S", help="seconds to wait for placement (30)")
    submit.add_argument("--team", metavar="TEAM", help="whose cards (default: the pool's owner)")
    submit.add_argument("--priority", metavar="WORD", help="low, normal, high: high takes low's cards")
    words = "block: inside one, or the job waits; preferred; none; or a level's label"
    submit.add_argument("--topology", metavar="LEVEL", help=f"{words} (default: the template's)")
    listing = actions.add_parser("list", help="jobs of every pool")
    logs = actions.add_parser("logs", help="the log of one rank")
    logs.add_argument("job", metavar="JOB")
    logs.add_argument("--rank", type=int, default=0, metavar="N", help="rank of the node (0)")
    delete = actions.add_parser("delete", help="stop and remove a job")
    delete.add_argument("job", metavar="JOB")
    for parser, run in ((submit, _submit), (listing, _list), (logs, _logs), (delete, _delete)):
        parser.add_argument("--env", default="dev", metavar="ENV", help="environment (dev)")
        parser.set_defaults(func=_reaching(run))


def _reaching(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    def reach(args: argparse.Namespace) -> int:
        from accelerator_fleet.clusters import reached

        with reached(args.env):
            return run(args)

    return reach


def _fleet(env: str) -> tuple[FleetPlan, dict[str, Any]]:
    """The plan of what is up, and the stack's sites."""
    from accelerator_fleet.cli.environment import plan_of, spec_path
    from accelerator_fleet.clusters import outputs, placements

    path = spec_path(env)
    found = outputs(env)
    return plan_of(path, placements(found)), found["sites"]


def _site(env: str, name: str) -> tuple[FleetPlan, SitePlan, PoolPlan, Client]:
    from accelerator_fleet.clusters import client
    from accelerator_fleet.errors import FleetError, unknown

    plan, sites = _fleet(env)
    pools = {p.name: p for p in plan.pools}
    if name not in pools:
        raise FleetError("--pool", unknown("pool", name, pools))
    pool = pools[name]
    if pool.queued is not None:
        with_queue = ", ".join(p.name for p in plan.pools if p.queued is None) or "none"
        text = f"{name} is a Cloud TPU queued resource beside the cluster: it has no queue and no nodes there. Start "
        text += f"work on its hosts (gcloud compute tpus tpu-vm ssh {pool.queued.id} --worker=all --zone {pool.zone}); "
        raise FleetError("--pool", f"{text}pools with a queue: {with_queue}")
    site = plan.site(pool.site)
    return plan, site, pool, client(env, sites[site.name], site.jobs_namespace)


def _sites(env: str) -> list[tuple[SitePlan, Client]]:
    from accelerator_fleet.clusters import client

    plan, found = _fleet(env)
    return [(s, client(env, found[s.name], s.jobs_namespace)) for s in plan.sites if s.name in found]


def _submit(args: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from accelerator_fleet import jobs
    from accelerator_fleet.cli.table import count
    from accelerator_fleet.jobs import cluster

    template = jobs.load(args.template)
    name, *others = args.pool.split(",")
    fleet, site, pool, client = _site(args.env, name)
    name = args.name or f"{template.name}-{datetime.now(UTC):%H%M%S}"
    wish = _wish(args, fleet, pool, others)
    gangs = any(a.name == "jobset" and a.state != "absent" for a in site.addons)
    plan = jobs.job_plan(name, pool, args.cards, multislice=gangs)
    if jobs.is_gang(plan, site):
        cluster.submit_gang(client, jobs.jobset(plan, template, pool, site, fleet.volumes, wish))
    else:
        cluster.submit(client, *jobs.objects(plan, template, pool, site, fleet.volumes, wish))
    nodes, queue = count(plan.pods, "node"), wish.team or pool.local_queue
    print(f"{name}: {plan.cards} {pool.chip} cards on {nodes} of pool {pool.name}, queue {queue}")
    pods, why = cluster.wait_for_landing(client, site.jobs_namespace, name, plan.pods, args.wait)
    _landing(pods)
    if len(pods) < plan.pods or any(p.phase != "Running" for p in pods):
        print(f"waiting: {why or 'not admitted yet'}")
        print(f"see: fleet job list --env {args.env}")
    return 0


def _wish(args: argparse.Namespace, fleet: FleetPlan, pool: PoolPlan, others: list[str]) -> Wish:
    """What the job says, checked against the teams."""
    from accelerator_fleet.errors import FleetError, unknown
    from accelerator_fleet.jobs import Wish, further
    from accelerator_fleet.jobs.priorities import PRIORITIES

    teams = [t.name for t in fleet.teams]
    if args.team is not None and args.team not in teams:
        raise FleetError("--team", unknown("team", args.team, teams) if teams else "the fleet has no `teams:`")
    if args.priority is not None and args.priority not in PRIORITIES:
        raise FleetError("--priority", unknown("priority", args.priority, PRIORITIES))
    if args.priority is not None and not teams:
        raise FleetError("--priority", "priorities come with `teams:`, which the fleet has not")
    owner = pool.tags.get("owner")
    pools = further(pool, others, {p.name: p for p in fleet.pools if p.queued is None})
    return Wish(args.team or (owner if owner in teams else None), args.priority, args.topology, pools)


def _landing(pods: list[Any]) -> None:
    from accelerator_fleet.cli.table import show

    if pods:
        show(
            ["pod", "state", "node", "zone", "network block"],
            [[p.pod, p.phase.lower(), p.node or "-", p.zone, p.block] for p in pods],
        )
    if any(p.simulated for p in pods):
        print("Pods run in kwok here: placed by the real scheduler, no container starts.")


def _list(args: argparse.Namespace) -> int:
    from accelerator_fleet.cli.table import show
    from accelerator_fleet.jobs import cluster

    rows, waiting = [], []
    for site, client in _sites(args.env):
        for job in cluster.states(client, site.jobs_namespace):
            rows.append([job.name, site.name, job.pool, job.cards, job.state, str(job.nodes or "-"), f"{job.age_s} s"])
            waiting += [f"{job.name}: {job.why}"] if job.why else []
    if not rows:
        print(f"no jobs in {args.env}")
        return 0
    show(["job", "site", "pool", "cards", "state", "nodes", "age"], rows)
    for line in waiting:
        print(line)
    return 0


def _find(env: str, job: str) -> tuple[SitePlan, Client]:
    from accelerator_fleet.errors import FleetError, unknown
    from accelerator_fleet.jobs import cluster

    known: list[str] = []
    for site, client in _sites(env):
        names = [s.name for s in cluster.states(client, site.jobs_namespace)]
        if job in names:
            return site, client
        known += names
    raise FleetError("JOB", unknown("job", job, known))


def _logs(args: argparse.Namespace) -> int:
    from accelerator_fleet.jobs import cluster

    site, client = _find(args.env, args.job)
    for line in cluster.logs(client, site.jobs_namespace, args.job, args.rank):
        sys.stdout.write(line if line.endswith("\n") else line + "\n")
    return 0


def _delete(args: argparse.Namespace) -> int:
    from accelerator_fleet.jobs import cluster

    site, client = _find(args.env, args.job)
    cluster.delete(client, site.jobs_namespace, args.job)
    print(f"{args.job}: deleted, its cards are free")
    return 0
