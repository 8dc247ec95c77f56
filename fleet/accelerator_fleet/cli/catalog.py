"""`fleet catalog chips|machines|zones`: what the toolkit knows, how surely, from where and when."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from accelerator_fleet.catalog.model import Catalog
    from accelerator_fleet.plan.model import Fact

CHIP_FIELDS = (
    *("memory_gb", "dense_bf16_tflops", "memory_bandwidth_gbs", "tdp_w", "interconnect", "cards_per_node", "year"),
    "resource",
)
MACHINE_FIELDS = (
    "chip",
    "cards_per_node",
    "card_memory_gib",
    "vcpu",
    "memory_gib",
    "network_gbps",
    "network_cards",
    "efa_max",
    "resource",
    "link",
)
GKE_FIELDS = (
    "chip",
    "cards_per_node",
    "vcpu",
    "memory_gib",
    "network_gbps",
    "extra_gvnic",
    "extra_rdma",
    "accelerator",
    "gpu_driver",
    "resource",
)


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command `catalog`."""
    parser = subparsers.add_parser("catalog", help="chips, machines and zones with status, source and date")
    parser.add_argument("what", choices=("chips", "machines", "zones"))
    parser.add_argument("name", nargs="?", help="only entries whose name holds this")
    parser.add_argument("--json", action="store_true", help="every figure as value, unit, status, source, date")
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    from accelerator_fleet.catalog import load
    from accelerator_fleet.cli.catalog_tables import glance
    from accelerator_fleet.errors import FleetError, unknown

    catalog = load()
    facts = {"chips": chips, "machines": machines, "zones": zones}[args.what](catalog)
    wanted = {n: f for n, f in facts.items() if not args.name or args.name.lower() in n.lower()}
    if not wanted:
        raise FleetError(
            f"catalog {args.what}", unknown(args.what[:-1], args.name, {n.partition(" (")[0] for n in facts})
        )
    if args.json:
        print(json.dumps({n: {k: _json(f) for k, f in fields.items()} for n, fields in wanted.items()}, indent=2))
        return 0
    if not args.name:
        print(glance(args.what, wanted))
        return 0
    for name, fields in wanted.items():
        print(name)
        for key, fact in fields.items():
            print(f"  {key:<22} {_said(fact):<34} {fact.status:<9} {fact.source} ({fact.date})")
    return 0


def _said(fact: Fact) -> str:
    if fact.value is None:
        return "?"
    text = f"{fact.value:g}" if isinstance(fact.value, float) else str(fact.value)
    return f"{text} {fact.unit}" if fact.unit else text


def _json(fact: Fact) -> dict[str, Any]:
    return fact.model_dump(mode="json", exclude={"subject"})


def chips(catalog: Catalog) -> dict[str, dict[str, Fact]]:
    """Chip words with their default form's figures and the machines that carry each form."""
    from accelerator_fleet.plan.machine import machines_of
    from accelerator_fleet.plan.model import Fact

    out: dict[str, dict[str, Fact]] = {}
    for word, entry in catalog.words.entries.items():
        source = catalog.words.sources[entry.source]
        for variant, chip in entry.variants.items():
            name = word if len(entry.variants) == 1 else f"{word} ({variant})"
            fields = {f: catalog.chips.fact(chip, f) for f in CHIP_FIELDS}
            for kind, cloud, table, key in (
                ("EKS", "aws", catalog.machines, "ec2"),
                ("GKE", "gcp", catalog.gke_machines, "xpk"),
            ):
                fields[f"{kind} machines"] = Fact(
                    subject=f"{word}.{kind.lower()}-machines",
                    value=", ".join(machines_of(catalog, word, variant, cloud)) or "none",
                    status="verified",
                    source=table.sources[key].text,
                    date=table.sources[key].date,
                )
            if chip in catalog.mig.entries:
                mig = catalog.mig.entries[chip]
                parts = ", ".join(
                    f"{n} x {p}{'' if p in mig.gke else ' (not on GKE)'}" for p, n in mig.profiles.items()
                )
                fields["MIG"] = catalog.mig.fact(chip, "profiles").model_copy(update={"value": parts})
            if chip in catalog.tpu.entries:
                shapes = catalog.tpu.entries[chip]
                listed = list(dict.fromkeys(t for t, _, _ in shapes.shapes))
                more = f" … {listed[-1]} ({len(listed)} in all)" if len(listed) > 12 else ""
                fields["topologies"] = Fact(
                    subject=f"{word}.topologies",
                    value=", ".join(listed[:12]) + more,
                    status=shapes.status,
                    source=catalog.tpu.sources[shapes.source].text,
                    date=catalog.tpu.sources[shapes.source].date,
                )
            if len(entry.variants) > 1:
                fields["default variant"] = Fact(
                    subject=f"{word}.default",
                    value=f"{entry.default or 'none'} ({entry.why})",
                    status=entry.status,
                    source=source.text,
                    date=source.date,
                )
            if entry.aliases:
                fields["other words"] = Fact(
                    subject=f"{word}.aliases",
                    value=", ".join(entry.aliases),
                    status=entry.status,
                    source=source.text,
                    date=source.date,
                )
            out[name] = fields
    return out


def machines(catalog: Catalog) -> dict[str, dict[str, Fact]]:
    """EC2's machines, then Google's, with their figures."""
    ec2 = {
        name: {f: catalog.machines.fact(name, f) for f in MACHINE_FIELDS} for name in sorted(catalog.machines.entries)
    }
    google = catalog.gke_machines
    return ec2 | {name: {f: google.fact(name, f) for f in GKE_FIELDS} for name in sorted(google.entries)}


def zones(catalog: Catalog) -> dict[str, dict[str, Fact]]:
    """Zones with the catalogued machines and general-purpose families that their cloud lists there."""
    from accelerator_fleet.plan.model import Fact

    out: dict[str, dict[str, Fact]] = {}
    aws = [(r, e, "", catalog.zones.sources) for r, e in catalog.zones.entries.items()]
    google = [(r, e, "-", catalog.gke_zones.sources) for r, e in catalog.gke_zones.entries.items()]
    for region, entry, between, sources in (*aws, *google):
        source = sources[entry.source]
        for letter, zone in entry.zones.items():
            name = f"{region}{between}{letter}"
            out[name] = {
                key: Fact(
                    subject=f"{name}.{key}",
                    value=", ".join(values) or "none",
                    status=entry.status,
                    source=source.text,
                    date=source.date,
                )
                for key, values in (("machines", zone.machines), ("general_purpose", zone.general_purpose))
            }
    return out
