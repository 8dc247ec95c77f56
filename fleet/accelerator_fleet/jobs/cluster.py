"""Jobs as the API server has them: submit, see where pods landed, list, read logs, delete."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, cast

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.jobs.gang import API as JOBSET_API
from accelerator_fleet.jobs.manifest import CARDS
from accelerator_fleet.jobs.pods import INDEX, JOB_INDEX, JOB_LABEL, POOL_LABEL

if TYPE_CHECKING:
    from lightkube import Client

BLOCK: Final = "topology.k8s.aws/network-node-layer-3"
KWOK: Final = "kwok.x-k8s.io/node"


@dataclass(frozen=True)
class Landed:
    """A pod and its node. `block`: the finest network domain that the cloud names, `-` where it names none."""

    pod: str
    phase: str
    node: str
    zone: str
    block: str
    simulated: bool


@dataclass(frozen=True)
class JobState:
    """One job. `state`: waiting, running, succeeded, failed; `why`: the queue's own words while it waits."""

    name: str
    pool: str
    cards: str
    state: str
    nodes: int
    age_s: int
    why: str


def submit(client: Client, job: dict[str, Any], service: dict[str, Any]) -> None:
    """Creates the Job and its Service; FleetError when the name is taken or the API server refuses."""
    from lightkube import ApiError
    from lightkube.resources.batch_v1 import Job
    from lightkube.resources.core_v1 import Service

    try:
        made = client.create(cast("Job", Job.from_dict(job))).to_dict()
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": plan_name(job), "uid": made["metadata"]["uid"]}
        # Owned by the Job: deleting the Job deletes it.
        service["metadata"]["ownerReferences"] = [owner]
        client.create(cast("Service", Service.from_dict(service)))
    except ApiError as refused:
        raise FleetError("--name", refused.status.message or "refused") from None


def submit_gang(client: Client, gang: dict[str, Any]) -> None:
    """Creates a JobSet; FleetError when the name is taken, JobSet is not there, or the API server refuses."""
    from httpx2 import HTTPStatusError
    from lightkube import ApiError

    kind = jobset_kind()
    try:
        client.create(kind(gang))
    except ApiError as refused:
        raise FleetError("--name", refused.status.message or "refused") from None
    except HTTPStatusError as refused:
        if refused.response.status_code != 404:
            raise
        text = "this cluster has no JobSet, by which a gang comes back whole; `addons: {jobset: {state: managed}}`"
        raise FleetError("--pool", f"{text} installs it") from None


def jobset_kind() -> Any:
    """The client's class of JobSets."""
    from lightkube.generic_resource import create_namespaced_resource

    group, version = JOBSET_API.split("/")
    return create_namespaced_resource(group, version, "JobSet", "jobsets")


def plan_name(job: dict[str, Any]) -> str:
    """The name in a manifest."""
    return str(job["metadata"]["name"])


def states(client: Client, namespace: str) -> list[JobState]:
    """The fleet's jobs in a cluster, oldest first."""
    from lightkube.resources.batch_v1 import Job

    reasons = {name: why for name, _, why in _workloads(client, namespace)}
    jobs = [j for j in listed(client, Job, namespace, {JOB_LABEL: None}) if CARDS in j["metadata"]["annotations"]]
    jobs += _gangs(client, namespace)
    return [
        _state(client, namespace, job, reasons)
        for job in sorted(jobs, key=lambda j: str(j["metadata"]["creationTimestamp"]))
    ]


def _gangs(client: Client, namespace: str) -> list[dict[str, Any]]:
    from httpx2 import HTTPStatusError

    try:
        return [dict(gang) for gang in client.list(jobset_kind(), namespace=namespace, labels={JOB_LABEL: None})]
    except HTTPStatusError as refused:
        if refused.response.status_code == 404:  # no JobSet in this cluster
            return []
        raise


def _pods_of(job: dict[str, Any]) -> int:
    """Pods of a Job, or of a JobSet."""
    spec = job["spec"]
    if "replicatedJobs" not in spec:
        return int(spec["parallelism"])
    return sum(int(r["replicas"]) * int(r["template"]["spec"]["parallelism"]) for r in spec["replicatedJobs"])


def _state(client: Client, namespace: str, job: dict[str, Any], reasons: dict[str, str]) -> JobState:
    meta, status = job["metadata"], job.get("status", {})
    name = str(meta["name"])
    done = {c["type"] for c in status.get("conditions", []) if c["status"] == "True"}
    pods: list[Landed] = []
    if done & {"Complete", "Completed"}:
        state = "succeeded"
    elif "Failed" in done:
        state = "failed"
    else:
        pods = landed(client, namespace, name)
        # Whole or not at all: a gang with one pod still to be placed waits.
        running = pods and len(pods) >= _pods_of(job) and all(p.phase == "Running" for p in pods)
        state = "running" if running else "waiting"
    created = datetime.fromisoformat(str(meta["creationTimestamp"]))
    return JobState(
        name=name,
        pool=meta["labels"].get(POOL_LABEL, "-"),
        cards=meta.get("annotations", {}).get(CARDS, "?"),
        state=state,
        nodes=len({p.node for p in pods if p.node}),
        age_s=int((datetime.now(UTC) - created).total_seconds()),
        why=reasons.get(name, "") if state == "waiting" else "",
    )


def listed(
    client: Client, kind: Any, namespace: str | None = None, labels: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Objects of a kind as the API server's JSON has them: its models would make every field optional."""
    found = client.list(kind, namespace=namespace, labels=labels) if namespace else client.list(kind, labels=labels)
    return [one.to_dict() for one in found]


def wait_for_landing(client: Client, namespace: str, name: str, pods: int, seconds: float) -> tuple[list[Landed], str]:
    """Waits until all pods of a job run on nodes, or `seconds` pass; (pods, the queue's words when it waits)."""
    end = time.monotonic() + seconds
    while True:
        found = landed(client, namespace, name)
        if len(found) >= pods and all(p.node and p.phase == "Running" for p in found):
            return found, ""
        if time.monotonic() >= end:
            return found, next((why for job, _, why in _workloads(client, namespace) if job == name), "")
        time.sleep(0.3)


def landed(client: Client, namespace: str, name: str) -> list[Landed]:
    """The pods of a job in rank order, and where they are."""
    from lightkube.resources.core_v1 import Node, Pod

    pods = sorted(listed(client, Pod, namespace, {JOB_LABEL: name}), key=_rank)
    placed = any(p["spec"].get("nodeName") for p in pods)
    nodes = {n["metadata"]["name"]: n for n in listed(client, Node)} if placed else {}
    return [_landed(pod, nodes.get(pod["spec"].get("nodeName", ""), {})) for pod in pods]


def _rank(pod: dict[str, Any]) -> tuple[int, int]:
    """Slice and place in it."""
    said = pod["metadata"].get("annotations", {})
    return int(said.get(JOB_INDEX, 0)), int(said.get(INDEX, 0))


def _landed(pod: dict[str, Any], node: dict[str, Any]) -> Landed:
    labels = node.get("metadata", {}).get("labels", {})
    return Landed(
        pod=pod["metadata"]["name"],
        phase=pod.get("status", {}).get("phase", "Pending"),
        node=pod["spec"].get("nodeName", ""),
        zone=labels.get("topology.kubernetes.io/zone", "-"),
        block=labels.get(BLOCK, "-"),
        simulated=KWOK in node.get("metadata", {}).get("annotations", {}),
    )


def logs(client: Client, namespace: str, name: str, rank: int) -> Iterator[str]:
    """The log lines of one rank; FleetError names the ranks and jobs that there are."""
    from lightkube import ApiError
    from lightkube.resources.core_v1 import Pod

    pods = dict(enumerate(sorted(listed(client, Pod, namespace, {JOB_LABEL: name}), key=_rank)))
    if not pods:
        _missing(client, namespace, name, "has no pods yet")
    if rank not in pods:
        raise FleetError("--rank", f"{name} has ranks 0 to {max(pods)}")
    try:
        yield from client.log(pods[rank]["metadata"]["name"], namespace=namespace)
    except ApiError as refused:
        raise FleetError(name, refused.status.message or "no log") from None


def delete(client: Client, namespace: str, name: str) -> None:
    """Deletes a job and its pods; FleetError names the jobs that there are."""
    from lightkube import ApiError
    from lightkube.resources.batch_v1 import Job
    from lightkube.types import CascadeType

    gang = any(g["metadata"]["name"] == name for g in _gangs(client, namespace))
    try:
        client.delete(jobset_kind() if gang else Job, name, namespace=namespace, cascade=CascadeType.FOREGROUND)
    except ApiError as refused:
        if refused.status.code != 404:
            raise FleetError(name, refused.status.message or "refused") from None
        _missing(client, namespace, name, "")


def _missing(client: Client, namespace: str, name: str, otherwise: str) -> None:
    known = [s.name for s in states(client, namespace)]
    if name in known:
        raise FleetError(name, otherwise)
    raise FleetError("JOB", unknown("job", name, known))


def _workloads(client: Client, namespace: str) -> list[tuple[str, bool, str]]:
    """(job, admitted, why not) of each Kueue workload."""
    from httpx2 import HTTPStatusError
    from lightkube.generic_resource import create_namespaced_resource

    kind = create_namespaced_resource("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
    try:
        all_ = list(client.list(kind, namespace=namespace))
    except HTTPStatusError as refused:
        if refused.response.status_code == 404:  # no Kueue in this cluster
            return []
        raise
    found = []
    for workload in all_:
        owners = workload["metadata"].get("ownerReferences") or []
        conditions = {c["type"]: c for c in (workload.get("status") or {}).get("conditions", [])}
        admitted = conditions.get("Admitted", {}).get("status") == "True"
        waiting = conditions.get("QuotaReserved", {})
        why = "" if waiting.get("status") != "False" else waiting.get("message", "")
        found += [(o["name"], admitted, why) for o in owners if o["kind"] in ("Job", "JobSet")]
    return found
