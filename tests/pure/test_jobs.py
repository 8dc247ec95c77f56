"""Jobs before any cluster: how cards become pods, and what the Job asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelerator_fleet import catalog, jobs, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import PoolPlan, SitePlan
from tests.pure.sites import made

ROOT = Path(__file__).resolve().parents[2]
PROD = plan(spec.load(ROOT / "stacks" / "fleets" / "prod.yaml"), catalog.load())
POOL: PoolPlan = next(p for p in PROD.pools if p.name == "pretrain")
SITE: SitePlan = PROD.site(POOL.site)


@given(cards=st.integers(1, 32).map(lambda n: 8 * n) | st.integers(1, 7))
def test_whole_nodes_or_a_part_of_one_become_that_many_cards(cards: int) -> None:
    made = jobs.job_plan("train", POOL, cards)
    assert made.cards == cards
    assert made.pods == 1 or made.cards_per_pod == POOL.cards_per_node


@given(cards=st.integers(-5, 400).filter(lambda n: not 1 <= n <= 256 or (n > 8 and n % 8)))
def test_every_other_count_is_refused(cards: int) -> None:
    with pytest.raises(FleetError, match="--cards"):
        jobs.job_plan("train", POOL, cards)


def test_counts_between_nodes_name_their_neighbours() -> None:
    with pytest.raises(FleetError) as error:
        jobs.job_plan("train", POOL, 12)
    assert str(error.value) == "--cards: 12 cards do not fill nodes of 8; nearest: 8 or 16"


def test_the_job_goes_through_the_pools_queue_and_asks_for_cards_and_fabric() -> None:
    job, service = jobs.objects(jobs.job_plan("train", POOL, 256), jobs.load("pytorch"), POOL, SITE)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == POOL.local_queue
    assert job["spec"]["parallelism"] == 32
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    env = {e["name"]: e.get("value") for e in pod["containers"][0]["env"]}
    assert (env["WORLD_SIZE"], env["MASTER_ADDR"]) == ("256", "train-0.train")
    assert service["metadata"]["name"] == pod["subdomain"]  # or the rendezvous name does not resolve


def test_a_few_cards_of_one_node_ask_for_no_fabric() -> None:
    job, _ = jobs.objects(jobs.job_plan("try", POOL, 2), jobs.load("hello"), POOL, SITE)
    limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"nvidia.com/gpu": "2"}


@pytest.mark.parametrize(
    ("chip", "interfaces"),
    [
        ("h100", {f"eth{i}": f"gvnic-{i - 1}" for i in range(1, 5)}),
        ("h200", {f"eth{i}": f"rdma-b-{i - 2}" for i in range(2, 10)}),
        ("a100", {}),
    ],
)
def test_a_gang_on_gke_names_the_further_networks_of_its_nodes(chip: str, interfaces: dict[str, str]) -> None:
    zone = "us-central1-b" if chip == "h200" else "us-central1-a"
    fleet = made([{"name": "a", "site": "usc1", "chip": chip, "cards": 16, "zone": zone}])
    pool, site = fleet.pools[0], fleet.site("usc1")
    gang, _ = jobs.objects(jobs.job_plan("train", pool, 16), jobs.load("pytorch"), pool, site)
    said = gang["spec"]["template"]["metadata"]["annotations"]
    if interfaces:
        rows = json.loads(said["networking.gke.io/interfaces"])
        assert {r["interfaceName"]: r["network"] for r in rows} == {"eth0": "default", **interfaces}
        assert set(interfaces.values()) <= {e.name for e in site.gke_network.extra} if site.gke_network else False
        assert said["networking.gke.io/default-interface"] == "eth0"
    else:
        assert "networking.gke.io/interfaces" not in said
    few, _ = jobs.objects(jobs.job_plan("try", pool, 2), jobs.load("hello"), pool, site)
    assert "networking.gke.io/interfaces" not in few["spec"]["template"]["metadata"]["annotations"]


@pytest.mark.parametrize("name", ["", "Train", "a" * 53, "-a", "a_b"])
def test_names_that_kubernetes_refuses_are_refused_before(name: str) -> None:
    with pytest.raises(FleetError, match="--name"):
        jobs.job_plan(name, POOL, 8)


def test_an_unknown_template_names_the_nearest() -> None:
    with pytest.raises(FleetError, match="unknown template 'pytorhc'; nearest: pytorch"):
        jobs.load("pytorhc")
