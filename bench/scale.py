"""How long a plan of many pools takes, and whether that grows in a straight line."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

import yaml

from accelerator_fleet import catalog, spec
from accelerator_fleet.plan import plan

SITES = 20


def text(pools: int, cards: int) -> str:
    """A spec of H100 pools over twenty EKS sites that hold `cards` together."""
    nodes, more = divmod(cards // 8, pools)
    return yaml.safe_dump(
        {
            "fleet": "accel",
            "tags": {"owner": "a", "cost-center": "b"},
            "sites": [
                {
                    "name": f"s{i}",
                    "kind": "eks",
                    "account": "111122223333",
                    "region": "us-east-2",
                    "cidr": f"10.{i}.0.0/16",
                }
                for i in range(SITES)
            ],
            "pools": [
                {"name": f"p{i}", "site": f"s{i % SITES}", "chip": "h100", "cards": 8 * (nodes + (i < more))}
                for i in range(pools)
            ],
        }
    )


def seconds(path: Path, rounds: int = 3) -> tuple[float, int]:
    """Median seconds to read and plan a file, and its cards."""
    times, cards = [], 0
    for _ in range(rounds):
        start = time.perf_counter()
        cards = plan(spec.load(path), catalog.load()).cards
        times.append(time.perf_counter() - start)
    return statistics.median(times), cards


def main() -> int:
    """100, 200, 400 and 800 pools; the promise is of 400."""
    catalog.load()
    with tempfile.TemporaryDirectory() as folder:
        for pools in (100, 200, 400, 800):
            path = Path(folder) / "dev.yaml"
            path.write_text(text(pools, 65536 * pools // 400), encoding="utf-8")
            took, cards = seconds(path)
            promise = "   promised < 1 s" if pools == 400 else ""
            print(f"{f'plan of {pools} pools, {cards:,} cards':<58}{took:8.2f} s{promise}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
