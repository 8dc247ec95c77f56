"""The golden recipes in docs/recipes: every chip × granularity × way of getting nodes, as spec, plan and resources.

The resources are what the components register with the engine, under Pulumi's mocks; tests/engine/test_recipes.py
compares them with a preview of the real engine. `make goldens` writes them anew; they are read in review.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from accelerator_fleet import catalog, jobs, spec
from accelerator_fleet.cli import pools as tables
from accelerator_fleet.cli.table import count as number
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan
from accelerator_fleet.plan.model import FleetPlan, PoolPlan

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "recipes"
C: Final = catalog.load()
TAGS: Final = {"owner": "ml-platform", "cost-center": "research"}
SITES: Final[dict[str, dict[str, Any]]] = {
    "use2": {"kind": "eks", "account": "000000000000", "region": "us-east-2", "cidr": "10.16.0.0/16"},
    "usw2": {"kind": "eks", "account": "000000000000", "region": "us-west-2", "cidr": "10.17.0.0/16"},
    "usc1": {"kind": "gke", "project": "embedded-research", "region": "us-central1", "cidr": "10.20.0.0/14"},
    "usc2": {
        "kind": "gke",
        "project": "embedded-research",
        "region": "us-central2",
        "cidr": "10.24.0.0/14",
        "system": {"machine": "n2-standard-4"},
    },
    "usw4": {"kind": "gke", "project": "embedded-research", "region": "us-west4", "cidr": "10.32.0.0/14"},
    "use5": {"kind": "gke", "project": "embedded-research", "region": "us-east5", "cidr": "10.28.0.0/14"},
    "byo": {"kind": "existing", "kubeconfig": {"context": "lab"}},
}
DATES: Final = {"starts": "2027-01-04T11:30:00Z", "ends": "2027-01-11T11:30:00Z"}
# Ways of getting nodes -> what `capacity` then says; `zone`: it lies in one.
EKS: Final[dict[str, dict[str, Any]]] = {
    "on-demand": {},
    "spot": {},
    "reserved": {"reservation": "cr-0a1b2c3d4e5f60718"},
    "capacity-block": {"reservation": "cr-0b1b2c3d4e5f60718", **DATES},
}
GKE: Final[dict[str, dict[str, Any]]] = {
    "on-demand": {},
    "spot": {},
    "reserved": {"reservation": "train"},
    "flex-start": {},
    "queued-provisioning": {},
    "calendar": {"reservation": "train", **DATES},
    "queued-resource": {},
}
MODES: Final = {"eks": EKS, "gke": GKE}
GRANULARITIES: Final = {
    "card-hour": ("A card for an hour", "hour"),
    "part-hour": ("A part of a card for an hour", "hour"),
    "node-day": ("A node for a day", "day"),
    "cluster-week": ("256 cards for a week", "week"),
}


@dataclass(frozen=True)
class Chip:
    """One chip on one site: its words in a spec, cards of a node, and what a part of a card is there."""

    title: str
    file: str
    site: str
    said: dict[str, Any]
    node: dict[str, Any]  # a node, by cards or topology
    card: dict[str, Any] | None = None  # a machine of one card
    part: dict[str, Any] | None = None  # sharing
    cluster: dict[str, Any] = field(default_factory=lambda: {"cards": 256})


def _nvidia(file: str, site: str, said: dict[str, Any], card: bool = False, part: str | None = None) -> Chip:
    ways = {"mig": part} if part and SITES[site]["kind"] == "gke" else {"time_slicing": 4}
    node = {"cards": 8} | ({"cards_per_node": 8} if site == "byo" else {})
    cluster = {"cards": 256} | ({"cards_per_node": 8} if site == "byo" else {})
    return Chip(file, file, site, said, node, {"cards": 1} if card else None, {**node, "sharing": ways}, cluster)


def _other(file: str, site: str, said: dict[str, Any], node: dict[str, Any], card: dict[str, Any] | None) -> Chip:
    more = {"cards_per_node": node["cards_per_node"]} if site == "byo" else {}
    return Chip(file, file, site, said, node, card, None, {"cards": 256, **more})


NEURON, JAX = {"runtime": "neuron"}, {"runtime": "jax"}
CHIPS: Final = (
    _nvidia("a100", "use2", {"chip": "a100"}, part="1g.5gb"),
    _nvidia("a100", "usc1", {"chip": "a100"}, card=True, part="1g.5gb"),
    _nvidia("a100-80gb", "usw2", {"chip": "a100", "variant": "80gb"}, part="1g.10gb"),
    _nvidia("a100-80gb", "usc1", {"chip": "a100", "variant": "80gb"}, card=True, part="1g.10gb"),
    _nvidia("h100", "use2", {"chip": "h100"}, card=True, part="1g.10gb"),
    _nvidia("h100", "usc1", {"chip": "h100"}, card=True, part="1g.10gb"),
    _nvidia("h100-mega", "usc1", {"chip": "h100", "variant": "mega"}, part="1g.10gb"),
    _nvidia("h200", "use2", {"chip": "h200"}, part="1g.18gb"),
    _nvidia("h200", "usc1", {"chip": "h200"}, part="1g.18gb"),
    _nvidia("b200", "use2", {"chip": "b200"}, part="1g.23gb"),
    _nvidia("b200", "usc1", {"chip": "b200"}, part="1g.23gb"),
    _other("tpu-v4", "usc2", {"chip": "tpu-v4", **JAX}, {"topology": "2x2x1"}, None),
    _other("tpu-v5e", "usw4", {"chip": "tpu-v5e", **JAX}, {"topology": "2x4"}, {"topology": "1x1"}),
    _other("tpu-v5p", "use5", {"chip": "tpu-v5p", **JAX}, {"topology": "2x2x1"}, None),
    _other("tpu-v6e", "use5", {"chip": "tpu-v6e", **JAX}, {"topology": "2x4"}, {"topology": "1x1"}),
    _other("trn1", "use2", {"chip": "trn1", **NEURON}, {"cards": 16}, {"cards": 1}),
    _other("trn1n", "use2", {"chip": "trn1n", **NEURON}, {"cards": 16}, None),
    _other("trn2", "use2", {"chip": "trn2", **NEURON}, {"cards": 16}, None),
    *(_nvidia(w, "byo", {"chip": w}) for w in ("rtx3090", "rtx4090", "rtx5090", "a6000", "rtx6000ada")),
    _other("mi300x", "byo", {"chip": "mi300x"}, {"cards": 8, "cards_per_node": 8}, None),
    *(
        _other("ascend-910b", "byo", {"chip": "ascend-910b", "variant": v}, {"cards": n, "cards_per_node": n}, None)
        for v, n in (("b1", 8), ("b2", 8), ("b2c", 8), ("b3", 8), ("b4", 8), ("b4-1", 16))
    ),
)


@dataclass(frozen=True)
class Recipe:
    """One way to have a chip. `refused`: why it cannot be had, else its plan."""

    chip: Chip
    granularity: str
    mode: str
    pool: dict[str, Any]
    made: FleetPlan | None
    refused: str = ""


def recipes() -> Iterator[Recipe]:
    """All of them, in the order of the documents."""
    number = 0
    for chip in CHIPS:
        kind = SITES[chip.site]["kind"]
        for granularity, size in _sizes(chip):
            for mode, more in MODES.get(kind, {"existing": {}}).items():
                if mode == "queued-resource" and not chip.file.startswith("tpu"):
                    continue  # of Cloud TPUs only
                number += 1
                yield _recipe(chip, granularity, size, mode, more, f"r{number:03}")


def _sizes(chip: Chip) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "card-hour", chip.card or chip.node
    if chip.part is not None:
        yield "part-hour", chip.part
    yield "node-day", chip.node
    yield "cluster-week", chip.cluster


def _recipe(chip: Chip, granularity: str, size: dict[str, Any], mode: str, more: dict[str, Any], name: str) -> Recipe:
    pool = {"name": name, "site": chip.site, **chip.said, **size, "billing": GRANULARITIES[granularity][1]}
    if mode != "existing" and mode != "on-demand":
        pool["capacity"] = {"mode": mode, **more}
    try:
        made = _plan(pool)
    except FleetError as error:
        if not error.path.endswith("zone") or "zone" in pool:
            return Recipe(chip, granularity, mode, pool, None, error.message.partition("; sites that can")[0])
        # What lies in one zone names it: the one that the plan chooses by itself.
        free = {k: v for k, v in pool.items() if k != "capacity"}
        free |= {"capacity": {"mode": "spot"}} if "a3-highgpu-1g" in error.message else {}
        pool = {**pool, "zone": _zone(free)}
        try:
            made = _plan(pool)
        except FleetError as again:
            return Recipe(chip, granularity, mode, pool, None, again.message.partition("; sites that can")[0])
    return Recipe(chip, granularity, mode, pool, made)


def _zone(pool: dict[str, Any]) -> str:
    for more in ({}, {"capacity": {"mode": "spot"}}):
        try:
            return _plan({**pool, **more}).pools[0].zone
        except FleetError:
            continue
    return "us-central1-a"


def _plan(pool: dict[str, Any]) -> FleetPlan:
    site = {"name": pool["site"], **SITES[pool["site"]]}
    return plan(spec.parse({"fleet": "accel", "tags": TAGS, "sites": [site], "pools": [pool]}, env="recipes"), C)


def together(all_: list[Recipe]) -> list[FleetPlan]:
    """One plan a site with the pools of all its recipes: so that they become resources in one run."""
    out = []
    for name in SITES:
        plans = [r.made for r in all_ if r.made is not None and r.chip.site == name]
        if not plans:
            continue
        pools = tuple(p.pools[0] for p in plans)
        site = plans[0].sites[0]
        if site.gke_network is not None:
            networks = [n for p in plans if (n := p.sites[0].gke_network) is not None]
            extra = tuple({e.name: e for n in networks for e in n.extra}.values())
            site = site.model_copy(update={"gke_network": site.gke_network.model_copy(update={"extra": extra})})
        addons = tuple({a.name: a for p in plans for a in p.sites[0].addons}.values())
        site = site.model_copy(update={"addons": addons})
        out.append(plans[0].model_copy(update={"sites": (site,), "pools": pools}))
    return out


Resources = list[tuple[str, dict[str, Any]]]


def render(title: str, all_: list[Recipe], resources: dict[str, Resources]) -> str:
    """One document: the recipes of a chip. `resources`: pool -> (type, inputs) in the order of registration."""
    had = [r for r in all_ if r.made is not None]
    lines = [f"# {title}", "", f"{len(had)} recipes; written by `make goldens`, read in review.", ""]
    first: dict[tuple[str, str, str], Recipe] = {}
    for recipe in had:
        assert recipe.made is not None
        kind = (recipe.chip.site, recipe.granularity, str(recipe.chip.said.get("variant")))
        base = first.setdefault(kind, recipe)
        lines += _head(recipe, recipe.made)
        own = _named(resources.get(recipe.pool["name"], []), recipe)
        if recipe.mode == "existing":
            lines += _queue(recipe.made.pools[0])
        elif base is recipe:
            lines += _whole(own)
        else:
            lines += _differences(_named(resources.get(base.pool["name"], []), base), own, base)
    refused = [r for r in all_ if r.made is None]
    if refused:
        lines += ["## What cannot be had", "", *(f"* {_heading(r)}: {r.refused}" for r in refused), ""]
    return "\n".join(lines)


def _queue(pool: PoolPlan) -> list[str]:
    quota = f"{pool.max_nodes * pool.devices_per_node} {pool.resource}"
    return [f"Nothing is created but what is in the cluster: its flavour and its queue, for {quota}.", ""]


def _named(resources: Resources, recipe: Recipe) -> Resources:
    """The resources with the name that the recipe's text gives the pool."""
    text = json.dumps([[kind, _short(inputs)] for kind, inputs in resources], default=str)
    return [(kind, inputs) for kind, inputs in json.loads(text.replace(recipe.pool["name"], "pretrain"))]


def _whole(resources: Resources) -> list[str]:
    lines = []
    for kind, inputs in resources:
        text = yaml.safe_dump(inputs, sort_keys=True, width=120).rstrip()
        lines += [f"`{kind}`", "", "```yaml", text, "```", ""]
    return lines


def _differences(base: Resources, own: Resources, of: Recipe) -> list[str]:
    """What another way of getting the nodes changes in the resources, by path."""
    lines = [f"Resources as with {of.mode}, but:", ""]
    was, now = ({f"{k} {n}": v for n, (k, v) in _numbered(rs)} for rs in (base, own))
    rows = [f"* no `{k.split()[0]}`" for k in was if k not in now]
    for key, inputs in now.items():
        kind = key.split()[0]
        if key not in was:
            rows.append(f"* also `{kind}`: `{json.dumps(inputs, sort_keys=True)}`")
            continue
        old, new = dict(_flat(was[key])), dict(_flat(inputs))
        for path in sorted({*old, *new}):
            if old.get(path) != new.get(path):
                rows.append(f"* `{kind}` {path}: {new.get(path, 'left out')}")
    return [*lines, *(rows or ["* nothing: only jobs and bills see it"]), ""]


def _numbered(resources: Resources) -> Iterator[tuple[int, tuple[str, dict[str, Any]]]]:
    seen: Counter[str] = Counter()
    for kind, inputs in resources:
        seen[kind] += 1
        yield seen[kind], (kind, inputs)


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _flat(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{path}[{number}]")
    else:
        yield path, json.dumps(value)


def _heading(recipe: Recipe) -> str:
    kind = SITES[recipe.chip.site]["kind"]
    where = {"eks": "EKS", "gke": "GKE", "existing": "a cluster of one's own"}[kind]
    form = f" ({recipe.chip.said['variant']})" if recipe.chip.file == "ascend-910b" else ""
    mode = "" if recipe.mode == "existing" else f", {recipe.mode}"
    return f"{GRANULARITIES[recipe.granularity][0]}{mode} on {where}{form}"


def _head(recipe: Recipe, made: FleetPlan) -> list[str]:
    pool = made.pools[0]
    said = yaml.safe_dump([{**recipe.pool, "name": "pretrain"}], default_flow_style=True, sort_keys=False, width=200)
    lines = [f"## {_heading(recipe)}", "", "```yaml", "pools:", f"  - {said.strip()[1:-1]}", "```", ""]
    lines += [f"* {k}: {v}" for k, v in _facts(recipe, made, pool).items() if v]
    return [*lines, ""]


def _facts(recipe: Recipe, made: FleetPlan, pool: PoolPlan) -> dict[str, str]:
    parts = f", {tables.sharing(made)[0].partition(': ')[2]}" if pool.sharing else ""
    counted = (f"{q.name} ({q.code or '?'}): {q.amount} {q.unit}" if q.unit != "-" else q.name for q in made.quotas)
    quota = "; ".join(counted)
    return {
        "machine": f"{pool.nodes} x {pool.machine or 'as found'}, {number(pool.cards, 'card')}{parts}",
        "topology": f"{pool.slices} x {pool.topology_shape}" if pool.topology_shape else "",
        "zone": pool.zone,
        "network": "" if tables.network(pool) == "-" else f"{tables.network(pool)} a node",
        "placement": "" if tables.placement(pool) == "-" else tables.placement(pool),
        "quota": quota,
        "a job": _job(recipe, pool),
    }


def _job(recipe: Recipe, pool: PoolPlan) -> str:
    if pool.queued is not None:
        return ""
    host = pool.hosts_per_slice or 1
    cards = 1 if recipe.granularity in ("card-hour", "part-hour") and host == 1 else pool.cards
    if pool.resource == "google.com/tpu" and host == 1:
        cards = pool.cards_per_node  # a pod on a TPU host takes its chips together
    made = jobs.job_plan("try", pool, cards)
    each = f"{made.cards_per_pod} {pool.resource} each"
    return f"`fleet job submit … --cards {cards}`: {number(made.pods, 'pod')} with {each}"


def _short(value: Any) -> Any:
    """Inputs for people: neighbours that are alike are told once, with their number; empty and own tags left out."""
    if isinstance(value, dict):
        left_out = ("tags", "resourceLabels", "__defaults")
        return {k: _short(v) for k, v in value.items() if k not in left_out and v is not None}
    if isinstance(value, list):
        out: list[Any] = []
        counts: list[int] = []
        for item in (_short(v) for v in value):
            bare = {k: v for k, v in item.items() if k != "networkCardIndex"} if isinstance(item, dict) else item
            last = out[-1] if out else None
            known = {k: v for k, v in last.items() if k != "networkCardIndex"} if isinstance(last, dict) else last
            if out and isinstance(item, dict) and "networkCardIndex" in item and bare == known:
                counts[-1] += 1
                continue
            out.append(item)
            counts.append(1)
        return [{"each of": n, **v} if n > 1 else v for n, v in zip(counts, out, strict=True)]
    return int(value) if isinstance(value, float) and value.is_integer() else value  # the protocol has floats only


def count(texts: dict[str, str]) -> int:
    """Recipes in the documents."""
    return sum(text.count("\npools:\n") for name, text in texts.items() if name != "README.md")


def overview(all_: list[Recipe]) -> str:
    """The first page: how many recipes there are, by chip and way of getting nodes."""
    modes = [*dict.fromkeys((*EKS, *GKE)), "existing"]
    had = [r for r in all_ if r.made is not None]
    counts = Counter((r.chip.file, r.mode) for r in had)
    lines = [
        "# Recipes",
        "",
        f"{len(had)} ways to have a chip: a card for an hour (or a part of it), a node for a day, 256 cards for a",
        "week, by every way in which its nodes are had. Each is a spec, its plan, and the resources that follow: what",
        "the components register, under Pulumi's mocks; `tests/engine/test_recipes.py` holds them against a preview of",
        "the real engine. Written by `make goldens`.",
        "",
        f"| chip | {' | '.join(modes)} |",
        f"|---|{'---|' * len(modes)}",
    ]
    for name in dict.fromkeys(r.chip.file for r in all_):
        lines.append(f"| [{name}]({name}.md) | {' | '.join(str(counts[name, m] or '-') for m in modes)} |")
    return "\n".join([*lines, ""])
