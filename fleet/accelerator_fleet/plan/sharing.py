"""How a pool's cards are shared: MIG, time slicing or MPS, where the chip, the site and the pool's size allow it."""

from __future__ import annotations

from typing import Final

import yaml

from accelerator_fleet.catalog.model import Catalog, SharingRule
from accelerator_fleet.errors import nearest
from accelerator_fleet.plan.model import PoolPlan, SharingPlan
from accelerator_fleet.plan.names import group_prefix, shape_key
from accelerator_fleet.plan.notes import Notes
from accelerator_fleet.spec.model import FleetSpec, PoolSpec
from accelerator_fleet.spec.sharing import SharingSpec

NVIDIA: Final = "NVIDIA"
PLUGIN: Final = "nvidia-device-plugin"
# What NVIDIA's device plugin reads its configuration's name from, and its MPS daemon chooses nodes by.
# https://github.com/NVIDIA/k8s-device-plugin (README; deployments/helm)
CONFIG_LABEL: Final = "nvidia.com/device-plugin.config"
MPS_LABEL: Final = "nvidia.com/mps.capable"
WHOLE: Final = "whole"  # the configuration of nodes that share nothing


def shared(spec: FleetSpec, index: int, kind: str, plan: PoolPlan, catalog: Catalog, notes: Notes) -> PoolPlan:
    """The pool on a site of `kind` with its cards shared as the spec says; as it is where the spec says nothing.

    Raises FleetError with the rule's own text, or with the profiles there are.
    """
    pool, path = spec.pools[index], f"pools[{index}].sharing"
    if pool.sharing is None:
        return plan
    way, chip = pool.sharing.way, _form(pool, plan, kind, catalog)
    rules = catalog.sharing.entries
    vendor = catalog.chips.entries[chip].vendor
    if vendor != NVIDIA:
        raise spec.error(path, rules[f"vendor/{vendor}"].refuse)
    rule = rules[f"{kind}/{way}"]
    if rule.refuse:
        raise spec.error(f"{path}.{way}", rule.refuse)
    site = next(s for s in spec.sites if s.name == plan.site)
    if kind == "eks" and not _managed(site.addons.get(PLUGIN), existing=site.cluster.name is not None):
        text = f"{site.name}'s {PLUGIN} is not ours to set up, and it divides the cards; say"
        raise spec.error(path, f"{text} `addons: {{{PLUGIN}: {{state: managed}}}}` at the site, or leave this out")
    _whole_nodes(spec, path, plan)
    made = _plan(spec, path, pool.sharing, kind, chip, rule, catalog, notes)
    return plan.model_copy(update=_fields(plan, made, kind))


def _form(pool: PoolSpec, plan: PoolPlan, kind: str, catalog: Catalog) -> str:
    """The chip's form: h100-sxm."""
    if kind == "existing":
        word = catalog.words.entries[plan.chip]
        return word.variants[pool.variant or word.default or sorted(word.variants)[0]]
    machines = catalog.machines.entries if kind == "eks" else catalog.gke_machines.entries
    return machines[plan.machine].chip


def _managed(addon: object, *, existing: bool) -> bool:
    state = getattr(addon, "state", "present" if existing else "managed")
    return bool(state == "managed")


def _whole_nodes(spec: FleetSpec, path: str, plan: PoolPlan) -> None:
    """Nodes that form one network give whole cards: nothing divides the cards' own traffic."""
    fast = f"{plan.efa_interfaces} EFA interfaces" if plan.efa_interfaces else ""
    fast = fast or (f"{len(plan.extra_networks)} further networks" if plan.extra_networks else "")
    if plan.max_nodes > 1 and (fast or plan.placement_policy):
        text = (
            f"{plan.max_nodes} {plan.machine} nodes are one network ({fast or 'compact placement'}), for jobs on whole"
        )
        near = f"{plan.cards_per_node} cards (one node), several such pools, or a smaller `machine`"
        raise spec.error(path, f"{text} cards; nearest: {near}")


def _plan(
    spec: FleetSpec,
    path: str,
    said: SharingSpec,
    kind: str,
    chip: str,
    rule: SharingRule,
    catalog: Catalog,
    notes: Notes,
) -> SharingPlan:
    if said.mig is not None:
        return _mig(spec, f"{path}.mig", said.mig, kind, chip, catalog, notes)
    parts = said.time_slicing or said.mps or 0
    if rule.most and parts > rule.most:
        raise spec.error(f"{path}.{said.way}", f"{parts} cannot share a card; at most {rule.most} can")
    notes.rely(catalog.sharing, f"{kind}/{said.way}", "most")
    why = (
        "no memory of their own: one that takes too much ends the others" if said.time_slicing else "a part of its own"
    )
    notes.because(f"{path}.{said.way}", f"{parts} on each card", f"jobs ask for one of them each; {why}")
    return SharingPlan(way="time_slicing" if said.time_slicing else "mps", parts=parts)


def _mig(spec: FleetSpec, path: str, profile: str, kind: str, chip: str, catalog: Catalog, notes: Notes) -> SharingPlan:
    if chip not in catalog.mig.entries:
        able = ", ".join(sorted(catalog.mig.entries))
        raise spec.error(path, f"{chip} has no MIG; these have: {able}; or say `time_slicing` or `mps`")
    entry = catalog.mig.entries[chip]
    taken = entry.gke if kind == "gke" else tuple(entry.profiles)
    if profile not in taken:
        near = nearest(profile, taken)
        text = f"GKE makes no {profile}" if profile in entry.profiles else f"{chip} has no profile {profile}"
        text += f"; nearest: {near[0]}" if near else ""
        raise spec.error(path, f"{text}; there are: {', '.join(f'{p} ({entry.profiles[p]} a card)' for p in taken)}")
    notes.rely(catalog.mig, chip, "profiles")
    parts = entry.profiles[profile]
    notes.because(path, f"{parts} on each card", f"all cards are divided into {profile}, each with memory of its own")
    return SharingPlan(way="mig", parts=parts, profile=profile)


def _fields(plan: PoolPlan, made: SharingPlan, kind: str) -> dict[str, object]:
    out: dict[str, object] = {"sharing": made}
    if kind == "eks":
        own = {CONFIG_LABEL: config_name(made)} | ({MPS_LABEL: "true"} if made.way == "mps" else {})
        out["labels"] = dict(sorted({**plan.labels, **own}.items()))
    if kind == "gke":
        # Fixed when the nodes are made: other parts are another shape.
        key = shape_key({"shape": plan.shape_key, "sharing": made.model_dump()})
        out |= {"shape_key": key, "group_name_prefix": group_prefix(plan.name, key)}
    if kind == "existing" and made.profile is not None:
        out["resource"] = f"nvidia.com/mig-{made.profile}"
    return out


def config_name(sharing: SharingPlan) -> str:
    """The name of the device plugin's configuration: `time-slicing-4`, `mps-8`."""
    return f"{sharing.way.replace('_', '-')}-{sharing.parts}"


def plugin_configs(pools: tuple[PoolPlan, ...]) -> tuple[tuple[str, str], ...]:
    """The configurations of NVIDIA's device plugin that the pools' nodes choose among; (): none of them shares."""
    ways = {config_name(p.sharing): p.sharing for p in pools if p.sharing is not None}
    if not ways:
        return ()
    return ((WHOLE, _config(None)), *((name, _config(ways[name])) for name in sorted(ways)))


def _config(sharing: SharingPlan | None) -> str:
    config: dict[str, object] = {"version": "v1", "flags": {"migStrategy": "none"}}
    if sharing is not None:
        rows: dict[str, object] = {"resources": [{"name": "nvidia.com/gpu", "replicas": sharing.parts}]}
        # Two parts are no more of the card than one: a job that asks for two would be told a lie.
        rows |= {"failRequestsGreaterThanOne": True} if sharing.way == "time_slicing" else {}
        config["sharing"] = {"timeSlicing" if sharing.way == "time_slicing" else "mps": rows}
    return yaml.safe_dump(config, sort_keys=False)
