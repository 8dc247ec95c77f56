"""Builds accelerator_fleet_sim/google/data/machines.json and zones.json from the facts (build time only).

python sim/tools/build_google_machines.py --facts FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "accelerator_fleet_sim" / "google" / "data"
KEPT = ("kind", "vcpu", "memory_gb", "additional_networks", "local_ssd_gib", "tpu", "chips_per_vm", "gke_accelerator")


def _write(name: str, meta: dict[str, str], key: str, rows: dict[str, Any], more: str = "") -> None:
    lines = ",\n".join(f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(rows.items()))
    (OUT / name).write_text(f'{{"_meta": {json.dumps(meta)},\n"{key}": {{\n{lines}\n}}{more}}}\n')
    print(f"{name}: {len(rows)} rows")


def machine(row: dict[str, Any]) -> dict[str, Any]:
    """What the datacentre needs of a machine."""
    made = {k: row[k] for k in KEPT if row.get(k) is not None}
    if "accelerator" in row:
        made["accelerator"] = {k: row["accelerator"][k] for k in ("count", "gke_accelerator")}
    return made


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=Path, required=True)
    folder = parser.parse_args().facts
    instances = json.loads((folder / "instances.json").read_text())
    zones = json.loads((folder / "zones.json").read_text())
    shapes = {}
    for generation, row in instances["tpu_topologies"].items():
        if isinstance(row, dict) and "topologies" in row:
            kept = ("topology", "chips", "hosts", "machine_type")
            rows = [{k: t[k] for k in kept} for t in row["topologies"]]
            shapes[generation] = {"topologies": rows, "rule": row.get("rule"), "source": row["source"]}
    about = "built by sim/tools/build_google_machines.py"
    source = (
        "Cyclenerd/google-cloud-pricing-cost-calculator@dac3128, AI-Hypercomputer/xpk@367c8382, "
        "GoogleCloudPlatform/cluster-toolkit@10470803"
    )
    machines = {k: machine(v) for k, v in instances["gcp"].items()}
    more = f',\n"tpu_topologies": {json.dumps(shapes, sort_keys=True)}'
    _write("machines.json", {"about": f"Google's accelerator machines and TPU shapes; {about}", "source": source},
           "machines", machines, more)  # fmt: skip
    meta = {"about": f"which zone has which accelerator machines; {about}", **zones["_meta"]["gcp_source"]}
    _write("zones.json", meta, "zones", zones["gcp"])


if __name__ == "__main__":
    main()
