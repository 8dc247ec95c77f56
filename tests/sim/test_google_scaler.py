"""The autoscaler of GKE pools that jobs fill: nodes come for pods and for ProvisioningRequests, and go again."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.google.requests import API
from accelerator_fleet_sim.google.scaler import Scaler
from accelerator_fleet_sim.google.scope import NODE_POOL
from accelerator_fleet_sim.google.services.capacity import seed_calendar
from tests.sim.project import Project, slice_of
from tests.sim.test_google_capacity import FLEX, FLEX_START, H200, NONE, QUEUED, ZONE, east, held, pool

__all__ = ["east"]
GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
Json = dict[str, Any]


class Cluster:
    """The API server's part: pods, requests and their templates."""

    def __init__(self) -> None:
        self.pods: list[Json] = []
        self.requests: list[Json] = []
        self.templates: dict[str, Json] = {}

    def list(self, path: str) -> list[Json]:
        return self.pods if path == "/api/v1/pods" else self.requests

    def find(self, path: str) -> Json | None:
        return self.templates.get(path.rpartition("/")[2])

    def patch(self, path: str, body: Json) -> None:
        name = path.split("/")[-2]
        assert path == f"{API}/namespaces/jobs/provisioningrequests/{name}/status"
        next(r for r in self.requests if r["metadata"]["name"] == name)["status"] = body["status"]

    def request(self, name: str, count: int, resource: str, cards: int, **parameters: str) -> Json:
        self.templates[name] = {"template": {"spec": spec(resource, cards)}}
        made = {
            "metadata": {"name": name, "namespace": "jobs", "uid": name, "creationTimestamp": "2026-12-01T00:00:00Z"},
            "spec": {"provisioningClassName": "queued-provisioning.gke.io", "parameters": parameters,
                     "podSets": [{"count": count, "podTemplateRef": {"name": name}}]},
        }  # fmt: skip
        self.requests.append(made)
        return made


def spec(resource: str, cards: int) -> Json:
    tolerations = [
        {"key": resource, "operator": "Exists"},
        {"key": "cloud.google.com/gke-queued", "operator": "Exists"},
    ]
    return {"tolerations": tolerations, "containers": [{"resources": {"limits": {resource: str(cards)}}}]}


def pending(resource: str, cards: int, **more: Any) -> Json:
    told = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    return {"metadata": {"annotations": {}}, "spec": {**spec(resource, cards), **more},
            "status": {"phase": "Pending", "conditions": told}}  # fmt: skip


def conditions(request: Json) -> set[str]:
    return {c["type"] for c in request.get("status", {}).get("conditions", []) if c["status"] == "True"}


class Watched:
    """A pool, its cluster, and the autoscaler's look at them after some time."""

    def __init__(self, project: Project, made: Json) -> None:
        self.project, self.id = project, made["id"]
        self.cluster, self.scaler = Cluster(), Scaler(project.world, project.control)

    @property
    def nodes(self) -> list[str]:
        found = self.project.scope.find(NODE_POOL, self.id)
        assert found is not None
        assert found.outputs["nodeCount"] == len(found.hidden["nodes"])
        names = [n["name"] for n in found.hidden["nodes"]]
        assert sorted(n.name for n in self.project.nodes(found.outputs)) == sorted(names)
        return names

    def after(self, seconds: float) -> int:
        for wait in (0, seconds):
            self.project.clock._base += wait
            found = self.project.scope.find(NODE_POOL, self.id)
            assert found is not None
            self.scaler.look(self.project.scope, [found], self.cluster)  # type: ignore[arg-type]
        return len(self.nodes)

    def run(self) -> None:
        """The scheduler binds what waits."""
        for pod, node in zip(self.cluster.pods, self.nodes, strict=True):
            pod["spec"]["nodeName"] = node
            pod["status"] = {"phase": "Running"}


@pytest.fixture
def flex(project: Project, east: Json) -> Watched:
    return Watched(project, pool(project, east, "a3-ultragpu-8g", FLEX_START, **FLEX))


def test_nodes_come_for_pods_that_wait_and_go_when_idle(flex: Watched) -> None:
    assert flex.after(3600) == 0
    flex.cluster.pods = [pending(GPU, 8) for _ in range(3)]
    assert flex.after(60) == 0  # Google looks for machines
    assert flex.after(300) == 3
    flex.run()
    assert flex.after(3000) == 3
    flex.cluster.pods = flex.cluster.pods[:1]
    assert flex.after(300) == 3
    assert flex.after(400) == 1
    flex.cluster.pods = []
    assert flex.after(700) == 0


def test_a_flex_start_node_ends_at_its_longest_run(flex: Watched) -> None:
    flex.cluster.pods = [pending(GPU, 8)]
    flex.after(400)
    flex.run()
    assert flex.after(21000) == 1
    assert flex.after(700) == 0


def test_no_more_than_the_pool_may_have_and_several_pods_a_node(flex: Watched) -> None:
    flex.cluster.pods = [pending(GPU, 4) for _ in range(3)]
    assert flex.after(400) == 2
    flex.cluster.pods += [pending(GPU, 8) for _ in range(9)]
    assert flex.after(400) == 4


@pytest.mark.parametrize("more", [{"nodeSelector": {"accelerator-fleet.dev/pool": "other"}}, {"tolerations": []}])
def test_pods_that_would_not_run_there_bring_nothing(flex: Watched, more: Json) -> None:
    flex.cluster.pods = [pending(GPU, 8, **more)]
    assert flex.after(400) == 0


def test_where_the_zone_has_none_the_pool_waits(flex: Watched) -> None:
    flex.project.world.catalog.account["stock"]["a3-ultragpu-8g"] = {ZONE: 1}
    flex.cluster.pods = [pending(GPU, 8) for _ in range(2)]
    assert flex.after(4000) == 0  # both or none
    flex.project.world.catalog.account["stock"]["a3-ultragpu-8g"] = {ZONE: 2}
    assert flex.after(1) == 2


def test_a_queued_pool_gives_nothing_without_a_request(project: Project, east: Json) -> None:
    watched = Watched(project, pool(project, east, "a3-ultragpu-8g", FLEX_START, **QUEUED))
    watched.cluster.pods = [pending(GPU, 8)]
    assert watched.after(9000) == 0


def test_a_request_is_queued_then_provisioned_whole_and_ends(project: Project, east: Json) -> None:
    tpu = {**QUEUED, **slice_of("4x4")}
    watched = Watched(project, pool(project, east, "ct6e-standard-4t", {**NONE, "flexStart": True}, **tpu))
    request = watched.cluster.request("r", 4, TPU, 4, maxRunDurationSeconds="3600")
    assert watched.after(60) == 0
    assert conditions(request) == {"Accepted"}
    assert watched.after(600) == 4
    assert conditions(request) == {"Accepted", "Provisioned"}
    watched.cluster.pods = [pending(TPU, 4) for _ in range(4)]
    watched.run()
    assert watched.after(700) == 4
    assert conditions(request) == {"Accepted", "Provisioned", "BookingExpired"}
    assert watched.after(3600) == 0  # its pods end with the nodes
    assert "CapacityRevoked" in conditions(request)


def test_booked_nodes_that_nobody_uses_go(project: Project, east: Json) -> None:
    watched = Watched(project, pool(project, east, "a3-ultragpu-8g", FLEX_START, **QUEUED))
    watched.cluster.request("r", 2, GPU, 8)
    watched.after(1)
    assert watched.after(600) == 2
    assert watched.after(500) == 2
    assert watched.after(1300) == 0


def test_a_request_that_fits_no_pool_fails(project: Project, east: Json) -> None:
    watched = Watched(project, pool(project, east, "a3-ultragpu-8g", FLEX_START, **QUEUED))
    request = watched.cluster.request("r", 9, GPU, 8)
    watched.after(1)
    assert conditions(request) == {"Failed"}


def test_a_calendar_pool_lives_between_the_dates(project: Project, east: Json) -> None:
    now = project.clock.now()
    row = {"name": "block-1", "machine": "a3-ultragpu-8g", "count": 2, "starts": now + 3600, "ends": now + 90000}
    seed_calendar(project.scope, ZONE, row)
    auto = {"nodeCount": None, "autoscaling": {"minNodeCount": 0, "maxNodeCount": 2}}
    watched = Watched(project, pool(project, east, "a3-ultragpu-8g", {**H200, **held("block-1")}, **auto))
    watched.cluster.pods = [pending(GPU, 8) for _ in range(2)]
    assert watched.after(3000) == 0  # not yet
    assert watched.after(700) == 2
    watched.run()
    assert watched.after(80000) == 2
    assert watched.after(10000) == 0  # the reservation ended, and its machines with it
