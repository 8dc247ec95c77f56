"""The comparison: what the clouds and clusters have, what the state knows, what the program wants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from accelerator_fleet_recover.clusters import Cluster, connect
from accelerator_fleet_recover.match import Known, choose
from accelerator_fleet_recover.model import CLUSTERS, RELEASE, Item, Orphan, Wanted, has_unknown, revealed

if TYPE_CHECKING:
    from accelerator_fleet_recover.stack import Preview

AWS: Final = "pulumi:providers:aws"
GOOGLE: Final = "pulumi:providers:gcp"
NATIVE: Final = "pulumi:providers:accelerator-fleet-native"
KUBERNETES: Final = "pulumi:providers:kubernetes"


@dataclass
class Survey:
    """One look at everything. `covered`: types whose absence from `items` means that they are gone."""

    items: list[Item] = field(default_factory=list)
    covered: set[str] = field(default_factory=set)
    orphans: list[Orphan] = field(default_factory=list)
    ghosts: list[str] = field(default_factory=list)  # URNs in the state of what is nowhere
    later: list[Wanted] = field(default_factory=list)  # in a cluster that is not reached before it is adopted
    halves: list[tuple[Cluster, Item, str]] = field(default_factory=list)  # releases that a killed Helm left, with URN
    others: list[Item] = field(default_factory=list)  # of this fleet, perhaps of another stack of its environment
    moving: list[Item] = field(default_factory=list)  # still being made or deleted


def resources_of(exported: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The resources of an exported state that are there (not those that wait to be deleted)."""
    found: list[dict[str, Any]] = exported["deployment"].get("resources") or []
    return [r for r in found if not r.get("delete")]


def pending_of(exported: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Operations that the engine began and never saw the end of."""
    found: list[dict[str, Any]] = exported["deployment"].get("pending_operations") or []
    return found


def _cloud_items(kind: str, provider: Wanted, resources: list[Wanted]) -> tuple[list[Item], frozenset[str]]:
    if kind == AWS:
        from accelerator_fleet_recover.aws import inventory as aws
        from accelerator_fleet_recover.aws.session import Account

        account = Account(provider.urn, provider.inputs)
        account.check()
        return list(aws.items(account, resources)), aws.TYPES
    if kind == GOOGLE:
        from accelerator_fleet_recover.google import inventory as google
        from accelerator_fleet_recover.google import tpu
        from accelerator_fleet_recover.google.session import Project

        project = Project(provider.urn, provider.inputs)
        items = [*google.Inventory(project, resources).items(), *tpu.nodes(project)]
        if not any(r.type == tpu.QUEUED for r in resources):
            items += tpu.queued(project, foreign=True)
        return items, google.TYPES
    if kind == NATIVE:
        from accelerator_fleet_recover.google import tpu
        from accelerator_fleet_recover.google.session import Project

        return list(tpu.queued(Project(provider.urn, provider.inputs))), tpu.TYPES
    return [], frozenset()


class Surveyor:
    """Looks at the clouds once for each call; connections to clusters are kept."""

    def __init__(self, variables: Mapping[str, str], say: Callable[[str], None]) -> None:
        self._variables, self._say = variables, say
        self._clusters: dict[str, Cluster | None] = {}
        self._pending: dict[str, Mapping[str, Any]] = {}  # URN -> inputs of operations that were seen

    def look(self, exported: Mapping[str, Any], preview: Preview) -> Survey:
        """Compares. Nothing is changed anywhere."""
        found = Survey()
        state = [Wanted(r) for r in resources_of(exported)]
        providers = {
            w.urn: Wanted({**w.state, "inputs": revealed(w.inputs)})
            for w in [*state, *preview.creates]
            if w.type.startswith("pulumi:providers:")
        }
        everything = [*state, *preview.wanted]
        for provider in providers.values():
            if provider.type != KUBERNETES and not has_unknown(dict(provider.inputs)):
                items, types = _cloud_items(provider.type, provider, everything)
                found.items += items
                found.covered |= types
        self._match(found, state, preview, providers, exported)
        self._objects(found, state, preview, providers)
        found.moving = [i for i in found.items if i.status in {"coming", "going"}]
        return found

    def _match(
        self,
        found: Survey,
        state: list[Wanted],
        preview: Preview,
        providers: Mapping[str, Wanted],
        exported: Mapping[str, Any],
    ) -> None:
        in_state = {(w.type, str(w.state.get("id"))) for w in state}
        free = [i for i in found.items if not any((i.type, one) in in_state for one in i.ids)]
        free = [i for i in free if not _joined_in(state, i)]
        self._pending |= {p["resource"]["urn"]: p["resource"].get("inputs") or {} for p in pending_of(exported)}
        known = Known({w.urn: str(w.state["id"]) for w in state if w.state.get("id")}, pending=self._pending)
        for wanted in preview.wanted:
            item = choose(wanted, free, known)
            if item is None:
                continue
            free.remove(item)
            known.found(wanted, item)
            found.orphans.append(Orphan(item, wanted))
        unasked = [i for i in free if i.status != "going"]
        if preview.partial or preview.failure:
            found.others = unasked
        else:
            found.orphans += [Orphan(i, None) for i in unasked]
        ids = {(i.type, one) for i in found.items for one in i.ids}
        found.ghosts = [
            w.urn
            for w in state
            if w.type in found.covered and (w.type, str(w.state.get("id"))) not in ids
            and not any(_joined_in([w], i) for i in found.items)
        ]  # fmt: skip

    def _objects(self, found: Survey, state: list[Wanted], preview: Preview, providers: Mapping[str, Wanted]) -> None:
        going = {one for i in found.items if i.status == "going" for one in i.ids}
        gone = {*found.ghosts, *(w.urn for w in state if w.type in CLUSTERS and w.state.get("id") in going)}
        for wanted in [*state, *preview.wanted]:
            if not wanted.type.startswith("kubernetes:"):
                continue
            is_new = wanted.state.get("id") is None
            # Objects go with their cluster, and nobody answers for them.
            if gone & set(providers[wanted.provider].state.get("dependencies") or []):
                found.ghosts += [] if is_new else [wanted.urn]
                continue
            cluster = self._cluster(providers[wanted.provider])
            if cluster is None:
                found.later += [wanted] if is_new else []
                continue
            item = cluster.find(wanted)
            self._object(found, wanted, item, is_new, cluster)

    @staticmethod
    def _object(found: Survey, wanted: Wanted, item: Item | None, is_new: bool, cluster: Cluster) -> None:
        if item is None:
            found.ghosts += [] if is_new else [wanted.urn]
            return
        found.items.append(item)
        if wanted.type == RELEASE and item.status == "failed":
            found.halves.append((cluster, item, wanted.urn))
        elif is_new and item.status != "going":
            found.orphans.append(Orphan(item, wanted))

    def _cluster(self, provider: Wanted) -> Cluster | None:
        config = json.dumps(dict(provider.inputs), sort_keys=True)
        if config not in self._clusters:
            self._clusters[config] = connect(provider.inputs, self._variables)
        return self._clusters[config]


def _joined_in(state: list[Wanted], item: Item) -> bool:
    """Whether the state knows what joins two others (a route, an attachment) under another form of id."""
    if item.type not in {"aws:ec2/route:Route", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"}:
        return False
    for one in _of_type(state, item.type):
        outputs = one.state.get("outputs") or {}
        if all(str(outputs.get(k)) == v for k, v in item.keys.items()):
            return True
    return False


def _of_type(state: list[Wanted], kind: str) -> Iterator[Wanted]:
    return (w for w in state if w.type == kind)
