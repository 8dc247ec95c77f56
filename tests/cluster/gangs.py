"""A laboratory for gangs: two blocks of 16 H100 nodes, with the add-ons and queues that a fleet's components make."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accelerator_fleet import catalog, jobs, spec
from accelerator_fleet.jobs.pods import JOB_LABEL, JobPlan
from accelerator_fleet.plan import plan as make_plan
from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan
from accelerator_fleet_engine import binaries
from accelerator_fleet_sim.cluster.api import ClusterRuntime, NodeShape, NodeSpec
from accelerator_fleet_sim.cluster.kube import KubeClient
from tests.cluster.lab import SYSTEM, admin, engine_stack, nodes, until

Json = dict[str, Any]
LAYER = "topology.k8s.aws/network-node-layer-{}"
BLOCK = LAYER.format(3)
BLOCK_NODES = 16
SPOT_NODES = 2
NAME = "gangs"
SPEC = """
fleet: accel
tags: {owner: ml-platform, cost-center: research}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 256}
  - {name: burst, site: use2, zone: us-east-2c, chip: h100, cards: 16, capacity: {mode: spot}}
teams:
  - {name: nlp, quotas: {pretrain: 128}}
  - {name: vision, quotas: {pretrain: 128}}
"""
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/jobs/jobsets"
WORKLOADS = f"{KUEUE}/namespaces/jobs/workloads"


@dataclass
class Gangs:
    """The running laboratory. `gone`: nodes that were taken away."""

    runtime: ClusterRuntime
    plan: FleetPlan
    client: KubeClient
    installed_s: float
    gone: set[str] = field(default_factory=set)

    @property
    def site(self) -> SitePlan:
        return self.plan.sites[0]

    @property
    def pool(self) -> PoolPlan:
        return self.plan.pools[0]

    def place_nodes(self) -> None:
        """The pool's nodes as they now are: all but the ones that are gone."""
        specs = [n for block in ("a", "b") for n in self._block(block) if n.name not in self.gone]
        self.runtime.set_nodes(NAME, "pretrain", specs)
        self.runtime.set_nodes(NAME, "burst", self._block("c"))

    def _block(self, block: str) -> list[NodeSpec]:
        layers = {LAYER.format(1): "nn-1", LAYER.format(2): "nn-2", BLOCK: f"nn-3{block}"}
        pool = self.plan.pools[block == "c"]
        taints = [{"key": t.key, "value": t.value, "effect": t.effect} for t in pool.taints]
        shape = NodeShape(
            {**pool.labels, **layers},
            taints,
            {"cpu": "192", "memory": "2048Gi", "pods": "100", "ephemeral-storage": "200Gi"},
            {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"},
        )
        return nodes(shape, 1, SPOT_NODES if block == "c" else BLOCK_NODES, {"a": 1, "b": 2, "c": 3}[block])

    def run(self, name: str, cards: int, team: str, *, block: str | None = None, **wish: Any) -> float:
        """Submits a gang as `fleet job run` does; `block` narrows it to one. Returns the moment."""
        plan = jobs.job_plan(name, self.pool, cards)
        said = jobs.Wish(team=team, **{"topology": "block", **wish})
        gang = jobs.jobset(plan, jobs.load("hello"), self.pool, self.site, (), said)
        if block is not None:
            pod = gang["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
            pod["nodeSelector"][BLOCK] = f"nn-3{block}"
        self.client.create(JOBSETS, gang)
        return time.monotonic()

    def delete(self, *names: str) -> float:
        for name in names:
            self.client.delete(f"{JOBSETS}/{name}", {"propagationPolicy": "Foreground"})
        began = time.monotonic()
        until("the pods to go", lambda: not any(self.pods(n) for n in names), 60)
        return began

    def clear(self) -> None:
        """No gang, every node back and schedulable."""
        self.delete(*(j["metadata"]["name"] for j in self.client.list(JOBSETS)))
        self.gone.clear()
        self.place_nodes()
        for node in self.client.list("/api/v1/nodes"):
            if node["spec"].get("unschedulable"):
                self.cordon(node["metadata"]["name"], False)
        self.ready()

    def ready(self) -> None:
        """Waits until all nodes of the pool show their cards."""
        want = 2 * BLOCK_NODES + SPOT_NODES - len(self.gone)
        until(f"8 cards on each of {want} nodes", lambda: self._shown() == want, 90)

    def _shown(self) -> int:
        found = [n["status"]["allocatable"] for n in self.client.list("/api/v1/nodes")]
        return sum(a.get("nvidia.com/gpu") == "8" and a.get("vpc.amazonaws.com/efa") == "32" for a in found)

    def pods(self, name: str) -> list[Json]:
        return self.client.list(f"/api/v1/namespaces/jobs/pods?labelSelector={JOB_LABEL.replace('/', '%2F')}%3D{name}")

    def running(self, name: str, pods: int) -> list[Json] | None:
        """All pods of a gang, when all of them run."""
        found = self.pods(name)
        whole = len(found) == pods and all(
            p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"] for p in found
        )
        return found if whole else None

    def started(self, name: str, pods: int, since: float, seconds: float = 60) -> float:
        """Seconds from `since` until all pods run."""
        try:
            until(f"{pods} running pods of {name}", lambda: self.running(name, pods), seconds)
        except AssertionError:
            self.explain(name)
            raise
        return time.monotonic() - since

    def explain(self, name: str) -> None:
        """Prints what a gang's workload and pods say: for whoever reads why a test failed."""
        status = self.workload(name).get("status", {})
        for condition in status.get("conditions", []):
            print(f"{name}: {condition['type']}={condition['status']} {condition['reason']}: {condition['message']}")
        for pod in self.pods(name):
            said = pod["status"].get("conditions", [])
            why = [c.get("message") or c.get("reason") for c in said if c["status"] == "False"]
            print(f"{pod['metadata']['name']} {pod['status'].get('phase')} {pod['spec'].get('nodeName')} {why}")

    def waits(self, name: str, seconds: float = 4) -> str:
        """The gang waits whole, for as long: no pod of it exists. Returns the queue's own words."""
        until(f"a reason why {name} waits", lambda: self.why(name), 20)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.pods(name) == [], f"{name} has pods"
            time.sleep(0.2)
        return self.why(name)

    def why(self, name: str) -> str:
        load = self.workload(name)
        found = [c for c in load.get("status", {}).get("conditions", []) if c["type"] == "QuotaReserved"]
        return str(found[0]["message"]) if found and found[0]["status"] == "False" else ""

    def workload(self, name: str) -> Json:
        for load in self.client.list(WORKLOADS):
            if any(o["name"] == name for o in load["metadata"].get("ownerReferences", [])):
                return load
        return {}

    def blocks(self, name: str) -> set[str]:
        """The blocks in which a gang's pods are."""
        all_ = {
            n["metadata"]["name"]: n["metadata"]["labels"].get(BLOCK, "-") for n in self.client.list("/api/v1/nodes")
        }
        return {all_[p["spec"]["nodeName"]] for p in self.pods(name)}

    def cordon(self, node: str, on: bool = True) -> float:
        self.client.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": on or None}})
        return time.monotonic()

    def fail(self, node: str) -> float:
        """The cloud takes a node: its Node object goes, as the cloud's controller lets it go."""
        self.gone.add(node)
        self.place_nodes()
        return time.monotonic()

    def node(self, block: str, number: int = 1) -> str:
        return self._block(block)[number - 1].name


@contextmanager
def laboratory(folder: Path, text: str = SPEC) -> Iterator[Gangs]:
    """A cluster with the spec's queues, made by the components themselves through the real engine."""
    (folder / "gangs.yaml").write_text(text)
    plan = make_plan(spec.load(folder / "gangs.yaml"), catalog.load())
    runtime = ClusterRuntime(folder / "clusters", print)
    try:
        runtime.ensure(NAME, version="1.36", cluster_id=NAME, authenticate=lambda c, t: None)
        runtime.set_nodes(NAME, "system", nodes(SYSTEM, 1, 2, 0))
        lab = Gangs(runtime, plan, admin(runtime.folder / NAME), 0)
        lab.place_nodes()
        lab.installed_s = install(plan, runtime.admin_kubeconfig(NAME), folder)
        lab.ready()
        yield lab
    finally:
        runtime.stop()


def install(plan: FleetPlan, kubeconfig: Path, folder: Path, *, queues: bool = True) -> float:
    """The site's add-ons, and its queues, in a cluster; the seconds that took."""
    import os

    import pulumi_kubernetes as kubernetes

    from accelerator_fleet_components.addons import CHARTS, SiteAddons
    from accelerator_fleet_components.queues import SiteQueues

    charts = folder / "charts"
    charts.mkdir()
    for name in ("kueue", "jobset", "nvidia-device-plugin"):
        (charts / name).symlink_to(binaries.module_dir(name) / "charts" / name)
    os.environ[CHARTS] = str(charts)
    site = plan.sites[0]

    def program() -> None:
        cluster = kubernetes.Provider("site", kubeconfig=kubeconfig.read_text(), cluster_identifier="lab")
        addons = SiteAddons(site.name, site, cluster, None, [], fair=bool(plan.teams))
        assert addons.kueue is not None
        if queues:
            SiteQueues(site.name, site, plan.pools, cluster, None, [addons.kueue], teams=plan.teams)

    began = time.monotonic()
    engine_stack(folder, program).up(on_output=lambda line: None)
    return time.monotonic() - began


def spread_s(pods: list[Json]) -> float:
    """Seconds between the first pod that started and the last."""
    import datetime as dt

    starts = [dt.datetime.fromisoformat(p["status"]["startTime"]) for p in pods]
    return (max(starts) - min(starts)).total_seconds()


def watched(check: Callable[[], None], until_true: Callable[[], object], seconds: float) -> None:
    """Checks again and again until something is true."""
    end = time.monotonic() + seconds
    while not until_true():
        check()
        assert time.monotonic() < end
        time.sleep(0.1)


__all__ = ["Gangs", "JobPlan", "laboratory", "spread_s", "watched"]
