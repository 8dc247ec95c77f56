"""The network of each EC2 machine whose pools span nodes: a table typed from AWS' documents, without a coincidence."""

from __future__ import annotations

import pytest

from accelerator_fleet import catalog
from accelerator_fleet.plan.interfaces import interfaces
from accelerator_fleet.plan.model import NetworkInterfacePlan
from tests.pure.sites import EKS, made

C = catalog.load()
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html and ec2 describe-instance-types:
# machine -> (network cards, EFA interfaces, whether card 0 takes one). One plain interface comes on top, always.
TABLE = {
    "p4d.24xlarge": (4, 4, True),
    "p4de.24xlarge": (4, 4, True),
    "p5.48xlarge": (32, 32, True),
    "p5e.48xlarge": (32, 32, True),
    "p5en.48xlarge": (16, 16, True),
    "p6-b200.48xlarge": (8, 8, True),
    "p6-b300.48xlarge": (17, 16, False),
    "trn1.32xlarge": (8, 8, True),
    "trn1n.32xlarge": (16, 16, True),
    "trn2.48xlarge": (16, 16, True),
    "trn2u.48xlarge": (16, 16, True),
}


def efa(layout: tuple[NetworkInterfacePlan, ...]) -> list[tuple[int, int]]:
    return [(i.network_card, i.device) for i in layout if i.interface_type != "interface"]


def test_the_table_has_every_machine_whose_pools_span_nodes() -> None:
    assert set(TABLE) == {m for m, e in C.machines.entries.items() if e.spans_nodes and e.efa_max}


@pytest.mark.parametrize("machine", TABLE)
def test_cards_and_interfaces(machine: str) -> None:
    entry, (cards, count, on_first) = C.machines.entries[machine], TABLE[machine]
    assert (entry.network_cards, entry.efa_max, entry.efa_on_card_0) == (cards, count, on_first)
    layout = interfaces(entry)
    plain = [i for i in layout if i.interface_type == "interface"]
    assert [(i.network_card, i.device) for i in plain] == [(0, 0)]
    first = [(0, 1)] if on_first else []
    assert efa(layout) == [*first, *((c, 0) for c in range(1, cards))]
    assert len(efa(layout)) == count


@pytest.mark.parametrize("machine", TABLE)
def test_device_indexes_are_0_and_1(machine: str) -> None:
    assert {i.device for i in interfaces(C.machines.entries[machine])} <= {0, 1}


def test_the_count_follows_from_efa_max_and_not_from_cards() -> None:
    """p5 has as many cards as EFA interfaces, which is a coincidence: p6-b300 has 17 and 16."""
    p5 = C.machines.entries["p5.48xlarge"]
    more_cards = p5.model_copy(update={"network_cards": 40})
    assert interfaces(more_cards) == interfaces(p5)
    fewer = interfaces(p5.model_copy(update={"efa_max": 31}))
    assert len(efa(fewer)) == 31
    without_first = interfaces(p5.model_copy(update={"efa_max": 31, "efa_on_card_0": False}))
    assert efa(without_first) == [(c, 0) for c in range(1, 32)]


@pytest.mark.parametrize("machine", TABLE)
def test_both_figures_are_verified(machine: str) -> None:
    for field in ("efa_max", "efa_on_card_0", "network_cards"):
        assert C.machines.fact(machine, field).status == "verified"


@pytest.mark.parametrize(
    ("chip", "machine", "count"),
    [
        ("h100", "p5.48xlarge", 32),
        ("trn1", "trn1.32xlarge", 8),
        ("trn1n", "trn1n.32xlarge", 16),
        ("l4", "g6.xlarge", 0),
    ],
)
def test_a_pool_asks_for_what_its_machine_has(chip: str, machine: str, count: int) -> None:
    cards = C.machines.entries[machine].cards_per_node
    pool = made([{"name": "a", "site": "use2", "chip": chip, "machine": machine, "cards": cards}], sites=[EKS]).pools[0]
    assert pool.efa_interfaces == count
    assert ("accelerator-fleet.dev/efa" in pool.labels) is (count > 0)
