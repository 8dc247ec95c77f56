"""Kueue objects of a site: one ClusterQueue, a ResourceFlavor and a LocalQueue per pool, the network's Topology."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import PoolPlan, SitePlan
from accelerator_fleet_components import provisioning
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s
    from pulumi_kubernetes.apiextensions import CustomResource

API: Final = "kueue.x-k8s.io/v1beta2"
# Kueue tries flavours in this order: capacity that is paid for anyway first, capacity that can be taken away last.
ORDER: Final = {"existing": 0, "reserved": 0, "capacity-block": 0, "calendar": 0, "on-demand": 1, "spot": 2}
DEMAND: Final = 3  # nodes that somebody has to find first
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
    ) -> None:
        """`after`: Kueue itself, whose webhooks must answer before its objects are accepted.

        `keep_namespace`: claims in it are all there is of somebody's data; a destroy leaves it.
        """
        super().__init__(token("SiteQueues"), name, None, opts)
        self._name = name
        self._provider = cluster
        self._deleted_with = deleted_with
        self._keep_namespace = keep_namespace
        self._create(site, pools, after)
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

    def _create(self, site: SitePlan, pools: tuple[PoolPlan, ...], after: list[pulumi.Resource]) -> None:
        from pulumi_kubernetes import core

        topology: list[pulumi.Resource] = []
        if site.topology_name is not None and any(p.topology for p in pools):
            levels = [{"nodeLabel": level} for level in site.topology_levels]
            topology = [self._object("Topology", site.topology_name, {"levels": levels}, after)]
        flavors = [self._flavor(p, site, [*after, *topology]) for p in pools]
        queue = self._object(
            "ClusterQueue",
            site.queue,
            {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": site.jobs_namespace}},
                "preemption": {"withinClusterQueue": "LowerPriority"},
                "resourceGroups": resource_groups(pools),
                **provisioning.strategy(pools),
            },
            [*after, *flavors, *provisioning.checks(pools, self._object, after)],
        )
        # After the queue, so that it goes before it: Kueue keeps a queue while jobs run from it.
        self.namespace = core.v1.Namespace(
            f"{self._name}-{site.jobs_namespace}",
            metadata={"name": site.jobs_namespace},
            opts=self._opts([queue], retain_on_delete=self._keep_namespace or None),
        )
        for pool in pools:
            self._object("LocalQueue", pool.local_queue, {"clusterQueue": site.queue}, [queue, self.namespace], site)

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


def resource_groups(pools: tuple[PoolPlan, ...]) -> list[dict[str, object]]:
    """One group per card resource, its pools as flavours: reserved, on demand, spot, then by name.

    The order does not follow the spec's, so that reordering entries there changes nothing here.
    """
    groups: dict[str, list[PoolPlan]] = {}
    for pool in sorted(pools, key=lambda p: (p.resource, ORDER.get(p.capacity_mode, DEMAND), p.name)):
        groups.setdefault(pool.resource, []).append(pool)
    return [
        {
            "coveredResources": [resource],
            "flavors": [
                {
                    "name": p.flavor,
                    "resources": [{"name": resource, "nominalQuota": str(p.max_nodes * p.cards_per_node)}],
                }
                for p in members
            ],
        }
        for resource, members in groups.items()
    ]
