"""Every chip of the promise, at 256 cards and on every machine that carries it; and a chip that is only data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.catalog.model import AnyMachine
from accelerator_fleet.cli import pools as tables
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.zone import offering, regions_of
from tests.pure.test_catalog import PROMISED

ROOT = Path(__file__).resolve().parents[2]
C = catalog.load()
FLEET = plan(spec.load(ROOT / "tests" / "fleets" / "every-chip.yaml"), C)

# Typed from the vendors' documents, apart from the data: machine, nodes, network, topology, placement, zone.
EXPECTED = {
    "a100": ("p4d.24xlarge", 32, "4 EFA", None, "cluster group", "us-east-2a"),
    "a100-80": ("p4de.24xlarge", 32, "4 EFA", None, "cluster group", "us-west-2a"),
    "h100": ("p5.48xlarge", 32, "32 EFA", None, "cluster group", "us-east-2a"),
    "h200": ("p5en.48xlarge", 32, "16 EFA", None, "cluster group", "us-east-2a"),
    "h200-e": ("p5e.48xlarge", 32, "32 EFA", None, "cluster group", "us-east-2a"),
    "b200": ("p6-b200.48xlarge", 32, "8 EFA", None, "cluster group", "us-east-2a"),
    "b300": ("p6-b300.48xlarge", 32, "16 EFA", None, "cluster group", "us-west-2a"),
    "trn1": ("trn1.32xlarge", 16, "8 EFA", None, "cluster group", "us-east-2c"),
    "trn1n": ("trn1n.32xlarge", 16, "16 EFA", None, "cluster group", "us-east-2c"),
    "trn2": ("trn2.48xlarge", 16, "16 EFA", None, "cluster group", "us-east-2a"),
    "g-a100": ("a2-highgpu-8g", 32, "-", None, "compact", "us-central1-a"),
    "g-a100-mega": ("a2-megagpu-16g", 16, "-", None, "compact", "us-central1-a"),
    "g-a100-80": ("a2-ultragpu-8g", 32, "-", None, "compact", "us-central1-a"),
    "g-h100": ("a3-highgpu-8g", 32, "4 gVNIC", None, "compact", "us-central1-a"),
    "g-h100-mega": ("a3-megagpu-8g", 32, "8 gVNIC", None, "compact", "us-central1-a"),
    "g-h200": ("a3-ultragpu-8g", 32, "1 gVNIC + 8 RDMA", None, "compact", "us-central1-b"),
    "g-b200": ("a4-highgpu-8g", 32, "1 gVNIC + 8 RDMA", None, "compact", "us-central1-b"),
    "v4": ("ct4p-hightpu-4t", 64, "ICI", "4x8x8", "compact 4x8x8", "us-central2-b"),
    "v5e": ("ct5lp-hightpu-4t", 64, "ICI", "16x16", "compact 16x16", "us-central1-a"),
    "v5p": ("ct5p-hightpu-4t", 64, "ICI", "4x8x8", "compact 4x8x8", "us-central1-a"),
    "v6e": ("ct6e-standard-4t", 64, "ICI", "16x16", "compact 16x16", "us-central1-a"),
}
# (account or project, region, name) -> (code, amount): vCPU of instances on EC2, cards and chips at Google.
P_AND_TRN = ("Running On-Demand P instances", "Running On-Demand Trn instances")
QUOTAS = {
    ("us-east-2", P_AND_TRN[0]): ("L-417A185B", 32 * (96 + 192 + 192 + 192 + 192)),
    ("us-west-2", P_AND_TRN[0]): ("L-417A185B", 32 * (96 + 192)),
    ("us-east-2", P_AND_TRN[1]): ("L-2C3B7624", 16 * (128 + 128 + 192)),
    ("us-central1", "NVIDIA_A100_GPUS"): ("NVIDIA-A100-GPUS-per-project-region", 512),
    ("us-central1", "NVIDIA_A100_80GB_GPUS"): ("NVIDIA-A100-80GB-GPUS-per-project-region", 256),
    **{
        ("us-central1", f"GPUs per GPU family (gpu_family NVIDIA_{f})"): ("GPUS-PER-GPU-FAMILY-per-project-region", 256)
        for f in ("H100", "H100_MEGA", "H200", "B200")
    },
    ("us-central2", "TPU v4 PodSlice chips"): ("", 256),
    ("us-central1", "TPU v5 Lite PodSlice chips"): ("TPU-LITE-PODSLICE-V5-per-project-region", 256),
    ("us-central1", "TPU v5p chips"): ("TPU-V5P-per-project-region", 256),
    ("us-central1", "TPUs per TPU family (tpu_family CT6E)"): ("TPUS-PER-TPU-FAMILY-per-project-region", 256),
}


def test_every_promised_chip_has_a_pool_of_256_cards() -> None:
    assert {p.chip for p in FLEET.pools} >= PROMISED
    assert {p.cards for p in FLEET.pools} == {256}
    there = {p.chip for p in FLEET.pools if p.site == "byo"}
    assert there == {*("rtx3090", "rtx4090", "rtx5090", "a6000", "rtx6000ada", "mi300x", "ascend-910b")}


@pytest.mark.parametrize("name", EXPECTED)
def test_256_cards_as_the_vendor_builds_them(name: str) -> None:
    pool = next(p for p in FLEET.pools if p.name == name)
    got = (pool.machine, pool.nodes, tables.network(pool), pool.topology_shape, tables.placement(pool), pool.zone)
    assert got == EXPECTED[name]


def test_all_clouds_pools_are_typed_here() -> None:
    assert set(EXPECTED) == {p.name for p in FLEET.pools if p.site != "byo"}


def test_quotas_by_the_names_that_the_clouds_have() -> None:
    assert {(q.region, q.name): (q.code, q.amount) for q in FLEET.quotas} == QUOTAS
    text = tables.quotas(FLEET)
    assert "L-417A185B" in text
    assert "27648 vCPU" in text


@pytest.mark.parametrize(
    ("pool", "code", "amount"),
    [
        ({"site": "use2", "chip": "h100", "capacity": {"mode": "spot"}}, "L-C4BD4855", 384),
        ({"site": "use2", "chip": "a100", "capacity": {"mode": "spot"}}, "L-7212CCBC", 192),
        ({"site": "usc1", "chip": "h100", "capacity": {"mode": "spot"}}, "PREEMPTIBLE-NVIDIA-H100-GPUS", 16),
        ({"site": "usc1", "chip": "h100", "capacity": {"mode": "flex-start"}}, "PREEMPTIBLE-NVIDIA-H100-GPUS", 16),
    ],
)
def test_each_way_of_getting_nodes_has_its_own_quota(pool: dict[str, Any], code: str, amount: int) -> None:
    from tests.pure.sites import made

    (quota,) = made([{"name": "a", "cards": 16, **pool}]).quotas
    assert quota.code.startswith(code)
    assert quota.amount == amount


def _site(machine: str, cloud: str) -> dict[str, Any]:
    region = next(r for r in sorted(regions_of(C, cloud)) if offering(C, r, machine, cloud))
    if cloud == "aws":
        return {"name": "s", "kind": "eks", "account": "111122223333", "region": region, "cidr": "10.16.0.0/16"}
    system = {"machine": next(m for m, e in C.gke_system.entries.items() if _has(region, e.family))}
    return {
        "name": "s",
        "kind": "gke",
        "project": "research-123",
        "region": region,
        "cidr": "10.20.0.0/14",
        "system": system,
    }


def _has(region: str, family: str) -> bool:
    return any(family in z.general_purpose for z in C.gke_zones.entries[region].zones.values())


def _word(machine: str, entry: AnyMachine) -> tuple[str, str | None]:
    for name, word in C.words.entries.items():
        if word.machines is not None and machine not in word.machines:
            continue
        for variant, chip in word.variants.items():
            if chip == entry.chip and (variant not in word.narrows or machine in word.narrows[variant]):
                return name, variant if len(word.variants) > 1 and variant not in word.narrows else None
    raise AssertionError(f"no word for {machine}")


MACHINES = [("aws", m) for m in C.machines.entries] + [("gcp", m) for m in C.gke_machines.entries]


@pytest.mark.parametrize(("cloud", "machine"), MACHINES, ids=lambda x: x)
def test_every_machine_of_the_catalogue_plans(cloud: str, machine: str) -> None:
    entry = C.machines.entries[machine] if cloud == "aws" else C.gke_machines.entries[machine]
    word, variant = _word(machine, entry)
    runtime = {"AWS": "neuron", "Google": "jax"}.get(C.chips.entries[entry.chip].vendor, "pytorch")
    mode = next(m for m in ("on-demand", "spot") if m in entry.usage)
    pool: dict[str, Any] = {"name": "a", "site": "s", "chip": word, "machine": machine, "runtime": runtime}
    pool |= {"capacity": {"mode": mode}, **({"variant": variant} if variant else {})}
    forms: list[tuple[str | int, int]]
    if word in C.tpu.entries:
        forms = [(t, h) for t, m, h in C.tpu.entries[word].shapes if m == machine]
    else:
        each = entry.cards_per_node or 16
        pool |= {"cards_per_node": each} if entry.cards_per_node is None else {}
        forms = [(2 * each, 2), (each, 1)]
    for form, nodes in forms:
        sized = {"topology": form} if isinstance(form, str) else {"cards": form}
        data = {"fleet": "f", "tags": {"owner": "a", "cost-center": "b"}, "sites": [_site(machine, cloud)]}
        made = plan(spec.parse({**data, "pools": [{**pool, **sized}]}, env="dev"), C)
        assert (made.pools[0].machine, made.pools[0].nodes) == (machine, nodes)
        assert made.quotas, "a machine without a quota's name"


def _data(tmp_path: Path, said: dict[str, Any]) -> Path:
    folder = tmp_path / "data"
    shutil.copytree(catalog.DATA, folder)
    (folder / "added").mkdir(exist_ok=True)
    (folder / "added" / "x9000.json").write_text(json.dumps(said))
    return folder


X9000: dict[str, Any] = {
    "sources": {"sheet": {"text": "a data sheet", "date": "2027-01-01"}},
    "chips": {
        "x9000": {
            "vendor": "NVIDIA",
            "kind": "gpu",
            "resource": "nvidia.com/gpu",
            "memory_gb": 512,
            "year": 2027,
            "dense_bf16_tflops": 9000,
            "memory_bandwidth_gbs": 16000,
            "tdp_w": 2000,
            "interconnect": None,
            "cards_per_node": [16],
            "note": None,
            "source": "sheet",
            "status": "verified",
            "doubts": {},
        }
    },
    "words": {
        "x9000": {
            "variants": {"sxm": "x9000"},
            "default": "sxm",
            "why": "",
            "machines": None,
            "default_machine": {},
            "machine_why": "",
            "aliases": ["x9k"],
            "source": "sheet",
            "status": "verified",
            "doubts": {},
        }
    },
    "machines": {
        "p9.96xlarge": {
            **C.machines.entries["p5.48xlarge"].model_dump(mode="json"),
            "chip": "x9000",
            "cards_per_node": 16,
            "efa_max": 16,
            "vcpu": 384,
            "source": "sheet",
            "status": "verified",
            "doubts": {},
        }
    },
    "zones": {"us-east-2": {"b": ["p9.96xlarge"]}},
}


def test_a_chip_is_one_file_of_data(tmp_path: Path) -> None:
    from tests.pure.sites import EKS

    data = {"fleet": "f", "tags": {"owner": "a", "cost-center": "b"}, "sites": [EKS]}
    pools = [{"name": "a", "site": "use2", "chip": "x9k", "cards": 256}]
    asked = spec.parse({**data, "pools": pools}, env="dev")
    with pytest.raises(FleetError, match="unknown chip"):
        plan(asked, C)
    made = plan(asked, catalog.load_from(_data(tmp_path, X9000)))
    (pool,) = made.pools
    assert (pool.chip, pool.machine, pool.nodes, pool.zone) == ("x9000", "p9.96xlarge", 16, "us-east-2b")
    assert (pool.efa_interfaces, pool.resource, made.quotas[0].amount) == (16, "nvidia.com/gpu", 16 * 384)
    facts = {f.subject: f for f in made.relied_on}
    assert facts["p9.96xlarge.efa_max"].source == "a data sheet"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"sources": {}, "ships": {}}, "x9000.json: ships: no table of the catalogue"),
        (
            {"sources": {}, "zones": {"us-east-2": {"q": []}}},
            "x9000.json: zones.us-east-2.q: the catalogue has no such",
        ),
        ({**X9000, "chips": {"l4": X9000["chips"]["x9000"]}}, "x9000.json: chips.l4: is in the catalogue already"),
    ],
)
def test_a_file_that_adds_nothing_right_says_so(tmp_path: Path, said: dict[str, Any], text: str) -> None:
    with pytest.raises(FleetError, match=text):
        catalog.load_from(_data(tmp_path, json.loads(json.dumps(said))))
