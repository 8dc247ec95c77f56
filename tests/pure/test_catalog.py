"""The catalogue is whole: every reference resolves, every figure has a source, every chip of the promise is there."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from accelerator_fleet import catalog
from accelerator_fleet.catalog.model import Catalog, Table
from accelerator_fleet.plan.machine import carried, machines_of
from accelerator_fleet.plan.slices import chips

C = catalog.load()
TABLES = [getattr(C, name) for name in Catalog.model_fields]
# What people may write, in the words of the promise.
PROMISED = {
    *("rtx3090", "rtx4090", "rtx5090", "a6000", "rtx6000ada", "a100", "h100", "h200", "b200", "mi300x", "ascend-910b"),
    *("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "trn1", "trn1n", "trn2"),
}
ON_EKS = {"a100", "a10g", "b200", "b300", "h100", "h200", "inferentia2", "l4", "l40s", "trn1", "trn1n", "trn2"}
# EFA interfaces a node, from AWS' documents, typed apart from the data: never the number of network cards.
EFA = {
    "p4d.24xlarge": 4,
    "p4de.24xlarge": 4,
    "p5.48xlarge": 32,
    "p5e.48xlarge": 32,
    "p5en.48xlarge": 16,
    "p6-b200.48xlarge": 8,
    "p6-b300.48xlarge": 16,
    "trn1.32xlarge": 8,
    "trn1n.32xlarge": 16,
    "trn2.48xlarge": 16,
}


MACHINES = {*C.machines.entries, *C.gke_machines.entries}
# Typed apart from the data: gVNIC networks, RDMA subnets.
EXTRA = [("a3-highgpu-8g", 4, 0), ("a3-megagpu-8g", 8, 0), ("a3-ultragpu-8g", 1, 8), ("a4-highgpu-8g", 1, 8)]


def test_every_promised_chip_is_a_word() -> None:
    assert set(C.words.entries) >= PROMISED


def test_no_alias_means_two_chips() -> None:
    said = [*C.words.entries, *(a for w in C.words.entries.values() for a in w.aliases)]
    assert len(said) == len(set(said))


def test_every_reference_resolves() -> None:
    for word in C.words.entries.values():
        assert set(word.variants.values()) <= set(C.chips.entries)
        assert word.default is None or word.default in word.variants
        narrowed = {m for machines in word.narrows.values() for m in machines}
        assert {*(word.machines or ()), *word.default_machine.values(), *narrowed} <= MACHINES
        assert set(word.narrows) <= set(word.variants)
    for machine in C.machines.entries.values():
        assert machine.chip in C.chips.entries
        assert machine.resource == C.chips.entries[machine.chip].resource
    for google in C.gke_machines.entries.values():
        assert google.resource == C.chips.entries[google.chip].resource
    for regions, machines in ((C.zones, C.machines), (C.gke_zones, C.gke_machines)):
        for region, entry in regions.entries.items():
            for letter, zone in entry.zones.items():
                assert set(zone.machines) <= set(machines.entries), f"{region}{letter}"
    for chip, shapes in C.tpu.entries.items():
        assert chip in C.words.entries
        assert {name for _, name, _ in shapes.shapes} <= set(C.gke_machines.entries)


def test_a_default_machine_carries_its_word() -> None:
    for name, word in C.words.entries.items():
        for key, machine in word.default_machine.items():
            cloud, _, variant = key.partition("/")
            assert machine in machines_of(C, name, variant or word.default, cloud)


@pytest.mark.parametrize("word", sorted(C.tpu.entries))
def test_the_hosts_of_every_slice_hold_its_chips(word: str) -> None:
    for topology, machine, hosts in C.tpu.entries[word].shapes:
        assert chips(topology) == hosts * (C.gke_machines.entries[machine].cards_per_node or 0), topology


@pytest.mark.parametrize(("machine", "gvnic", "rdma"), EXTRA)
def test_further_networks_as_google_builds_them(machine: str, gvnic: int, rdma: int) -> None:
    entry = C.gke_machines.entries[machine]
    assert (entry.extra_gvnic, entry.extra_rdma) == (gvnic, rdma)


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.kind)
def test_every_figure_has_a_source_and_a_date(table: Table) -> None:  # type: ignore[type-arg]
    for name, entry in table.entries.items():
        for field in type(entry).model_fields:
            if field in ("source", "status", "doubts"):
                continue
            fact = table.fact(name, field)
            assert fact.source
            assert fact.date
            assert fact.value is not None or fact.status == "unknown" or field in OPTIONAL, f"{name}.{field}"
        assert set(entry.doubts) <= set(type(entry).model_fields)


OPTIONAL = {"note", "default", "machines", "chart", "image", "for_resource", "resource", "nvme_gb", "link"} | {
    *("gpu_driver", "mtu", "gpudirect", "local_ssds", "cube_limit", "default_tier"),
    *("start_minutes", "drain_minutes", "end_minutes", "sold", "slices_of", "compact", "run_seconds"),
    *("days", "most_nodes", "minimum"),
}


def test_no_figure_from_memory_is_called_verified() -> None:
    for table in TABLES:
        for name, entry in table.entries.items():
            for field in type(entry).model_fields:
                if field in ("source", "status", "doubts"):
                    continue
                fact = table.fact(name, field)
                if "from memory" in fact.source:
                    assert fact.status in ("estimate", "unknown"), fact.subject


@pytest.mark.parametrize(("machine", "count"), EFA.items())
def test_efa_interfaces_as_aws_documents_them(machine: str, count: int) -> None:
    assert C.machines.entries[machine].efa_max == count
    assert C.machines.entries[machine].spans_nodes


def test_b300_has_more_cards_than_efa_interfaces() -> None:
    entry = C.machines.entries["p6-b300.48xlarge"]
    assert (entry.network_cards, entry.efa_max, entry.efa_on_card_0) == (17, 16, False)


def test_chips_that_each_cloud_carries() -> None:
    assert carried(C, "aws") == sorted(
        ["a100", "a10g", "b200", "b300", "h100", "h200", "inferentia2", "l4", "l40s", "trn1", "trn1n", "trn2"]
    )
    assert carried(C, "gcp") == ["a100", "b200", "h100", "h200", "l4", "tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e"]
    assert "trn1n.32xlarge" not in machines_of(C, "trn1", None)


def test_prices_name_catalogued_machines_and_dates() -> None:
    prices = catalog.load_prices()
    known = {*MACHINES, *C.system.entries, *C.gke_system.entries}
    rows = {(p.machine, p.region, p.mode) for p in prices.entries}
    assert len(rows) == len(prices.entries), "one current price a machine, region and mode"
    for price in prices.entries:
        assert price.machine in known
        assert price.region in {*C.zones.entries, *C.gke_zones.entries}
        assert price.source in prices.sources
        assert price.date >= "2020"


def test_an_unknown_field_in_the_data_is_refused() -> None:
    raw = json.loads((catalog.DATA / "limits.json").read_text(encoding="utf-8"))
    raw["entries"]["eks.cluster.name"]["vlaue"] = 1
    with pytest.raises(ValidationError):
        type(C.limits).model_validate(raw)


def test_data_says_nothing_of_where_it_was_made() -> None:
    for path in catalog.DATA.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/work/" not in text
        assert "find_string" not in text
