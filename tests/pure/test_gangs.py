"""Gangs before any cluster: what the JobSet says of restarts, names, places and the vendor's libraries."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accelerator_fleet import catalog, jobs, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.jobs.templates import names
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan

TEXT = """
fleet: accel
tags: {owner: ml-platform, cost-center: research}
sites:
  - {name: use2, kind: eks, account: "000000000000", region: us-east-2, cidr: 10.16.0.0/16}
  - {name: usc1, kind: gke, project: embedded-research, region: us-central1, cidr: 10.20.0.0/14}
pools:
  - {name: pretrain, site: use2, zone: us-east-2c, chip: h100, cards: 128}
  - {name: trn, site: use2, zone: us-east-2c, chip: trn1n, cards: 32, runtime: neuron}
  - {name: tpu, site: usc1, chip: tpu-v5e, topology: 4x4, cards: 48, runtime: jax}
teams: [{name: nlp, quotas: {h100: 64}}]
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> FleetPlan:
    path = tmp_path_factory.mktemp("gangs") / "gangs.yaml"
    path.write_text(TEXT)
    return plan(spec.load(path), catalog.load())


def found(fleet: FleetPlan, name: str) -> tuple[PoolPlan, SitePlan]:
    pool = next(p for p in fleet.pools if p.name == name)
    return pool, fleet.site(pool.site)


def gang(fleet: FleetPlan, name: str, cards: int, template: str = "hello", **wish: Any) -> dict[str, Any]:
    pool, site = found(fleet, name)
    made = jobs.job_plan("train", pool, cards, multislice=True)
    assert jobs.is_gang(made, site)
    return jobs.jobset(made, jobs.load(template), pool, site, fleet.volumes, jobs.Wish(**wish))


def job_of(jobset: dict[str, Any]) -> dict[str, Any]:
    (one,) = jobset["spec"]["replicatedJobs"]
    return dict(one["template"]["spec"])


def env_of(jobset: dict[str, Any]) -> dict[str, str | None]:
    return {e["name"]: e.get("value") for e in job_of(jobset)["template"]["spec"]["containers"][0]["env"]}


def test_one_failed_pod_restarts_all_and_a_nodes_failure_is_not_counted(fleet: FleetPlan) -> None:
    made = gang(fleet, "pretrain", 128, team="nlp", priority="high")
    policy = made["spec"]["failurePolicy"]
    assert policy["restartStrategy"] == "BlockingRecreate"
    assert policy["maxRestarts"] == 3
    assert policy["rules"][0]["action"] == "RestartJobSetAndIgnoreMaxRestarts"
    job = job_of(made)
    assert (job["backoffLimit"], job["parallelism"], job["completions"]) == (0, 16, 16)
    assert job["podFailurePolicy"]["rules"][0]["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
    labels = made["metadata"]["labels"]
    assert labels["kueue.x-k8s.io/queue-name"] == "nlp"
    assert labels["kueue.x-k8s.io/priority-class"] == "high"


def test_the_pods_tolerate_their_pool_themselves_and_ask_for_its_fabric(fleet: FleetPlan) -> None:
    pod = job_of(gang(fleet, "pretrain", 128, "pytorch"))["template"]["spec"]
    assert pod["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}
    ]
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    env = env_of(gang(fleet, "pretrain", 128, "pytorch"))
    assert (env["MASTER_ADDR"], env["FI_PROVIDER"]) == ("train-node-0-0.train", "efa")


@pytest.mark.parametrize(
    ("wanted", "annotation"),
    [
        ("block", ("required", "topology.k8s.aws/network-node-layer-3")),
        ("preferred", ("preferred", "topology.k8s.aws/network-node-layer-3")),
        ("topology.k8s.aws/network-node-layer-2", ("required", "topology.k8s.aws/network-node-layer-2")),
    ],
)
def test_where_a_gang_may_be(fleet: FleetPlan, wanted: str, annotation: tuple[str, str]) -> None:
    said = job_of(gang(fleet, "pretrain", 128, topology=wanted))["template"]["metadata"]["annotations"]
    assert said[f"kueue.x-k8s.io/podset-{annotation[0]}-topology"] == annotation[1]


def test_a_topology_that_is_none_names_the_nearest(fleet: FleetPlan) -> None:
    with pytest.raises(FleetError, match="--topology: unknown topology 'blok'; nearest: block"):
        gang(fleet, "pretrain", 128, topology="blok")


def test_several_tpu_slices_are_one_jobset_each_job_on_its_own_slice(fleet: FleetPlan) -> None:
    made = gang(fleet, "tpu", 32, "jax-tpu")
    (part,) = made["spec"]["replicatedJobs"]
    assert (part["replicas"], part["template"]["spec"]["parallelism"]) == (2, 4)
    exclusive = made["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/exclusive-topology"]
    assert exclusive == "cloud.google.com/gke-nodepool"
    env = env_of(made)
    assert env["TPU_WORKER_ID"] == "$(JOB_COMPLETION_INDEX)"
    assert (env["TPU_WORKER_HOSTNAMES"] or "").split(",")[3] == "train-node-$(JOB_INDEX)-3.train"
    assert (env["MEGASCALE_NUM_SLICES"], env["MEGASCALE_SLICE_ID"]) == ("2", "$(JOB_INDEX)")
    assert env["MEGASCALE_COORDINATOR_ADDRESS"] == "train-node-0-0.train"


def test_chips_that_fill_no_slices_are_refused(fleet: FleetPlan) -> None:
    pool, _ = found(fleet, "tpu")
    with pytest.raises(FleetError) as error:
        jobs.job_plan("train", pool, 24, multislice=True)
    text = "--cards: a job takes one slice 4x4 of pool tpu whole: 16 tpu-v5e chips, or up to 3 slices: 48"
    assert str(error.value) == text


def test_a_process_for_each_neuron_core(fleet: FleetPlan) -> None:
    env = env_of(gang(fleet, "trn", 32, "neuron"))
    assert (env["CARDS_PER_NODE"], env["PROCESSES_PER_NODE"]) == ("16", "32")


def test_a_name_whose_pods_would_be_too_long(fleet: FleetPlan) -> None:
    pool, site = found(fleet, "pretrain")
    made = jobs.job_plan("n" * 50, pool, 128)
    with pytest.raises(FleetError, match="--name: pods of a gang add 16 characters, 63 are the most"):
        jobs.jobset(made, jobs.load("hello"), pool, site)


def test_a_job_on_several_pools_is_on_nodes_of_one_kind(fleet: FleetPlan) -> None:
    pool, site = found(fleet, "pretrain")
    made = jobs.job_plan("train", pool, 16)
    gang = jobs.jobset(made, jobs.load("hello"), pool, site, (), jobs.Wish(others=("burst",)))
    pod = job_of(gang)["template"]["spec"]
    assert "nodeSelector" not in pod
    assert '"values": ["pretrain", "burst"]' in json.dumps(pod["affinity"])
    with pytest.raises(FleetError) as error:
        jobs.further(pool, ["tpu"], {p.name: p for p in fleet.pools})
    assert str(error.value) == "--pool: tpu has not the nodes of pretrain on use2; nearest: --pool pretrain"


@pytest.mark.parametrize("name", names())
def test_every_template_says_where_its_values_are_from(name: str) -> None:
    template = jobs.load(name)
    for variable in template.env.values():
        assert variable.source
        assert variable.date
    json.dumps(template.model_dump())
