"""Shared cards: what jobs get of a card, where it can be had, and that whole cards stay as they are."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from accelerator_fleet import jobs
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan.sharing import CONFIG_LABEL, MPS_LABEL
from tests.pure.sites import C, made, refusal

# Typed from NVIDIA's MIG user guide: instances of a profile on one card.
MIG = {
    "a100-40gb-sxm": {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "4g.20gb": 1, "7g.40gb": 1},
    "a100-80gb-sxm": {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1},
    "h100-sxm": {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "4g.40gb": 1, "7g.80gb": 1},
    "h200-sxm": {"1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "4g.71gb": 1, "7g.141gb": 1},
    "b200-sxm": {"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "4g.90gb": 1, "7g.180gb": 1},
}


def pool(**more: Any) -> dict[str, Any]:
    return {"name": "a", "site": "usc1", "chip": "h100", "cards": 8, **more}


@pytest.mark.parametrize(("chip", "profiles"), MIG.items())
def test_profiles_as_nvidia_lists_them(chip: str, profiles: dict[str, int]) -> None:
    assert C.mig.entries[chip].profiles == profiles
    assert set(C.mig.entries[chip].gke) <= set(profiles)


def test_mig_on_gke_is_counted_in_partitions() -> None:
    fleet = made([pool(sharing={"mig": "1g.10gb"})])
    (shared,), (whole,) = fleet.pools, made([pool()]).pools
    assert shared.sharing is not None
    assert (shared.sharing.parts, shared.devices_per_node, shared.cards) == (7, 56, 8)
    assert shared.resource == "nvidia.com/gpu"  # as GKE's own plugin names partitions
    assert shared.shape_key != whole.shape_key  # the partition is fixed when the nodes are made
    assert shared.group_name_prefix != whole.group_name_prefix
    assert whole.model_dump(exclude={"sharing", "shape_key", "group_name_prefix"}) == shared.model_dump(
        exclude={"sharing", "shape_key", "group_name_prefix"}
    )


def test_time_slicing_and_mps_on_eks_are_a_label_of_the_nodes_and_a_configuration_of_the_plugin() -> None:
    fleet = made(
        [
            {
                "name": "turns",
                "site": "use2",
                "chip": "l4",
                "machine": "g6.xlarge",
                "cards": 3,
                "sharing": {"time_slicing": 4},
            },
            {"name": "mps", "site": "use2", "chip": "l4", "machine": "g6.xlarge", "cards": 1, "sharing": {"mps": 8}},
            {"name": "whole", "site": "use2", "chip": "l4", "machine": "g6.xlarge", "cards": 1},
        ]
    )
    turns, mps, whole = fleet.pools
    assert turns.labels[CONFIG_LABEL] == "time-slicing-4"
    assert (mps.labels[CONFIG_LABEL], mps.labels[MPS_LABEL]) == ("mps-8", "true")
    assert CONFIG_LABEL not in whole.labels
    plugin = next(a for a in fleet.site("use2").addons if a.name == "nvidia-device-plugin")
    configs = {name: yaml.safe_load(text) for name, text in plugin.configs}
    assert list(configs) == ["whole", "mps-8", "time-slicing-4"]
    assert "sharing" not in configs["whole"]
    (row,) = configs["time-slicing-4"]["sharing"]["timeSlicing"]["resources"]
    assert row == {"name": "nvidia.com/gpu", "replicas": 4}
    assert configs["time-slicing-4"]["sharing"]["timeSlicing"]["failRequestsGreaterThanOne"] is True
    assert configs["mps-8"]["sharing"]["mps"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 8}]


def test_nothing_is_set_where_nobody_shares() -> None:
    fleet = made([{"name": "a", "site": "use2", "chip": "h100", "cards": 8}])
    assert [a.configs for a in fleet.site("use2").addons if a.name == "nvidia-device-plugin"] == [()]


def test_an_existing_clusters_partitions_bear_nvidias_name() -> None:
    (shared,) = made([pool(site="byo", cards_per_node=8, sharing={"mig": "2g.20gb"})]).pools
    assert (shared.resource, shared.devices_per_node) == ("nvidia.com/mig-2g.20gb", 24)


@pytest.mark.parametrize(("wanted", "pods"), [(None, 1), (1, 1), (56, 56)])
def test_a_job_takes_one_part_a_pod_and_no_interface_of_the_node(wanted: int | None, pods: int) -> None:
    fleet = made([pool(sharing={"mig": "1g.10gb"})])
    plan = jobs.job_plan("try", fleet.pools[0], wanted)
    assert (plan.pods, plan.cards_per_pod) == (pods, 1)
    job, _ = jobs.objects(plan, jobs.load("hello"), fleet.pools[0], fleet.site("usc1"))
    template = job["spec"]["template"]
    assert template["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "networking.gke.io/interfaces" not in template["metadata"]["annotations"]


def test_more_parts_than_there_are_is_an_error() -> None:
    (shared,) = made([pool(sharing={"mig": "1g.10gb"})]).pools
    with pytest.raises(FleetError, match=r"pool a has 56 parts of h100 cards \(7 a card\); a job asks for 1 to 56"):
        jobs.job_plan("try", shared, 57)


def test_mps_on_gke_needs_the_hosts_ipc() -> None:
    fleet = made([pool(chip="l4", machine="g2-standard-4", cards=1, sharing={"mps": 4})])
    job, _ = jobs.objects(
        jobs.job_plan("try", fleet.pools[0], 2), jobs.load("hello"), fleet.pools[0], fleet.site("usc1")
    )
    assert job["spec"]["template"]["spec"]["hostIPC"] is True


@pytest.mark.parametrize("chip", ["tpu-v5e", "trn1", "mi300x", "ascend-910b"])
def test_each_other_vendor_has_its_own_text(chip: str) -> None:
    where = {"tpu-v5e": "usc1", "trn1": "use2"}.get(chip, "byo")
    more: dict[str, Any] = {"variant": "b1"} if chip == "ascend-910b" else {}
    more |= {"cards_per_node": 8} if where == "byo" else {}
    runtime = {"tpu-v5e": "jax", "trn1": "neuron"}.get(chip, "pytorch")
    cards = 16 if where != "byo" else 8
    text = refusal([pool(site=where, chip=chip, cards=cards, runtime=runtime, sharing={"mps": 2}, **more)])
    said = {refusal_.refuse for key, refusal_ in C.sharing.entries.items() if key.startswith("vendor/")}
    assert text.removeprefix("pools[0].sharing: ") in said


def test_every_chip_can_be_had_by_the_card_by_request() -> None:
    """A card for an hour: a job that asks for one card of a node of several, whatever the chip."""
    for chip in ("h100", "a100", "h200", "b200"):
        (whole,) = made([{"name": "a", "site": "use2", "chip": chip, "cards": 8, "billing": "hour"}]).pools
        assert (jobs.job_plan("try", whole, 1).cards, whole.billing) == (1, "hour")


@pytest.mark.parametrize(
    ("site", "chip", "machine"),
    [
        ("use2", "h100", "p5.4xlarge"),
        ("use2", "trn1", "trn1.2xlarge"),
        ("usc1", "a100", "a2-highgpu-1g"),
        ("usc1", "tpu-v5e", "ct5lp-hightpu-1t"),
        ("usc1", "tpu-v6e", "ct6e-standard-1t"),
    ],
)
def test_one_card_is_a_machine_with_one_card_where_there_is_one(site: str, chip: str, machine: str) -> None:
    runtime = {"trn1": "neuron"}.get(chip, "jax" if chip.startswith("tpu") else "pytorch")
    (one,) = made([{"name": "a", "site": site, "chip": chip, "cards": 1, "runtime": runtime}]).pools
    assert (one.machine, one.nodes, one.cards) == (machine, 1, 1)


@pytest.mark.parametrize("site", ["use2", "usc1"])
def test_a_job_of_one_pod_gets_a_flavour_with_a_topology_beside_ones_without(site: str) -> None:
    """Kueue: "Flavor h100 supports only TopologyAwareScheduling", unless the pods say that any place will do."""
    fleet = made([pool(site=site)])
    assert fleet.pools[0].topology
    job, _ = jobs.objects(jobs.job_plan("try", fleet.pools[0], 1), jobs.load("hello"), fleet.pools[0], fleet.site(site))
    assert job["spec"]["template"]["metadata"]["annotations"] == {
        "kueue.x-k8s.io/podset-unconstrained-topology": "true"
    }
