"""Specs that nobody would write: how random bytes become one, and what may come of it."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any, Protocol

import yaml

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan

ROOT = Path(__file__).parents[2]
C = catalog.load()
FIGURES = ("cards_per_node", "efa_max", "network_gbps", "memory_gb", "memory_gib", "tdp_w", "source", "date")
WORDS = (
    "h100", "tpu-v5e", "mi300x", "trn1n", "4x4", "2x2x4", "16x16", "us-east-2c", "us-central1-a", "10TiB", "1GiB",
    "10.0.0.0/16", "spot", "reserved", "capacity-block", "cr-0a1b2c3d4e5f60718", "auto", "a", "-", "", "1.36",
    "p5.48xlarge", "a3-highgpu-8g", "h100-sxm", "\u0000", "é", "{}", "[]", "null", "yes", "0x10", "1e9", "2026-11-30",
)  # fmt: skip
# What may well stand in a place, so that many inputs get past the first checks.
LIKELY: dict[str, tuple[Any, ...]] = {
    "chip": tuple(C.words.entries),
    "cards": (1, 4, 8, 16, 24, 32, 64, 96, 256, 1024, 4096),
    "topology": ("1x1", "2x2", "2x4", "4x4", "4x8", "8x8", "16x16", "2x2x1", "2x2x4", "4x4x4", "8x8x8"),
    "zone": ("us-east-2a", "us-east-2b", "us-east-2c", "us-central1-a", "us-central1-f"),
    "region": ("us-east-2", "us-east-1", "us-west-2", "us-central1", "europe-west4"),
    "mode": ("on-demand", "spot", "reserved", "capacity-block"),
    "site": ("use2", "usc1", "byo", ["use2", "usc1"], ["byo", "use2"]),
    "service": ("efs", "fsx-lustre", "filestore", "gke-lustre", "nfs", "csi"),
    "size": ("1TiB", "10TiB", "1200GiB", "100TiB"),
    "cidr": ("10.1.0.0/16", "10.20.0.0/14", "10.64.0.0/12", "172.20.0.0/20"),
    "cards_per_node": (1, 4, 8, 16),
}
NUMBERS = (-1, 0, 1, 7, 8, 12, 16, 24, 256, 4096, 65536, 2**31, 2**63, 10**18, 0.5, -0.0, 1e308)


class Draw(Protocol):
    """A source of choices: atheris' FuzzedDataProvider, or its like over `random`."""

    def ConsumeIntInRange(self, low: int, high: int) -> int: ...

    def ConsumeUnicodeNoSurrogates(self, count: int) -> str: ...


def whole() -> dict[str, Any]:
    """A correct spec with every kind of thing in it."""
    return {
        "fleet": "accel",
        "tags": {"owner": "a", "cost-center": "b"},
        "defaults": {"system": {"machine": "m6i.large", "nodes": 2}, "protect": False},
        "sites": [
            {"name": "use2", "kind": "eks", "account": "111122223333", "region": "us-east-2", "cidr": "10.1.0.0/16"},
            {"name": "usc1", "kind": "gke", "project": "research-123", "region": "us-central1", "cidr": "10.20.0.0/14"},
            {"name": "byo", "kind": "existing", "kubeconfig": {"context": "lab"}},
        ],
        "volumes": [
            {"name": "shared", "site": "usc1", "size": "10TiB", "service": "filestore", "tier": "ZONAL"},
            {"name": "given", "site": "byo", "size": "1TiB", "nfs": {"server": "10.250.0.1", "path": "/export"}},
        ],
        "pools": [
            {"name": "a", "site": ["use2"], "chip": "h100", "cards": 8, "capacity": {"mode": "spot"}},
            {"name": "t", "site": ["use2", "usc1"], "chip": "tpu-v5e", "topology": "4x4", "cards": 32},
            {"name": "m", "site": ["byo"], "chip": "mi300x", "cards": 8, "cards_per_node": 8, "labels": {"a": "b"}},
        ],
        "catalog": {
            "chips": {"h100-sxm": {"memory_gb": 80, "source": "a data sheet", "date": "2026-11-30"}},
            "machines": {"p5.48xlarge": {"network_gbps": 3200, "efa_max": 32, "source": "a measurement"}},
            "prices": [{"machine": "p5.48xlarge", "region": "us-east-2", "value": 38.5, "source": "a contract"}],
        },
    }


def changed(draw: Draw) -> dict[str, Any]:
    """The correct spec with up to six things in it changed or put wrong."""
    data = whole()
    for pool in data["pools"] if draw.ConsumeIntInRange(0, 1) else ():
        for key in ("chip", "cards", "topology", "zone") if pool["name"] != "m" else ("cards",):
            if draw.ConsumeIntInRange(0, 3) == 0:
                pool[key] = LIKELY[key][draw.ConsumeIntInRange(0, len(LIKELY[key]) - 1)]
    for _ in range(min(draw.ConsumeIntInRange(0, 5), draw.ConsumeIntInRange(0, 5))):
        places = _places(data)
        place = places[draw.ConsumeIntInRange(0, len(places) - 1)]
        at: Any = data
        for key in place[:-1]:
            at = at[key]
        _change(at, place[-1], draw)
    return data


def _change(at: Any, key: Any, draw: Draw) -> None:
    kind = draw.ConsumeIntInRange(0, 8)
    if kind > 5 and key in LIKELY:
        at[key] = LIKELY[key][draw.ConsumeIntInRange(0, len(LIKELY[key]) - 1)]
    elif kind == 0:
        del at[key]
    elif kind == 1 and isinstance(at, list):
        at.append(copy.deepcopy(at[key]))
    elif kind == 2 and isinstance(at, dict):
        at[(*WORDS, *FIGURES)[draw.ConsumeIntInRange(0, len(WORDS) + len(FIGURES) - 1)]] = at.pop(key)
    else:
        at[key] = _value(draw, 2)


def _value(draw: Draw, depth: int) -> Any:
    kind = draw.ConsumeIntInRange(0, 6 if depth else 4)
    if kind == 0:
        return (None, True, False)[draw.ConsumeIntInRange(0, 2)]
    if kind == 1:
        return NUMBERS[draw.ConsumeIntInRange(0, len(NUMBERS) - 1)]
    if kind in (2, 3):
        return WORDS[draw.ConsumeIntInRange(0, len(WORDS) - 1)]
    if kind == 4:
        return draw.ConsumeUnicodeNoSurrogates(12)
    inner = [_value(draw, depth - 1) for _ in range(draw.ConsumeIntInRange(0, 3))]
    return inner if kind == 5 else {str(v)[:12]: v for v in inner}


def _places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here] if here else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += _places(item, (*here, key))
    return found


def answer(text: str) -> str:
    """What a file with this text comes to: cards, or our own error. Anything else that is raised is a defect."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "dev.yaml"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        try:
            return f"{plan(spec.load(path), C).cards} cards"
        except FleetError as ours:
            said = str(ours)
    for foreign in ("Input should", "Value error", "Traceback", "<class"):
        assert foreign not in said, f"another library's words: {said}"
    assert said.strip(), "an error without a word"
    return said


def text_of(draw: Draw) -> str:
    """Mostly a spec with something wrong; else any text at all."""
    if draw.ConsumeIntInRange(0, 7):
        return yaml.safe_dump(changed(draw), allow_unicode=True)
    return draw.ConsumeUnicodeNoSurrogates(400)
