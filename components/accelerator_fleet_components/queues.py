"""Kueue objects of a site: queues, a ResourceFlavor and a LocalQueue per pool, the network's Topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import PoolPlan, SitePlan
from accelerator_fleet.plan.team import TeamPlan
from accelerator_fleet.plan.teams import flavour_order, most_cards
from accelerator_fleet_components import provisioning, team_queues
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s
    from pulumi_kubernetes.apiextensions import CustomResource

API: Final = "kueue.x-k8s.io/v1beta2"
POOL_LABEL: Final = "accelerator-fleet.dev/pool"


class SiteQueues(pulumi.ComponentResource):
    """Queue objects in one cluster. Quotas are cards; a pool's LocalQueue carries the pool's name and stays.

    `namespace`: the namespace of jobs and their queues.
    """

    namespace: pulumi.Resource

    def __init__(
        self,
        name: str,
        site: SitePlan,
        pools: tuple[PoolPlan, ...],
        cluster: k8s.Provider,
        deleted_with: pulumi.Resource | None,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
        keep_namespace: bool = False,
        teams: tuple[TeamPlan, ...] = (),
    ) -> None:
        """`after`: Kueue itself, whose webhooks must answer before its objects are accepted.

        `keep_namespace`: claims in it are all there is of somebody's data; a destroy leaves it.
        """
        super().__init__(token("SiteQueues"), name, None, opts)
        self._name = name
        self._provider = cluster
        self._deleted_with = deleted_with
        self._keep_namespace = keep_namespace
        self._create(site, pools, after, teams)
        self.register_outputs({})

    def _opts(self, after: list[pulumi.Resource], **more: object) -> pulumi.ResourceOptions:
        # A dead cluster can still be destroyed: its objects go with it.
        return pulumi.ResourceOptions(
            parent=self,
            provider=self._provider,
            deleted_with=self._deleted_with,
            depends_on=after,
            custom_timeouts=timeouts("kubernetes"),
            **more,  # type: ignore[arg-type]
        )

    def _create(
        self, site: SitePlan, pools: tuple[PoolPlan, ...], after: list[pulumi.Resource], teams: tuple[TeamPlan, ...]
    ) -> None:
        from pulumi_kubernetes import core

        topology: list[pulumi.Resource] = []
        if site.topology_name is not None and any(p.topology for p in pools):
            levels = [{"nodeLabel": level} for level in site.topology_levels]
            topology = [self._object("Topology", site.topology_name, {"levels": levels}, after)]
        flavors = [self._flavor(p, site, [*after, *topology]) for p in pools]
        checks = provisioning.checks(pools, self._object, after)
        before = [*after, *flavors, *checks]
        queues = {site.queue: self._object("ClusterQueue", site.queue, queue_spec(site, pools, teams), before)}
        if teams:
            team_queues.priorities(self._name, self._opts(after))
            before.append(self._object("Cohort", site.queue, {}, after))
        for team in teams:
            groups = resource_groups(pools, team.quotas, team.borrow)
            spec = team_queues.team_spec(site, team, groups, provisioning.strategy(pools))
            queues[team.name] = self._object("ClusterQueue", team.name, spec, before)
        # After the queues, so that it goes before them: Kueue keeps a queue while jobs run from it.
        self.namespace = core.v1.Namespace(
            f"{self._name}-{site.jobs_namespace}",
            metadata={"name": site.jobs_namespace},
            opts=self._opts(list(queues.values()), retain_on_delete=self._keep_namespace or None),
        )
        # A LocalQueue's ClusterQueue is immutable: a pool's stays with the site's, whoever owns the pool.
        local = {p.local_queue: site.queue for p in pools} | {t.name: t.name for t in teams}
        for name, queue in local.items():
            self._object("LocalQueue", name, {"clusterQueue": queue}, [queues[queue], self.namespace], site)

    def _flavor(self, pool: PoolPlan, site: SitePlan, after: list[pulumi.Resource]) -> CustomResource:
        all_ = (*pool.taints, *(pool.demand.taints if pool.demand else ()))
        taints = [{"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in all_]
        # Nodes that the fleet made bear the pool's label; those of an existing cluster are found by their own.
        found_by = pool.node_selector if site.kind == "existing" else {POOL_LABEL: pool.name}
        spec: dict[str, object] = {"nodeLabels": found_by}
        if taints:
            # Kueue adds these to admitted pods: a job names its queue and no taint.
            spec["tolerations"] = taints
        if pool.topology and site.topology_name is not None:
            spec["topologyName"] = site.topology_name
        return self._object("ResourceFlavor", pool.flavor, spec, after)

    def _object(
        self,
        kind: str,
        name: str,
        spec: dict[str, object],
        after: list[pulumi.Resource],
        site: SitePlan | None = None,
    ) -> CustomResource:
        from pulumi_kubernetes.apiextensions import CustomResource

        metadata = {"name": name} if site is None else {"name": name, "namespace": site.jobs_namespace}
        return CustomResource(
            f"{self._name}-{kind.lower()}-{name}",
            api_version=API,
            kind=kind,
            metadata=metadata,
            spec=spec,
            opts=self._opts(after),
        )


def queue_spec(site: SitePlan, pools: tuple[PoolPlan, ...], teams: tuple[TeamPlan, ...]) -> dict[str, object]:
    """The site's own ClusterQueue: all cards, or with teams those that are nobody's."""
    cards = team_queues.left_over(pools, teams) if teams else {p.name: most_cards(p) for p in pools}
    alone = {"preemption": {"withinClusterQueue": "LowerPriority"}}
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": site.jobs_namespace}},
        **(team_queues.sharing(site) if teams else alone),
        "resourceGroups": resource_groups(pools, cards),
        **provisioning.strategy(pools),
    }


def resource_groups(
    pools: tuple[PoolPlan, ...], cards: Mapping[str, int], borrow: Mapping[str, int] | None = None
) -> list[dict[str, object]]:
    """One group per card resource, its pools as flavours: reserved, on demand, spot, then by name.

    `cards`: pool -> cards of the queue's own; `borrow`: pool -> most of others'. The order does not follow the spec's,
    so that reordering entries there changes nothing here.
    """
    groups: dict[str, list[PoolPlan]] = {}
    for pool in sorted(pools, key=lambda p: (p.resource, *flavour_order(p))):
        groups.setdefault(pool.resource, []).append(pool)
    return [
        {
            "coveredResources": [resource],
            "flavors": [{"name": p.flavor, "resources": [_quota(p, cards, borrow or {})]} for p in members],
        }
        for resource, members in groups.items()
    ]


def _quota(pool: PoolPlan, cards: Mapping[str, int], borrow: Mapping[str, int]) -> dict[str, str]:
    """Cards as the devices that nodes show: a shared card is several."""
    devices = pool.devices_per_node // pool.cards_per_node
    quota = {"name": pool.resource, "nominalQuota": str(cards[pool.name] * devices)}
    if pool.name in borrow:
        quota["borrowingLimit"] = str(borrow[pool.name] * devices)
    return quota
