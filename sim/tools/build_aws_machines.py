"""Builds aws/data/machines.json and offerings.json from EC2's own description data (build time only).

    python sim/tools/build_aws_machines.py --moto UNPACKED_WHEEL --facts FOLDER

moto's wheel carries what DescribeInstanceTypes and DescribeInstanceTypeOfferings answered. The facts' figures for
accelerator machines win where they differ; a difference is printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "accelerator_fleet_sim" / "aws" / "data"


def read(path: Path) -> Any:
    """A gzipped JSON file."""
    with gzip.open(path) as stream:
        return json.load(stream)


def machine(info: dict[str, Any], fact: dict[str, Any] | None) -> dict[str, Any]:
    """What the simulator needs of one instance type."""
    network = info["NetworkInfo"]
    arch = info["ProcessorInfo"]["SupportedArchitectures"]
    made: dict[str, Any] = {
        "vcpu": info["VCpuInfo"]["DefaultVCpus"],
        "mib": info["MemoryInfo"]["SizeInMiB"],
        "arch": "arm64" if "arm64" in arch else "amd64",
        "enis": network["MaximumNetworkInterfaces"],
        "ipv4": network["Ipv4AddressesPerInterface"],
        "cards": network.get("MaximumNetworkCards", 1),
        "usage": sorted(info.get("SupportedUsageClasses", [])),
        "placement": sorted(info.get("PlacementGroupInfo", {}).get("SupportedStrategies", [])),
    }
    cards = [
        [c["MaximumNetworkInterfaces"], int("efa" in c.get("InterfaceTypes", []))] for c in network["NetworkCards"]
    ]
    made["per_card"] = cards[:1] if all(c == cards[0] for c in cards) else cards  # [interfaces, EFA or not]
    if network.get("EfaSupported"):
        made["efa"] = network.get("EfaInfo", {}).get("MaximumEfaInterfaces", 1)
    if info.get("BareMetal"):
        made["metal"] = True
    nvme = info.get("InstanceStorageInfo", {}).get("TotalSizeInGB")
    if nvme:
        made["nvme_gb"] = nvme
    if fact and "accelerator" in fact:
        accelerator = fact["accelerator"]
        made["accelerator"] = {k: accelerator[k] for k in ("vendor", "name", "count", "kind", "k8s_resource")}
        made["accelerator"]["cores"] = accelerator.get("cores_per_device", 0) * accelerator["count"]
        if fact["network"].get("efa_max"):
            made["efa"] = fact["network"]["efa_max"]
    elif info.get("GpuInfo") or info.get("NeuronInfo") or info.get("InferenceAcceleratorInfo"):
        gpus = info.get("GpuInfo", {}).get("Gpus", [])
        nvidia = bool(gpus) and gpus[0].get("Manufacturer") == "NVIDIA"
        count = sum(g.get("Count", 1) for g in gpus)
        resource = "nvidia.com/gpu" if nvidia else None
        made["accelerator"] = {"vendor": gpus[0].get("Manufacturer") if gpus else "AWS", "kind": "gpu" if gpus else
                               "neuron", "count": count, "k8s_resource": resource}  # fmt: skip
    return made


def region_offerings(moto: Path, region: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Zones of a region, and per combination of zones the types that exist exactly there."""
    zones: dict[str, set[str]] = defaultdict(set)
    folder = moto / "moto/ec2/resources/instance_type_offerings"
    for row in read(folder / "availability-zone" / f"{region}.json.gz"):
        zones[row["InstanceType"]].add(row["Location"])
    names = sorted({z for found in zones.values() for z in found})
    ids = sorted({row["Location"] for row in read(folder / "availability-zone-id" / f"{region}.json.gz")})
    prefix = ids[0].rpartition("-az")[0]
    known = facts["aws"].get(region, {})
    for kind in {t for types in known.values() for t in types}:
        there = {z for z, types in known.items() if kind in types}
        if there != zones.get(kind, set()):
            print(f"  {region} {kind}: facts {sorted(there)}, description data {sorted(zones.get(kind, set()))}")
            zones[kind] = there
    sets: dict[str, list[str]] = defaultdict(list)
    for kind, there in sorted(zones.items()):
        sets[" ".join(sorted(there))].append(kind)
    return {
        "zones": {name: f"{prefix}-az{i}" for i, name in enumerate(names, 1)},
        "offered": {there: compressed(kinds) for there, kinds in sorted(sets.items())},
    }


def compressed(kinds: list[str]) -> str:
    """`m6i.large m6i.xlarge c5.large` as `c5:large m6i:large,xlarge`."""
    families: dict[str, list[str]] = defaultdict(list)
    for kind in kinds:
        family, _, size = kind.partition(".")
        families[family].append(size)
    return " ".join(f"{family}:{','.join(sorted(sizes))}" for family, sizes in sorted(families.items()))


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moto", type=Path, required=True)
    parser.add_argument("--facts", type=Path, required=True)
    args = parser.parse_args()
    facts = json.loads((args.facts / "instances.json").read_text())["aws"]
    zones = json.loads((args.facts / "zones.json").read_text())
    described = read(args.moto / "moto/ec2/resources/instance_types.json.gz")
    machines = {name: machine(info, facts.get(name)) for name, info in sorted(described.items())}
    source = "moto 5.2.5 moto/ec2/resources (EC2 DescribeInstanceTypes and DescribeInstanceTypeOfferings data)"
    lines = [f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in machines.items()]
    meta = json.dumps({"source": source, "accelerators": "facts/instances.json of this project"})
    (DATA / "machines.json").write_text(f'{{"_meta": {meta},\n"machines": {{\n' + ",\n".join(lines) + "\n}}\n")
    folder = args.moto / "moto/ec2/resources/instance_type_offerings/availability-zone"
    regions = sorted(p.name.removesuffix(".json.gz") for p in folder.glob("*.json.gz"))
    made = {r: region_offerings(args.moto, r, zones) for r in regions if r in zones["aws"]}
    rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made.items()]
    meta = json.dumps({"source": source, "zone_ids": "the embedded account's own: a is az1, in order"})
    (DATA / "offerings.json").write_text(f'{{"_meta": {meta},\n"regions": {{\n' + ",\n".join(rows) + "\n}}\n")
    print(f"{len(machines)} machines, {len(made)} regions")


if __name__ == "__main__":
    main()
