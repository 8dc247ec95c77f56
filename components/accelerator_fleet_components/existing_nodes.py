"""Checks that an existing cluster has the nodes and the queues that the spec relies on, before anything is created."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import pulumi

from accelerator_fleet import kubeconfig
from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig

# What every node has: not what somebody looks for who misses cards.
COMMON: Final = ("cpu", "memory", "pods", "ephemeral-storage", "hugepages-", "attachable-volumes-")
PATIENCE_S: Final = 10.0
KUEUE: Final = "kueue"
KUEUE_GROUP, QUEUE_API = "kueue.x-k8s.io", "v1beta2"
JOBSET: Final = "jobset"
JOBSET_GROUP, JOBSET_API = "jobset.x-k8s.io", "v1alpha2"


def check(plan: FleetPlan, sites: Iterable[str]) -> list[FleetError]:
    """One error per wrong context, and per pool whose cards the cluster does not have.

    A cluster that does not answer is told and passed over: other sites do not wait for it.
    """
    owned = set(sites)
    wanted = [(i, s) for i, s in enumerate(plan.sites) if s.kind == "existing" and s.name in owned]
    if not wanted:
        return []
    known = kubeconfig.contexts()
    errors: list[FleetError] = []
    for index, site in wanted:
        path = f"sites[{index}].kubeconfig.context"
        context = site.context or ""
        if context not in known:
            where = ", ".join(map(str, kubeconfig.files())) or "no kubeconfig file"
            errors.append(FleetError(path, f"{unknown('context', context, known)} (in {where})"))
            continue
        found = _read(known[context], path)
        if found is not None:
            nodes, kueue, jobset = found
            pools = [(i, p) for i, p in enumerate(plan.pools) if p.site == site.name]
            errors += pool_errors(pools, nodes, context)
            errors += kueue_errors(f"sites[{index}].addons.kueue", site, kueue)
            errors += jobset_errors(f"sites[{index}].addons.jobset", site, jobset)
    return errors


def kueue_errors(path: str, site: SitePlan, served: list[str]) -> list[FleetError]:
    """Whether Kueue is there, with the API that queues are written in; `served`: its versions in the cluster."""
    if next((a.state for a in site.addons if a.name == KUEUE), "absent") != "present" or QUEUE_API in served:
        return []
    there = f"only {', '.join(served)}" if served else "none"
    text = f"present means that cluster '{site.context}' has Kueue with {KUEUE_GROUP}/{QUEUE_API}; it has {there}"
    return [FleetError(path, f"{text}; {{state: managed}} installs it")]


def jobset_errors(path: str, site: SitePlan, served: list[str]) -> list[FleetError]:
    """Whether JobSet is there, with the API that gangs are written in."""
    if next((a.state for a in site.addons if a.name == JOBSET), "absent") != "present" or JOBSET_API in served:
        return []
    there = f"only {', '.join(served)}" if served else "none"
    text = f"present means that cluster '{site.context}' has JobSet with {JOBSET_GROUP}/{JOBSET_API}; it has {there}"
    return [FleetError(path, f"{text}; {{state: managed}} installs it, {{state: absent}} makes gangs plain Jobs")]


Node = tuple[dict[str, str], dict[str, int]]  # labels, allocatable devices


def _read(config: SingleConfig, path: str) -> tuple[list[Node], list[str], list[str]] | None:
    """The nodes, and the versions in which the cluster serves Kueue's objects and JobSets."""
    import httpx2
    from lightkube import ApiError, Client
    from lightkube.core.exceptions import ConfigError
    from lightkube.generic_resource import create_global_resource
    from lightkube.resources.core_v1 import Node as NodeResource

    local = (config.cluster.server or "").startswith("https://127.")
    try:
        client = Client(config=config, timeout=httpx2.Timeout(PATIENCE_S), trust_env=not local)
        found = [n.to_dict() for n in client.list(NodeResource)]
        definition = create_global_resource(
            "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions"
        )
        definitions = {d["metadata"]["name"]: d for d in client.list(definition)}
    except (ApiError, ConfigError, httpx2.TransportError, OSError) as failed:
        pulumi.log.warn(f"{path}: no answer from the cluster ({failed}); its nodes are not checked")
        return None
    queues, jobsets = (
        _served(definitions.get(name)) for name in (f"clusterqueues.{KUEUE_GROUP}", f"jobsets.{JOBSET_GROUP}")
    )
    nodes = [(n["metadata"].get("labels", {}), devices(n.get("status", {}).get("allocatable", {}))) for n in found]
    return nodes, queues, jobsets


def _served(definition: Any) -> list[str]:
    """The versions of a kind that the API server answers in; none when the kind is not there."""
    versions = definition["spec"]["versions"] if definition is not None else []
    return [str(v["name"]) for v in versions if v.get("served")]


def devices(allocatable: dict[str, str]) -> dict[str, int]:
    """The countable resources of a node beside what every node has."""
    found: dict[str, int] = {}
    for name, amount in allocatable.items():
        if not name.startswith(COMMON):
            with contextlib.suppress(ValueError):
                found[name] = int(amount)
    return found


def pool_errors(pools: list[tuple[int, PoolPlan]], nodes: list[Node], context: str) -> list[FleetError]:
    """For each pool whether nodes with its labels have its cards; pools with the same labels share them."""
    errors: list[FleetError] = []
    asked: Counter[tuple[str, tuple[tuple[str, str], ...]]] = Counter()
    for index, pool in pools:
        mine = [own for labels, own in nodes if pool.node_selector.items() <= labels.items()]
        cards = sum(own.get(pool.resource, 0) for own in mine)
        there = f"cluster '{context}' has {_listed(nodes)}"
        if not cards:
            labels = ", ".join(f"{k}={v}" for k, v in sorted(pool.node_selector.items()))
            what = f"no node with {pool.resource}" + (f" and the labels {labels}" if labels else "")
            errors.append(FleetError(f"pools[{index}].chip", f"{what}; {there}"))
            continue
        key = (pool.resource, tuple(sorted(pool.node_selector.items())))
        asked[key] += pool.cards
        if asked[key] > cards:
            full = sum(1 for own in mine if own.get(pool.resource))
            text = f"{asked[key]} {pool.chip} cards are asked for, {cards} are there (on {full} nodes); {there}"
            errors.append(FleetError(f"pools[{index}].cards", text))
    return errors


def _listed(nodes: list[Node]) -> str:
    total: Counter[str] = Counter()
    for _, own in nodes:
        total.update({name: amount for name, amount in own.items() if amount})
    return ", ".join(f"{amount} {name}" for name, amount in sorted(total.items())) or "no accelerators at all"
