"""How a job fills a pool, and a job of one node: an indexed Job through a Kueue queue, and its rendezvous' Service."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.jobs.pods import JOB_LABEL, POOL_LABEL, PORT, JobPlan, Place, pod, pod_annotations
from accelerator_fleet.jobs.priorities import LABEL as PRIORITY_LABEL
from accelerator_fleet.jobs.templates import Template
from accelerator_fleet.plan.model import PoolPlan, SitePlan, VolumePlan

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
CARDS: Final = "accelerator-fleet.dev/cards"
NVIDIA: Final = "nvidia.com/gpu"  # whatever a part of a card is called
NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")  # pods add an index and a hash to it: 63 in all


@dataclass(frozen=True)
class Wish:
    """What a job says beside its cards. `topology`: block, preferred, none, or a level's own label.

    `others`: further pools that it may run on as a whole; Kueue takes the first with room: reserved, on demand, spot.
    """

    team: str | None = None
    priority: str | None = None
    topology: str | None = None
    others: tuple[str, ...] = ()


def further(pool: PoolPlan, names: Sequence[str], pools: Mapping[str, PoolPlan]) -> tuple[str, ...]:
    """Further pools of a job, checked: nodes of one kind on one site, or its pods would not fit everywhere."""
    for name in names:
        if name not in pools:
            raise FleetError("--pool", unknown("pool", name, pools))
        other = pools[name]
        alike = (pool.site, pool.chip, pool.machine, pool.hosts_per_slice, pool.sharing)
        if (other.site, other.chip, other.machine, other.hosts_per_slice, other.sharing) != alike:
            same = [p.name for p in pools.values() if (p.site, p.chip, p.machine) == alike[:3] and p is not pool]
            hint = f"; those are: {', '.join(same)}" if same else f"; nearest: --pool {pool.name}"
            raise FleetError("--pool", f"{name} has not the nodes of {pool.name} on {pool.site}{hint}")
    return tuple(names)


def job_plan(name: str, pool: PoolPlan, cards: int | None, *, multislice: bool = False) -> JobPlan:
    """Splits `cards` (the whole pool when None) over nodes; raises FleetError with the nearest counts that fit.

    `multislice`: whether a job can take several TPU slices (as a JobSet).
    """
    if NAME.fullmatch(name) is None:
        raise FleetError("--name", f"{name!r} is no Kubernetes name of at most 52 characters (a-z, 0-9, -)")
    full = pool.cards_per_node
    hosts = pool.hosts_per_slice or 1
    if pool.sharing is not None:
        return _shared_plan(name, pool, cards)
    if hosts > 1:
        return _slice_plan(name, pool, cards, hosts, pool.slices if multislice else 1)
    most = pool.max_nodes * full
    wanted = most if cards is None else cards
    if wanted < 1 or wanted > most:
        raise FleetError("--cards", f"pool {pool.name} has {most} {pool.chip} cards; a job asks for 1 to {most}")
    if wanted < full:
        return JobPlan(name, 1, wanted)
    if wanted % full:
        below = wanted - wanted % full
        near = [n for n in (below, below + full) if 0 < n <= most]
        raise FleetError(
            "--cards", f"{wanted} cards do not fill nodes of {full}; nearest: {' or '.join(map(str, near))}"
        )
    return JobPlan(name, wanted // full, full)


def _shared_plan(name: str, pool: PoolPlan, cards: int | None) -> JobPlan:
    """A job on shared cards counts their parts; each pod takes one, as the vendors' plugins want it."""
    most = pool.max_nodes * pool.devices_per_node
    wanted = 1 if cards is None else cards
    if not 1 <= wanted <= most:
        assert pool.sharing is not None
        text = f"pool {pool.name} has {most} parts of {pool.chip} cards ({pool.sharing.parts} a card)"
        raise FleetError("--cards", f"{text}; a job asks for 1 to {most}")
    return JobPlan(name, wanted, 1)


def _slice_plan(name: str, pool: PoolPlan, cards: int | None, hosts: int, most: int) -> JobPlan:
    """A job on TPU slices of several hosts takes each whole: its chips are one network."""
    whole = hosts * pool.cards_per_node
    slices, rest = divmod(whole if cards is None else cards, whole)
    if rest or not 1 <= slices <= most:
        text = f"a job takes one slice {pool.topology_shape} of pool {pool.name} whole: {whole} {pool.chip} chips"
        more = f", or up to {most} slices: {most * whole}" if most > 1 else ""
        raise FleetError("--cards", text + more)
    return JobPlan(name, slices * hosts, pool.cards_per_node, slices)


def objects(
    plan: JobPlan,
    template: Template,
    pool: PoolPlan,
    site: SitePlan,
    volumes: tuple[VolumePlan, ...] = (),
    wish: Wish | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(Job, headless Service). The Job is created suspended: Kueue starts it whole, or it waits.

    `volumes`: the fleet's; those that the pool's jobs claim are mounted.
    """
    template.must_run_on(NVIDIA if pool.sharing is not None else pool.resource)
    wish = wish or Wish()
    hosts = tuple(f"{plan.name}-{i}.{plan.name}" for i in range(plan.pods))
    metadata = {"name": plan.name, "namespace": site.jobs_namespace, "labels": labels(plan, pool, wish)}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, "annotations": {CARDS: str(plan.cards)}},
        "spec": {
            "suspend": True,
            "completionMode": "Indexed",
            "parallelism": plan.pods,
            "completions": plan.pods,
            "backoffLimit": 0,
            "template": {
                "metadata": {
                    "labels": {JOB_LABEL: plan.name},
                    "annotations": pod_annotations(plan, template, pool, site, wish.topology),
                },
                "spec": pod(plan, template, pool, site, volumes, Place(hosts, others=wish.others)),
            },
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": plan.name, "namespace": site.jobs_namespace, "labels": {JOB_LABEL: plan.name}},
        "spec": {
            "clusterIP": "None",
            "selector": {JOB_LABEL: plan.name},
            # Ranks look each other up before any of them is ready.
            "publishNotReadyAddresses": True,
            "ports": [{"name": "rendezvous", "port": PORT}],
        },
    }
    return job, service


def labels(plan: JobPlan, pool: PoolPlan, wish: Wish) -> dict[str, str]:
    """Of the job itself: its queue is the team's, or the pool's."""
    out = {JOB_LABEL: plan.name, QUEUE_LABEL: wish.team or pool.local_queue, POOL_LABEL: pool.name}
    return out | ({PRIORITY_LABEL: wish.priority} if wish.priority else {})
