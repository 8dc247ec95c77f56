"""The catalogue at a glance: one line an entry, doubt marked at the figure, sources numbered below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from accelerator_fleet.plan.model import Fact

Facts = Mapping[str, Mapping[str, "Fact"]]
MARKS: Final = {"verified": "", "derived": "=", "estimate": "~", "unknown": ""}
LEGEND: Final = "= derived · ~ estimate · ? unknown · the rest verified; sources by number"
# title -> field, where an entry has it
CHIPS: Final = (
    *(("GB", "memory_gb"), ("BF16 TFLOPS", "dense_bf16_tflops"), ("GB/s", "memory_bandwidth_gbs"), ("W", "tdp_w")),
    *(("resource", "resource"), ("on EKS", "EKS machines"), ("on GKE", "GKE machines"), ("other words", "other words")),
)
MACHINES: Final = (
    *(("chip", "chip"), ("cards", "cards_per_node"), ("vCPU", "vcpu"), ("memory", "memory_gib")),
    *(("Gbps", "network_gbps"), ("EFA", "efa_max"), ("gVNIC", "extra_gvnic"), ("RDMA", "extra_rdma")),
    *(("resource", "resource"), ("accelerator", "accelerator")),
)
ZONES: Final = (("accelerator machines", "machines"), ("general purpose", "general_purpose"))
COLUMNS: Final = {"chips": CHIPS, "machines": MACHINES, "zones": ZONES}


def glance(what: str, facts: Facts) -> str:
    """The table of `chips`, `machines` or `zones`, its legend and its sources with their dates."""
    from accelerator_fleet.cli.table import render

    sources: dict[tuple[str, str], int] = {}
    rows = []
    for name, fields in facts.items():
        used = [fields[key] for _, key in COLUMNS[what] if key in fields]
        numbers = sorted({sources.setdefault((f.source, f.date), len(sources) + 1) for f in used})
        cells = [_cell(what, fields.get(key)) for _, key in COLUMNS[what]]
        rows.append([name, *cells, " ".join(map(str, numbers))])
    table = render([what[:-1], *(title for title, _ in COLUMNS[what]), "sources"], rows)
    listed = [f"{number:>3}  {text} ({date})" for (text, date), number in sources.items()]
    one = f"each figure with its own source: `fleet catalog {what} NAME`, or --json"
    return "\n".join([table, "", f"{LEGEND}; {one}", *listed])


def _cell(what: str, fact: Fact | None) -> str:
    if fact is None:
        return "-"
    if fact.value is None:
        return "?"
    if what == "zones" or fact.subject.endswith("-machines"):
        return _families(str(fact.value))
    text = f"{fact.value:g}" if isinstance(fact.value, float) else str(fact.value)
    return f"{MARKS[fact.status]}{text}"


def _families(listed: str) -> str:
    """`p5.48xlarge, p5.4xlarge` -> `p5`; `a3-highgpu-8g` -> `a3-highgpu`."""
    names = [m for m in listed.split(", ") if m and m != "none"]
    families = dict.fromkeys(n.partition(".")[0] if "." in n else "-".join(n.split("-")[:2]) for n in names)
    return " ".join(families) or "-"
