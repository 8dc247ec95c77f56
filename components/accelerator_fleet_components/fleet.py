"""The fleet: every site and pool of an environment, or the part of it that one stack owns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import FleetPlan, SitePlan
from accelerator_fleet_components.cluster_access import ClusterAccess, kubernetes_provider
from accelerator_fleet_components.scope import Scope
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_aws import Provider


@dataclass(frozen=True)
class _Base:
    """A site's base layer, as far as this stack has it."""

    access: ClusterAccess
    cluster: pulumi.Resource | None  # None: the cluster is not this stack's
    nodes: list[pulumi.Resource]  # what Kubernetes add-ons need to run on


class Fleet(pulumi.ComponentResource):
    """All sites and pools of a plan within a scope. `sites`, `pools`: the stack's outputs."""

    sites: dict[str, object]
    pools: dict[str, object]

    def __init__(
        self,
        name: str,
        plan: FleetPlan,
        providers: Mapping[str, Provider],
        scope: Scope | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`providers`: one per site, account pinned, made by the caller."""
        super().__init__(token("Fleet"), name, None, opts)
        self._plan = plan
        self._scope = scope or Scope()
        self.sites = {}
        self.pools = {}
        for site in plan.sites:
            if self._scope.sites == "all" or site.name in self._scope.sites:
                self._site(site, providers[site.name])
        self.register_outputs({})

    def _site(self, site: SitePlan, provider: Provider) -> None:
        from accelerator_fleet_components.eks_pool import EksPool

        base = self._base(site, provider)
        self.sites[site.name] = base.access.outputs(site)
        child = pulumi.ResourceOptions(parent=self)
        if self._scope.has("pools"):
            for pool in self._plan.pools_of(site.name):
                made = EksPool(pool.name, pool, base.access, provider, self._plan.tags, base.nodes, child)
                self.pools[pool.name] = {
                    "site": site.name,
                    "zone": pool.zone,
                    "chip": pool.chip,
                    "machine": pool.machine,
                    "nodes": pool.nodes,
                    "cards": pool.cards,
                    "shapeKey": pool.shape_key,
                    "nodeGroup": made.node_group_name,
                }
        if self._scope.has("cluster"):
            self._in_cluster(site, base)

    def _base(self, site: SitePlan, provider: Provider) -> _Base:
        if not self._scope.has("base"):
            assert self._scope.base is not None
            other = pulumi.StackReference(self._scope.base, opts=pulumi.ResourceOptions(parent=self))
            outputs = other.require_output("sites").apply(lambda sites: sites[site.name])
            return _Base(ClusterAccess.from_outputs(site, outputs), None, [])
        from accelerator_fleet_components.aws_network import AwsNetwork
        from accelerator_fleet_components.eks_cluster import EksCluster

        child = pulumi.ResourceOptions(parent=self)
        network = AwsNetwork(site.cluster.name, site, provider, child)
        made = EksCluster(site.cluster.name, site, network, provider, child)
        return _Base(made.access, made.cluster, made.ready)

    def _in_cluster(self, site: SitePlan, base: _Base) -> None:
        from accelerator_fleet_components.addons import SiteAddons
        from accelerator_fleet_components.queues import SiteQueues

        child = pulumi.ResourceOptions(parent=self)
        cluster = kubernetes_provider(site.cluster.name, base.access, site, self)
        addons = SiteAddons(site.name, site, cluster, base.cluster, base.nodes, child)
        kueue: list[pulumi.Resource] = [] if addons.kueue is None else [addons.kueue]
        SiteQueues(site.name, site, self._plan.pools_of(site.name), cluster, base.cluster, kueue, child)
