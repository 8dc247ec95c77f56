"""Faults: how often the provider asks again, what it prints in the end, and what is in the cloud after each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accelerator_fleet_sim.daemon.faultrules import duration
from accelerator_fleet_sim.daemon.server import HttpError
from accelerator_fleet_sim.daemon.unreliable import Unreliable
from tests.sim.account import ACCOUNT, REGION, Account, Refusal, trust
from tests.sim.groups import P5
from tests.sim.project import PROJECT, ZONE, Project
from tests.sim.project import Refusal as GoogleRefusal

VPC = "aws:ec2/vpc:Vpc"
ROLE = "aws:iam/role:Role"


class Provider:
    """Asks as the plugin does: again when the cloud says when. Time passes meanwhile."""

    def __init__(self, side: Account | Project) -> None:
        self.side = side
        if isinstance(side, Account):
            self.cloud = Unreliable("aws", side.aws, side.world.faults, side.store, side.clock)
            self.scope: dict[str, Any] = {"account": ACCOUNT, "region": REGION}
        else:
            self.cloud = Unreliable("gcp", side.control, side.world.faults, side.store, side.clock)
            self.scope = {"project": PROJECT, "region": "us-central1", "zone": "", "labels": {}, "attribution": True}
        self.attempts = 0
        self.waited = 0.0

    def ask(self, verb: str, kind: str, **call: Any) -> Any:
        call |= {"type": kind, "request": "abc", **self.scope}
        while True:
            self.attempts += 1
            try:
                return self.cloud.call(verb, call)
            except HttpError as error:
                again = error.body.get("again")
                if again is None:
                    raise
                seconds = again["wait"] * self.side.clock.speed
                self.side.clock._base += seconds
                self.waited += seconds
                call |= {"attempt": again["attempt"], "began": again["began"]}


def fault(side: Account | Project, kind: str, **more: Any) -> None:
    side.world.faults.add({"kind": kind, **more})


def status(account: Account, operation: str) -> str:
    found = account.store.operation(operation)
    assert found is not None
    return found.status


def vpcs(account: Account) -> int:
    return sum(1 for r in account.store.resources(type=VPC) if r.owner == "program")


def test_a_short_burst_of_throttling_costs_time_only(account: Account) -> None:
    fault(account, "throttling", type="Vpc", times=3)
    provider = Provider(account)
    assert provider.ask("create", VPC, inputs={"cidrBlock": "10.0.0.0/16", "tagsAll": {}})["status"] == "done"
    assert provider.attempts == 4
    assert provider.waited == pytest.approx(1 + 2 + 4)
    assert vpcs(account) == 1


def test_throttling_without_end_ends_as_the_sdk_says(account: Account) -> None:
    fault(account, "throttling", type="Vpc")
    provider = Provider(account)
    with pytest.raises(HttpError) as refused:
        provider.ask("create", VPC, inputs={"cidrBlock": "10.0.0.0/16", "tagsAll": {}})
    assert provider.attempts == 25
    text = refused.value.body["text"]
    assert text.startswith(
        "creating EC2 VPC: operation error EC2: CreateVpc, exceeded maximum number of attempts, 25, "
    )
    assert text.endswith("api error RequestLimitExceeded: Request limit exceeded.")
    assert vpcs(account) == 0
    assert "made" not in refused.value.body, "nothing was made, nothing is in the state"


def test_google_asks_again_for_its_time(project: Project) -> None:
    """A node pool's create is repeated for two hours when throttled, and for 90 seconds when the API is down."""
    cluster = project.cluster()
    inputs = {"cluster": cluster["name"], "location": "us-central1", "nodeLocations": [ZONE], "name": "p",
              "nodeCount": 1, "nodeConfig": {"machineType": "e2-standard-4"}}  # fmt: skip
    for kind, least, most in (("throttling", 7200, 7300), ("5xx", 90, 110)):
        fault(project, kind, type="NodePool")
        provider = Provider(project)
        with pytest.raises(HttpError) as refused:
            provider.ask("create", "gcp:container/nodePool:NodePool", inputs=inputs)
        assert least <= provider.waited <= most
        assert refused.value.body["text"].startswith("error creating NodePool: googleapi: Error ")
        project.world.faults.clear()


def test_a_lost_answer_makes_a_second_vpc(account: Account) -> None:
    """CreateVpc knows no client token: the SDK's second request makes a second VPC, of which nobody knows."""
    fault(account, "timeout-after-create", times=1)
    made = Provider(account).ask("create", VPC, inputs={"cidrBlock": "10.0.0.0/16", "tagsAll": {}})
    assert made["status"] == "done"
    assert vpcs(account) == 2


def test_a_lost_answer_meets_its_own_name(account: Account) -> None:
    fault(account, "timeout-after-create", times=1)
    inputs = {"name": "r", "path": "/", "tagsAll": {}, "assumeRolePolicy": trust("ec2.amazonaws.com")}
    with pytest.raises(HttpError, match="already exists") as refused:
        Provider(account).ask("create", ROLE, inputs=inputs)
    assert refused.value.body["code"] == "EntityAlreadyExists"
    assert account.read("Role", "r") is not None, "it is in the cloud and not in the state"


def test_a_lost_answer_with_a_token_is_the_same_group(account: Account, net: dict[str, Any]) -> None:
    account.cluster(net)
    account.node_group(net, nodeGroupName="first")
    fault(account, "timeout-after-create", type="NodeGroup", times=2)
    inputs = {**account.store.resources(type="aws:eks/nodeGroup:NodeGroup")[0].inputs, "nodeGroupName": "second"}
    provider = Provider(account)
    answer = provider.ask("create", "aws:eks/nodeGroup:NodeGroup", inputs=inputs)
    assert (provider.attempts, answer["id"]) == (3, "c:second")
    assert len(account.store.resources(type="aws:eks/nodeGroup:NodeGroup")) == 2


def test_a_lost_answer_of_google_is_a_name_taken(project: Project) -> None:
    fault(project, "timeout-after-create", times=1)
    with pytest.raises(HttpError, match="already exists"):
        Provider(project).ask("create", "gcp:compute/network:Network",
                              inputs={"name": "n", "autoCreateSubnetworks": False})  # fmt: skip
    assert [r.outputs["name"] for r in project.scope.all("gcp:compute/network:Network")] == ["n"]


def test_a_read_misses_what_was_just_made(account: Account) -> None:
    fault(account, "stale-read", seconds=60)
    made = account.create("Vpc", cidrBlock="10.0.0.0/16")  # the provider waits up to two minutes
    assert account.clock.now() >= account.store.resources(type=VPC)[-1].created + 60
    account.world.faults.clear()
    fault(account, "stale-read", seconds=600, type="Vpc")
    with pytest.raises(Refusal, match=r"reading EC2 VPC .*: couldn't find resource") as refused:
        account.create("Vpc", cidrBlock="10.1.0.0/16")
    identity = refused.value.body["id"]
    assert refused.value.body["made"] == "planned", "the id is known: it stays in the state"
    provider = Provider(account)
    assert provider.ask("read", VPC, id=identity) is None, "a refresh now would drop it from the state"
    account.clock._base += 600
    assert provider.ask("read", VPC, id=identity)["id"] == identity
    assert made["id"] != identity


def test_a_group_that_lacks_machines_asks_for_minutes(account: Account, net: dict[str, Any]) -> None:
    account.cluster(net)
    fault(account, "insufficient-capacity", zone="us-east-2c", times=1)
    began = account.clock.now()
    with pytest.raises(Refusal, match=r"AsgInstanceLaunchFailures.*InsufficientInstanceCapacity") as refused:
        account.node_group(net, "c", **P5)
    assert account.clock.now() - began >= 1200
    assert refused.value.body["made"] == "planned"
    assert (account.read("NodeGroup", "c:g") or {})["status"] == "CREATE_FAILED"
    inputs = {**account.store.resources(type="aws:eks/nodeGroup:NodeGroup")[0].inputs, "labels": {"a": "b"}}
    with pytest.raises(Refusal, match="Nodegroup cannot be updated as it is currently not in Active State"):
        account.update("NodeGroup", "c:g", **inputs)
    account.node_group(net, "a", nodeGroupName="a", **P5)  # another zone
    account.node_group(net, "c", nodeGroupName="h", **P5)  # once is once


def test_capacity_that_comes_back_in_time_is_no_failure(account: Account, net: dict[str, Any]) -> None:
    account.cluster(net)
    fault(account, "insufficient-capacity")
    call = {"type": account.token("NodeGroup"), "account": ACCOUNT, "region": REGION}
    account.node_group(net, nodeGroupName="model", nodes=0)
    inputs = {**account.store.resources(type="aws:eks/nodeGroup:NodeGroup")[0].inputs, "nodeGroupName": "late",
              "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 2}}  # fmt: skip
    operation = account.aws.create({**call, "inputs": inputs})["operation"]
    account.operations.end(operation)
    assert status(account, operation) == "running"
    account.world.faults.clear()
    account.operations.end(operation)
    assert status(account, operation) == "done"
    assert len(account.instances()) == 2


@pytest.mark.parametrize(("kind", "code"), [("quota", "VcpuLimitExceeded"), ("stuck", "NodeCreationFailure")])
def test_other_ends_of_a_node_group(account: Account, net: dict[str, Any], kind: str, code: str) -> None:
    account.cluster(net)
    fault(account, kind, name="g")
    with pytest.raises(Refusal, match=rf"unexpected state 'CREATE_FAILED'.*{code}"):
        account.node_group(net, nodes=2)
    assert account.clusters.nodes_by_group.get(("c", "g"), []) == []
    assert len(account.instances()) == (2 if kind == "stuck" else 0), "instances that never join run and cost money"


def test_a_group_that_runs_is_degraded(account: Account, net: dict[str, Any]) -> None:
    account.cluster(net)
    made = account.node_group(net, nodes=2)
    fault(account, "stuck", name="g")
    inputs = account.store.resources(type="aws:eks/nodeGroup:NodeGroup")[0].inputs
    size = {"minSize": 0, "maxSize": 400, "desiredSize": 3}
    assert account.update("NodeGroup", made["id"], **{**inputs, "scalingConfig": size})["status"] == "DEGRADED"


@pytest.mark.parametrize(
    ("kind", "message"),
    [("stockout", "GCE_STOCKOUT"), ("quota", "QUOTA_EXCEEDED"), ("stuck", "registered with the cluster")],
)
def test_a_pool_in_error_is_read_into_the_state(project: Project, kind: str, message: str) -> None:
    cluster = project.cluster()
    fault(project, kind, name="p", zone=ZONE)
    with pytest.raises(GoogleRefusal) as refused:
        project.pool(cluster, "p", "e2-standard-4", 2)
    assert str(refused.value) == 'NodePool p was created in the error state "ERROR"'
    assert message in refused.value.body["message"], "which only the API says, not the provider"
    assert refused.value.body["made"] == "read"
    assert project.nodes({"name": "p"}) == []
    project.delete("NodePool", refused.value.body["id"])
    project.world.faults.clear()
    assert len(project.nodes(project.pool(cluster, "p", "e2-standard-4", 2))) == 2


def test_what_a_fault_fits(account: Account, net: dict[str, Any]) -> None:
    account.cluster(net)
    for pattern in ({"name": "other"}, {"cluster": "d"}, {"zone": "us-east-2b"}, {"type": "Cluster"}, {"cloud": "gcp"},
                    {"after": 3600}):  # fmt: skip
        fault(account, "insufficient-capacity", **pattern)
    account.node_group(net, "a", nodeGroupName="accel-pretrain-1", nodes=1)
    fault(account, "insufficient-capacity", name="pretrain", cluster="c", zone="us-east-2*", type="NodeGroup")
    with pytest.raises(Refusal, match="InsufficientInstanceCapacity"):
        account.node_group(net, "a", nodeGroupName="accel-pretrain-2", nodes=1)
    with pytest.raises(ValueError, match="no fault 'flood'; there are: throttling, 5xx"):
        fault(account, "flood")


def test_faults_are_in_the_store(account: Account, tmp_path: Path) -> None:
    fault(account, "throttling", times=2)
    from accelerator_fleet_sim.daemon.faults import Faults
    from accelerator_fleet_sim.daemon.store import Store

    other = Faults(Store(account.folder / "cloud.db"), account.clock)
    assert [f.kind for f in other.all()] == ["throttling"]
    assert other.rows()[0]["left"] == 2


def test_durations_as_go_prints_them() -> None:
    assert [duration(s) for s in (30, 60, 2400, 3600, 5400)] == ["30s", "1m0s", "40m0s", "1h0m0s", "1h30m0s"]
