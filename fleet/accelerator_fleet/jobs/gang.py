"""A gang as a JobSet: all its pods start together, and all start again when one of them, or its node, fails.

https://jobset.sigs.k8s.io/docs/concepts/: one Job per TPU slice, else one for all nodes. Its controller makes the
Service by whose names the pods find each other.
"""

from __future__ import annotations

from typing import Any, Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet.jobs.manifest import CARDS, Wish, labels
from accelerator_fleet.jobs.pods import JOB_LABEL, NODE_POOL, TPU, JobPlan, Place, pod, pod_annotations
from accelerator_fleet.jobs.templates import Template
from accelerator_fleet.plan.model import PoolPlan, SitePlan, VolumePlan

API: Final = "jobset.x-k8s.io/v1alpha2"
PART: Final = "node"  # the replicated job's name, part of every host name
EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
# A program that fails is tried again this often. Nodes that fail, or are taken by the cloud, are not counted.
RESTARTS: Final = 3
# The pod of a node that is gone, drained or taken has this condition; the Job then fails with this reason.
DISRUPTED: Final = "DisruptionTarget"
DISRUPTED_REASON: Final = "PodFailurePolicy"


def is_gang(plan: JobPlan, site: SitePlan) -> bool:
    """Several nodes, and JobSet is there."""
    return plan.pods > 1 and any(a.name == "jobset" and a.state != "absent" for a in site.addons)


def jobset(
    plan: JobPlan,
    template: Template,
    pool: PoolPlan,
    site: SitePlan,
    volumes: tuple[VolumePlan, ...] = (),
    wish: Wish | None = None,
) -> dict[str, Any]:
    """The JobSet, suspended: Kueue starts it whole, or it waits."""
    template.must_run_on(pool.resource)
    wish = wish or Wish()
    pods = plan.pods // plan.slices
    longest = f"{plan.name}-{PART}-{plan.slices - 1}-{pods - 1}-xxxxx"
    if len(longest) > 63:
        raise FleetError("--name", f"pods of a gang add {len(longest) - len(plan.name)} characters, 63 are the most")
    slice_ = "$(JOB_INDEX)" if plan.slices > 1 else "0"
    hosts = tuple(f"{plan.name}-{PART}-{slice_}-{i}.{plan.name}" for i in range(pods))
    place = Place(hosts, f"{plan.name}-{PART}-0-0.{plan.name}", jobset=True, others=wish.others)
    metadata = {"name": plan.name, "namespace": site.jobs_namespace, "labels": labels(plan, pool, wish)}
    about = {CARDS: str(plan.cards)}
    if pool.resource == TPU and pool.slices > 1:
        about[EXCLUSIVE] = NODE_POOL  # every Job on the nodes of one slice, which no other has
    disrupted = {"type": DISRUPTED, "status": "True"}
    job = {
        "completionMode": "Indexed",
        "parallelism": pods,
        "completions": pods,
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [{"action": "FailJob", "onPodConditions": [disrupted]}]},
        "template": {
            "metadata": {
                "labels": {JOB_LABEL: plan.name},
                "annotations": pod_annotations(plan, template, pool, site, wish.topology),
            },
            "spec": pod(plan, template, pool, site, volumes, place),
        },
    }
    return {
        "apiVersion": API,
        "kind": "JobSet",
        "metadata": {**metadata, "annotations": about},
        "spec": {
            "suspend": True,
            "network": {"enableDNSHostnames": True, "subdomain": plan.name, "publishNotReadyAddresses": True},
            "failurePolicy": {
                "maxRestarts": RESTARTS,
                # None starts before the last pod of the time before is gone: no two pods of one rank.
                "restartStrategy": "BlockingRecreate",
                "rules": [
                    {
                        "name": "nodes",
                        "action": "RestartJobSetAndIgnoreMaxRestarts",
                        "onJobFailureReasons": [DISRUPTED_REASON],
                    }
                ],
            },
            "replicatedJobs": [{"name": PART, "replicas": plan.slices, "template": {"spec": job}}],
        },
    }
