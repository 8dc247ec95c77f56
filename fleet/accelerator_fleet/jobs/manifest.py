"""The Kubernetes objects of a training job: an indexed Job through a Kueue queue, and the Service of its rendezvous."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet.jobs.templates import Template
from accelerator_fleet.plan.model import PoolPlan, SitePlan, VolumePlan

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
# Kueue tries to place the whole gang inside one domain of this level, and says so when it cannot.
TOPOLOGY: Final = "kueue.x-k8s.io/podset-preferred-topology"
POOL_LABEL: Final = "accelerator-fleet.dev/pool"
JOB_LABEL: Final = "accelerator-fleet.dev/job"
CARDS: Final = "accelerator-fleet.dev/cards"
EFA: Final = "vpc.amazonaws.com/efa"
TPU: Final = "google.com/tpu"
NODE_POOL: Final = "cloud.google.com/gke-nodepool"  # GKE's own label: a TPU slice is one node pool
HOSTS: Final = ("kubernetes.io/hostname", "cloud.google.com/gce-topology-host")  # levels of one host: no gang fits
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
    hosts = pool.hosts_per_slice or 1
    if hosts > 1:
        return _slice_plan(name, pool, cards, hosts)
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


def _slice_plan(name: str, pool: PoolPlan, cards: int | None, hosts: int) -> JobPlan:
    """A job on a TPU slice of several hosts takes the slice whole: its chips are one network."""
    whole = hosts * pool.cards_per_node
    if cards is not None and cards != whole:
        text = f"a job takes one slice {pool.topology_shape} of pool {pool.name} whole: {whole} {pool.chip} chips"
        raise FleetError("--cards", text)
    return JobPlan(name, hosts, pool.cards_per_node)


def objects(
    plan: JobPlan,
    template: Template,
    pool: PoolPlan,
    site: SitePlan,
    volumes: tuple[VolumePlan, ...] = (),
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(Job, headless Service). The Job is created suspended: Kueue starts it whole, or it waits.

    `volumes`: the fleet's; those that the pool's jobs claim are mounted.
    """
    if "*" not in template.kinds and pool.resource not in template.kinds:
        raise FleetError("TEMPLATE", f"{template.name} runs on {', '.join(template.kinds)}, not on {pool.resource}")
    mounted = tuple(v for v in volumes if v.site == site.name and v.claim in pool.volume_claims)
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
                "metadata": {
                    "labels": {JOB_LABEL: plan.name},
                    "annotations": {**_topology(plan, pool, site), **_interfaces(plan, pool)},
                },
                "spec": _pod(plan, template, pool, site, mounted),
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
    networks = [level for level in site.topology_levels if level not in HOSTS]
    return {TOPOLOGY: networks[-1]} if pool.topology and networks and plan.pods > 1 else {}


def _interfaces(plan: JobPlan, pool: PoolPlan) -> dict[str, str]:
    """The further networks of A3 and A4 nodes in the pods of a gang: GKE's own annotations, `Network`s by name.

    https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom: with RDMA interfaces the
    gVNIC before them is left out; interface numbers are those of the node. An interface is one pod's alone, and a pod
    of a gang has its node alone.
    """
    rdma = any(n.startswith("rdma") for n in pool.extra_networks)
    used = [(i, n) for i, n in enumerate(pool.extra_networks, 1) if not rdma or n.startswith("rdma")]
    if not used or plan.pods < 2:
        return {}
    rows = [{"interfaceName": "eth0", "network": "default"}]
    rows += [{"interfaceName": f"eth{i}", "network": name} for i, name in used]
    return {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(rows),
    }


def _pod(
    plan: JobPlan, template: Template, pool: PoolPlan, site: SitePlan, volumes: tuple[VolumePlan, ...]
) -> dict[str, Any]:
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
    if pool.resource == TPU:
        # libtpu asks for every host of the slice; pods of an indexed Job are found by their index.
        hosts = [f"{plan.name}-{i}.{plan.name}" for i in range(plan.pods)]
        one = pool.hosts_per_slice == 1  # then every pod is a slice of its own
        env["TPU_WORKER_HOSTNAMES"] = "localhost" if one else ",".join(hosts)
        env["TPU_WORKER_ID"] = "0" if one else "$(JOB_COMPLETION_INDEX)"
    container: dict[str, Any] = {
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
    pod: dict[str, Any] = {
        "subdomain": plan.name,
        "restartPolicy": "Never",
        # The flavour has the same label; standing here too, it keeps the job to this pool's flavour.
        "nodeSelector": dict(pool.node_selector) if site.kind == "existing" else {POOL_LABEL: pool.name},
        "containers": [container],
    }
    if volumes:
        container["volumeMounts"] = [{"name": v.claim, "mountPath": v.mount} for v in volumes]
        pod["volumes"] = [{"name": v.claim, "persistentVolumeClaim": {"claimName": v.claim}} for v in volumes]
    if pool.resource == TPU and pool.slices > 1 and plan.pods > 1:
        pod["affinity"] = _one_slice(plan)
    return pod


def _one_slice(plan: JobPlan) -> dict[str, Any]:
    """All pods of the job on the hosts of one slice: the first one chooses, the others follow."""
    term = {"topologyKey": NODE_POOL, "labelSelector": {"matchLabels": {JOB_LABEL: plan.name}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
