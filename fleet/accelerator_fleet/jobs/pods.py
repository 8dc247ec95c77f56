"""The pods of a job: what each asks for, where it may go, what it is told of the others."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.jobs.templates import Template
from accelerator_fleet.plan.model import PoolPlan, SitePlan, VolumePlan

POOL_LABEL: Final = "accelerator-fleet.dev/pool"
JOB_LABEL: Final = "accelerator-fleet.dev/job"
EFA: Final = "vpc.amazonaws.com/efa"
TPU: Final = "google.com/tpu"
NODE_POOL: Final = "cloud.google.com/gke-nodepool"  # GKE's own label: a TPU slice is one node pool
HOSTS: Final = ("kubernetes.io/hostname", "cloud.google.com/gce-topology-host")  # levels of one host: no gang fits
PORT: Final = 29500
# required: all pods inside one domain of the level, or the job waits; preferred: Kueue tries, and takes several else.
TAS: Final = "kueue.x-k8s.io/podset-{}-topology"
UNCONSTRAINED: Final = TAS.format("unconstrained")  # any nodes that have room
TOPOLOGIES: Final = ("block", "preferred", "none")
INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"  # of a JobSet's pods: which slice


@dataclass(frozen=True)
class JobPlan:
    """How a job fills a pool: pods, one a node, with `cards_per_pod` cards each.

    `slices`: TPU slices that the pods lie in, as many in each.
    """

    name: str
    pods: int
    cards_per_pod: int
    slices: int = 1

    @property
    def cards(self) -> int:
        """Cards of the whole gang."""
        return self.pods * self.cards_per_pod


@dataclass(frozen=True)
class Place:
    """Where a pod finds the others. `hosts`: names of its own slice; the first of the first slice is rank 0.

    `others`: pools beside its own that it may be on.
    """

    hosts: tuple[str, ...]
    first: str | None = None  # of all slices; None: the first of `hosts`
    jobset: bool = False
    others: tuple[str, ...] = ()


def pod_annotations(
    plan: JobPlan, template: Template, pool: PoolPlan, site: SitePlan, topology: str | None
) -> dict[str, str]:
    """Of each pod: where Kueue may place it, and its further network interfaces."""
    return {**_topology(plan, pool, site, topology or template.topology), **_interfaces(plan, pool)}


def _topology(plan: JobPlan, pool: PoolPlan, site: SitePlan, wanted: str) -> dict[str, str]:
    networks = [level for level in site.topology_levels if level not in HOSTS]
    if wanted not in (*TOPOLOGIES, *networks):
        raise FleetError("--topology", unknown("topology", wanted, (*TOPOLOGIES, *networks)))
    able = pool.topology and networks
    if wanted != "preferred" and wanted != "none" and not able:
        raise FleetError("--topology", f"nodes of pool {pool.name} say no network domains; nearest: none")
    if not able:
        return {}
    if wanted == "none" or plan.pods < 2:
        # Beside flavours without a topology Kueue gives one with a topology only to what asks for a place by it.
        return {UNCONSTRAINED: "true"}
    if wanted == "preferred":
        return {TAS.format("preferred"): networks[-1]}
    # The finest domain that the cloud names is what it calls a block (Google: a sub-block) of directly linked hosts.
    return {TAS.format("required"): networks[-1] if wanted == "block" else wanted}


def _interfaces(plan: JobPlan, pool: PoolPlan) -> dict[str, str]:
    """The further networks of A3 and A4 nodes in the pods of a gang: GKE's own annotations, `Network`s by name.

    https://docs.cloud.google.com/ai-hypercomputer/docs/create/gke-ai-hypercompute-custom: with RDMA interfaces the
    gVNIC before them is left out; interface numbers are those of the node. An interface is one pod's alone, and a pod
    of a gang has its node alone.
    """
    rdma = any(n.startswith("rdma") for n in pool.extra_networks)
    used = [(i, n) for i, n in enumerate(pool.extra_networks, 1) if not rdma or n.startswith("rdma")]
    if not used or plan.pods < 2 or pool.sharing is not None:
        return {}
    rows = [{"interfaceName": "eth0", "network": "default"}]
    rows += [{"interfaceName": f"eth{i}", "network": name} for i, name in used]
    return {
        "networking.gke.io/default-interface": "eth0",
        "networking.gke.io/interfaces": json.dumps(rows),
    }


def pod(
    plan: JobPlan,
    template: Template,
    pool: PoolPlan,
    site: SitePlan,
    volumes: tuple[VolumePlan, ...],
    place: Place,
) -> dict[str, Any]:
    """A pod's spec. `volumes`: the fleet's; those that the pool's jobs claim are mounted."""
    resources = {pool.resource: str(plan.cards_per_pod)}
    if (
        pool.efa_interfaces and plan.pods > 1 and pool.sharing is None
    ):  # parts of a card have no interfaces of their own
        resources[EFA] = str(pool.efa_interfaces)
    fields = {"JOB_COMPLETION_INDEX": INDEX} | ({"JOB_INDEX": JOB_INDEX} if place.jobset else {})
    env = {**_env(plan, template, pool, place), **template.env_on(efa=EFA in resources, site=site.kind)}
    container: dict[str, Any] = {
        "name": "train",
        "image": template.image["value"],
        "command": list(template.command),
        "env": [
            # Controllers put the rank into an annotation; commands can only expand what is in `env`.
            *(
                {"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{key}']"}}}
                for name, key in fields.items()
            ),
            *({"name": key, "value": value} for key, value in env.items()),
        ],
        "resources": {"requests": dict(resources), "limits": dict(resources)},
    }
    made: dict[str, Any] = {
        "subdomain": plan.name,
        "restartPolicy": "Never",
        # The flavour has the same label; standing here too, it keeps the job to this pool's flavour.
        "nodeSelector": dict(pool.node_selector) if site.kind == "existing" else {POOL_LABEL: pool.name},
        "containers": [container],
    }
    if tolerations := _tolerations(pool):
        made["tolerations"] = tolerations
    if place.others:
        del made["nodeSelector"]
        pools = {"key": POOL_LABEL, "operator": "In", "values": [pool.name, *place.others]}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [pools]}]}
        made["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    mounted = [v for v in volumes if v.site == site.name and v.claim in pool.volume_claims]
    if mounted:
        container["volumeMounts"] = [{"name": v.claim, "mountPath": v.mount} for v in mounted]
        made["volumes"] = [{"name": v.claim, "persistentVolumeClaim": {"claimName": v.claim}} for v in mounted]
    if pool.resource == TPU and pool.slices > 1 and plan.pods > 1 and not place.jobset:
        made["affinity"] = {**made.get("affinity", {}), **_one_slice(plan)}
    if site.kind == "gke" and pool.sharing is not None and pool.sharing.way == "mps":
        made["hostIPC"] = True  # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/nvidia-mps-gpus
    if place.jobset:
        del made["subdomain"]  # the JobSet controller's
    return made


def _tolerations(pool: PoolPlan) -> list[dict[str, str]]:
    """Of the pool's taints, as the flavour has them.

    Kueue 0.17 takes a node for failed when a pod is late there and the job itself does not tolerate the node's taints:
    https://github.com/kubernetes-sigs/kueue/issues/11152.
    """
    taints = (*pool.taints, *(pool.demand.taints if pool.demand else ()))
    return [{"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in taints]


def _env(plan: JobPlan, template: Template, pool: PoolPlan, place: Place) -> dict[str, str]:
    processes = plan.cards_per_pod * template.processes_per_card(pool.chip)
    first = place.first or place.hosts[0]
    env = {
        "WORLD_NODES": str(plan.pods),
        "CARDS_PER_NODE": str(plan.cards_per_pod),
        "PROCESSES_PER_NODE": str(processes),
        "WORLD_SIZE": str(plan.cards),
        "MASTER_ADDR": first,
        "MASTER_PORT": str(PORT),
    }
    if pool.resource == TPU:
        # libtpu asks for every host of the slice; pods of an indexed Job are found by their index. GKE's own webhook
        # sets the same two where a job leaves them out.
        one = pool.hosts_per_slice == 1  # then every pod is a slice of its own
        env["TPU_WORKER_HOSTNAMES"] = "localhost" if one else ",".join(place.hosts)
        env["TPU_WORKER_ID"] = "0" if one else "$(JOB_COMPLETION_INDEX)"
    if plan.slices > 1:
        # Between slices: https://docs.cloud.google.com/kubernetes-engine/docs/how-to/tpu-multislice
        env["MEGASCALE_NUM_SLICES"] = str(plan.slices)
        env["MEGASCALE_SLICE_ID"] = "$(JOB_INDEX)"
        env["MEGASCALE_COORDINATOR_ADDRESS"] = first
    return env


def _one_slice(plan: JobPlan) -> dict[str, Any]:
    """All pods of the job on the hosts of one slice: the first one chooses, the others follow."""
    term = {"topologyKey": NODE_POOL, "labelSelector": {"matchLabels": {JOB_LABEL: plan.name}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
