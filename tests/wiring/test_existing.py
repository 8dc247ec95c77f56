"""Existing clusters: queues and flavours only; the cluster is checked before anything is created."""

from __future__ import annotations

from pathlib import Path

import pytest

from accelerator_fleet import kubeconfig
from accelerator_fleet.plan.model import AddonPlan
from accelerator_fleet_components import existing_nodes
from accelerator_fleet_components.existing_nodes import devices, jobset_errors, kueue_errors, pool_errors
from tests.wiring.plans import existing_site, fleet, lab_pool
from tests.wiring.recorder import build

LAB = {"amd.com/gpu.product-name": "mi300x"}
TWO_NODES = [(LAB, {"amd.com/gpu": 8}), (LAB, {"amd.com/gpu": 8}), ({}, {"nvidia.com/gpu": 4})]


def test_nothing_is_made_but_queues() -> None:
    made = build(fleet((existing_site(),), (lab_pool(),)))
    kinds = {a.typ for a in made.made if a.custom}
    assert kinds == {
        "pulumi:providers:kubernetes",
        "kubernetes:core/v1:Namespace",
        "kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor",
        "kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue",
        "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue",
    }
    (flavor,) = made.of("kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor")
    assert flavor.inputs["spec"]["nodeLabels"] == LAB


def test_credentials_stay_in_the_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    made = build(fleet((existing_site(),), (lab_pool(),)))
    provider = made.one("pulumi:providers:kubernetes", "byo").inputs
    assert provider["context"] == "lab"
    assert "kubeconfig" not in provider
    assert made.fleet is not None
    assert made.fleet.sites["byo"] == {"kind": "existing", "region": "", "cluster": "lab", "context": "lab"}


def test_a_pool_fits() -> None:
    assert pool_errors([(0, lab_pool())], TWO_NODES, "lab") == []


@pytest.mark.parametrize(
    ("pool", "text"),
    [
        (
            lab_pool(resource="nvidia.com/gpu"),
            "pools[0].chip: no node with nvidia.com/gpu and the labels amd.com/gpu.product-name=mi300x; "
            "cluster 'lab' has 16 amd.com/gpu, 4 nvidia.com/gpu",
        ),
        (
            lab_pool(cards=32),
            "pools[0].cards: 32 mi300x cards are asked for, 16 are there (on 2 nodes); "
            "cluster 'lab' has 16 amd.com/gpu, 4 nvidia.com/gpu",
        ),
    ],
)
def test_what_a_cluster_does_not_have(pool: object, text: str) -> None:
    (error,) = pool_errors([(0, pool)], TWO_NODES, "lab")  # type: ignore[list-item]
    assert str(error) == text


def test_pools_of_the_same_nodes_share_their_cards() -> None:
    (error,) = pool_errors([(0, lab_pool()), (1, lab_pool(name="more", cards=8))], TWO_NODES, "lab")
    assert str(error).startswith("pools[1].cards: 24 mi300x cards are asked for, 16 are there")


def test_a_cluster_without_accelerators_says_so() -> None:
    (error,) = pool_errors([(0, lab_pool(node_selector={}))], [({}, {})], "lab")
    assert str(error) == "pools[0].chip: no node with amd.com/gpu; cluster 'lab' has no accelerators at all"


def test_a_cluster_without_kueue_is_told() -> None:
    path = "sites[0].addons.kueue"
    assert kueue_errors(path, existing_site(), ["v1beta1", "v1beta2"]) == []
    assert kueue_errors(path, existing_site(addons=()), []) == []
    (none,) = kueue_errors(path, existing_site(), [])
    assert str(none) == (
        f"{path}: present means that cluster 'lab' has Kueue with kueue.x-k8s.io/v1beta2; it has none; "
        "{state: managed} installs it"
    )
    (old,) = kueue_errors(path, existing_site(), ["v1beta1"])
    assert "it has only v1beta1;" in str(old)


def test_an_unknown_context_names_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text(
        "clusters: [{name: l, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "contexts: [{name: labs, context: {cluster: l, user: ''}}]\n"
    )
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'none'}:{config}")
    assert set(kubeconfig.contexts()) == {"labs"}
    (error,) = existing_nodes.check(fleet((existing_site(),), (lab_pool(),)), ["byo"])
    assert str(error) == (
        f"sites[0].kubeconfig.context: unknown context 'lab'; nearest: labs; known: labs (in {config})"
    )


def test_devices_are_what_only_some_nodes_have() -> None:
    every = {"cpu": "8", "memory": "16Gi", "pods": "110", "ephemeral-storage": "10Gi", "hugepages-2Mi": "0"}
    assert devices({**every, "amd.com/gpu": "8"}) == {"amd.com/gpu": 8}


def test_a_cluster_without_jobset_is_told_where_gangs_rely_on_it() -> None:
    path = "sites[0].addons.jobset"
    there = AddonPlan(name="jobset", state="present", version="0.11.1", namespace="jobset-system")
    assert jobset_errors(path, existing_site(), []) == []
    assert jobset_errors(path, existing_site(addons=(there,)), ["v1alpha2"]) == []
    (none,) = jobset_errors(path, existing_site(addons=(there,)), [])
    assert str(none) == (
        f"{path}: present means that cluster 'lab' has JobSet with jobset.x-k8s.io/v1alpha2; it has none; "
        "{state: managed} installs it, {state: absent} makes gangs plain Jobs"
    )
