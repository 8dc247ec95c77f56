"""The Kubernetes objects of a training job: an indexed Job through a Kueue queue, and the Service of its rendezvous."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet.jobs.templates import Template
from accelerator_fleet.plan.model import PoolPlan, SitePlan

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
# Kueue tries to place the whole gang inside one domain of this level, and says so when it cannot.
TOPOLOGY: Final = "kueue.x-k8s.io/podset-preferred-topology"
POOL_LABEL: Final = "accelerator-fleet.dev/pool"
JOB_LABEL: Final = "accelerator-fleet.dev/job"
CARDS: Final = "accelerator-fleet.dev/cards"
EFA: Final = "vpc.amazonaws.com/efa"
PORT: Final = 29500
NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?")  # pods add an index and a hash to it: 63 in all


@dataclass(frozen=True)
class JobPlan:
    """How a job fills a pool: pods, one a node, with `cards_per_pod` cards each."""

    name: str
    pods: int
    cards_per_pod: int

    @property
    def cards(self) -> int:
        """Cards of the whole gang."""
        return self.pods * self.cards_per_pod


def job_plan(name: str, pool: PoolPlan, cards: int | None) -> JobPlan:
    """Splits `cards` (the whole pool when None) over nodes; raises FleetError with the nearest counts that fit."""
    if NAME.fullmatch(name) is None:
        raise FleetError("--name", f"{name!r} is no Kubernetes name of at most 52 characters (a-z, 0-9, -)")
    full = pool.cards_per_node
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


def objects(plan: JobPlan, template: Template, pool: PoolPlan, site: SitePlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """(Job, headless Service). The Job is created suspended: Kueue starts it whole, or it waits."""
    if "*" not in template.kinds and pool.resource not in template.kinds:
        raise FleetError("TEMPLATE", f"{template.name} runs on {', '.join(template.kinds)}, not on {pool.resource}")
    labels = {JOB_LABEL: plan.name, QUEUE_LABEL: pool.local_queue, POOL_LABEL: pool.name}
    metadata = {"name": plan.name, "namespace": site.jobs_namespace, "labels": labels}
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
                "metadata": {"labels": {JOB_LABEL: plan.name}, "annotations": _topology(plan, pool, site)},
                "spec": _pod(plan, template, pool),
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


def _topology(plan: JobPlan, pool: PoolPlan, site: SitePlan) -> dict[str, str]:
    networks = [level for level in site.topology_levels if level != "kubernetes.io/hostname"]
    return {TOPOLOGY: networks[-1]} if pool.topology and networks and plan.pods > 1 else {}


def _pod(plan: JobPlan, template: Template, pool: PoolPlan) -> dict[str, Any]:
    resources = {pool.resource: str(plan.cards_per_pod)}
    if pool.efa_interfaces and plan.pods > 1:
        resources[EFA] = str(pool.efa_interfaces)
    env = {
        "WORLD_NODES": str(plan.pods),
        "CARDS_PER_NODE": str(plan.cards_per_pod),
        "WORLD_SIZE": str(plan.cards),
        "MASTER_ADDR": f"{plan.name}-0.{plan.name}",
        "MASTER_PORT": str(PORT),
    }
    container = {
        "name": "train",
        "image": template.image["value"],
        "command": list(template.command),
        "env": [
            # The Job controller puts the rank into an annotation; commands can only expand what is in `env`.
            {
                "name": "JOB_COMPLETION_INDEX",
                "valueFrom": {
                    "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
                },
            },
            *({"name": key, "value": value} for key, value in env.items()),
        ],
        "resources": {"requests": dict(resources), "limits": dict(resources)},
    }
    return {
        "subdomain": plan.name,
        "restartPolicy": "Never",
        # The flavour has the same label; standing here too, it keeps the job to this pool's flavour.
        "nodeSelector": {POOL_LABEL: pool.name},
        "containers": [container],
    }
