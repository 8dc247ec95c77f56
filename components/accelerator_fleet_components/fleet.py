"""The fleet: every site, volume and pool of an environment, or the part of it that one stack owns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

import pulumi

from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan, VolumePlan
from accelerator_fleet.plan.names import flavor_key
from accelerator_fleet.plan.times import FORMAT
from accelerator_fleet_components.cluster_access import EksAccess, kubernetes_provider
from accelerator_fleet_components.scope import Scope
from accelerator_fleet_components.site_base import SiteBase, make_base
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s
    from pulumi_aws import Provider

    from accelerator_fleet_components.cluster_access import GkeAccess
    from accelerator_fleet_components.volume import Source
    from accelerator_fleet_native.sdk import Provider as Native


class Fleet(pulumi.ComponentResource):
    """All sites, volumes and pools of a plan within a scope. `sites`, `pools`, `volumes`: the stack's outputs."""

    sites: dict[str, object]
    pools: dict[str, object]
    volumes: dict[str, object]
    purchases: dict[str, object]

    def __init__(
        self,
        name: str,
        plan: FleetPlan,
        providers: Mapping[str, pulumi.ProviderResource],
        scope: Scope | None = None,
        opts: pulumi.ResourceOptions | None = None,
        as_of: datetime | None = None,
        natives: Mapping[str, pulumi.ProviderResource] | None = None,
    ) -> None:
        """`providers`: one per site, made by the caller: the cloud's with its account or project pinned, or that of
        an existing cluster by its context; `natives`: the toolkit's own, of sites with queued resources.
        `as_of`: which capacity blocks have begun (now)."""
        super().__init__(token("Fleet"), name, None, opts)
        self._as_of = as_of or datetime.now(UTC)
        self._natives = natives or {}
        self._plan = plan
        self._scope = scope or Scope()
        self._others: pulumi.StackReference | None = None
        self.sites = {}
        self.pools = {}
        self.volumes = {}
        self.purchases = {}
        self._bought: dict[str, pulumi.Output[str]] = {}
        for site in plan.sites:
            if self._scope.sites == "all" or site.name in self._scope.sites:
                self._site(site, providers[site.name])
        self.register_outputs({})

    def _child(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self)

    def _site(self, site: SitePlan, provider: pulumi.ProviderResource) -> None:
        if site.kind == "existing":
            self._existing(site, provider)
            return
        base = self._base(site, provider)
        assert base.access is not None
        release = site.system_pool.release if site.system_pool else None
        self.sites[site.name] = {**base.access.outputs(site), "systemRelease": release}
        sources = self._volumes(site, base, provider)
        if self._scope.has("pools"):
            self._purchases(site, provider)
            for pool in self._plan.pools_of(site.name):
                made = self._pool(pool, site, base, provider)
                self.pools[pool.name] = {**_shape(pool), **made}
        if self._scope.has("cluster"):
            cluster = kubernetes_provider(site.cluster.name, base.access, site, self)
            self._in_cluster(site, base, cluster, sources)

    def _existing(self, site: SitePlan, provider: pulumi.ProviderResource) -> None:
        """Nothing is made but what lives in the cluster: queues, flavours and claims."""
        from accelerator_fleet_components.existing_site import ExistingSite

        pools = self._plan.pools_of(site.name)
        found = ExistingSite(site.name, site, pools, provider, self._child())
        base = SiteBase(None, None, [])
        self.sites[site.name] = found.outputs(site)
        sources = self._volumes(site, base, provider)
        if self._scope.has("pools"):
            self.pools |= {pool.name: {**_shape(pool), "nodeSelector": pool.node_selector} for pool in pools}
        if self._scope.has("cluster"):
            self._in_cluster(site, base, cast("k8s.Provider", found.cluster), sources)

    def _base(self, site: SitePlan, provider: pulumi.ProviderResource) -> SiteBase:
        if self._scope.has("base"):
            services = frozenset(v.service for v in self._plan.volumes_of(site.name))
            return make_base(site, services, provider, self._child())
        from accelerator_fleet_components.cluster_access import GkeAccess

        outputs = self._other_stack().require_output("sites").apply(lambda sites: sites[site.name])
        access = EksAccess if site.kind == "eks" else GkeAccess
        return SiteBase(access.from_outputs(site, outputs), None, [])

    def _other_stack(self) -> pulumi.StackReference:
        """The stack that owns the base layer."""
        assert self._scope.base is not None
        if self._others is None:
            self._others = pulumi.StackReference(self._scope.base, opts=self._child())
        return self._others

    def _volumes(self, site: SitePlan, base: SiteBase, provider: pulumi.ProviderResource) -> dict[str, Source | None]:
        """Volume -> what a PersistentVolume names; None where a storage class of the cluster makes it."""
        plans = self._plan.volumes_of(site.name)
        if self._scope.has("base"):
            return {v.name: self._volume(v, site, base, provider) for v in plans}
        out = self._other_stack().require_output("volumes") if plans else None
        return {v.name: None if out is None or v.service == "csi" else _source(out, v.name) for v in plans}

    def _volume(
        self, volume: VolumePlan, site: SitePlan, base: SiteBase, provider: pulumi.ProviderResource
    ) -> Source | None:
        from accelerator_fleet_components.volume import Volume

        made = Volume(volume.name, volume, site, base.access, provider, base.peering, self._child())
        self.volumes[volume.name] = {
            "site": site.name,
            "service": volume.service,
            "zone": volume.zone,
            "sizeGib": volume.size_gib,
            "mount": volume.mount,
            "claim": volume.claim,
            "source": made.source,
        }
        return made.source

    def _purchases(self, site: SitePlan, provider: pulumi.ProviderResource) -> None:
        """The capacity blocks that are bought for the site, each in the state of the stack that has its pools."""
        for purchase in self._plan.purchases_of(site.name):
            from accelerator_fleet_components.capacity_purchase import CapacityPurchase

            made = CapacityPurchase(purchase.name, purchase, cast("Provider", provider), self._child())
            self._bought[purchase.name] = made.reservation
            self.purchases[purchase.name] = made.outputs(purchase)

    def _pool(
        self, pool: PoolPlan, site: SitePlan, base: SiteBase, provider: pulumi.ProviderResource
    ) -> dict[str, object]:
        """The pool's nodes; their names in the cloud for the stack's outputs."""
        tags, after = self._plan.tags, base.nodes
        if pool.queued is not None:
            from accelerator_fleet_components.tpu_queued_resource import TpuQueuedResource

            own = cast("Native", self._natives[site.name])
            queued = TpuQueuedResource(pool.name, pool, cast("GkeAccess", base.access), own, self._child())
            return {"queuedResource": queued.resource_id}
        if isinstance(base.access, EksAccess):
            from accelerator_fleet_components.eks_pool import EksPool

            bought = self._bought[pool.purchase] if pool.purchase else None
            begun = pool.raised_at is not None and pool.raised_at <= self._as_of.strftime(FORMAT)
            made = EksPool(
                pool.name, pool, base.access, provider, tags, after, self._child(), reservation=bought, begun=begun
            )
            return {"nodeGroup": made.node_group_name}
        from accelerator_fleet_components.gke_pool import GkePool

        assert base.access is not None
        pools = GkePool(pool.name, pool, site, base.access, provider, tags, after, self._child())
        return {"nodePools": pools.node_pools}

    def _in_cluster(
        self, site: SitePlan, base: SiteBase, cluster: k8s.Provider, sources: dict[str, Source | None]
    ) -> None:
        from accelerator_fleet_components.addons import SiteAddons
        from accelerator_fleet_components.queues import SiteQueues

        pools = self._plan.cluster_pools_of(site.name)
        if site.gke_network is not None and site.gke_network.extra:
            from accelerator_fleet_components.gke_device_networks import GkeDeviceNetworks

            GkeDeviceNetworks(site.name, site, cast("GkeAccess", base.access), cluster, base.cluster, self._child())
        teams = self._plan.teams
        addons = SiteAddons(site.name, site, cluster, base.cluster, base.nodes, self._child(), fair=bool(teams))
        kueue: list[pulumi.Resource] = [] if addons.kueue is None else [addons.kueue]
        volumes = self._plan.volumes_of(site.name)
        keep = any(v.service == "csi" and v.retain for v in volumes)
        queues = SiteQueues(site.name, site, pools, cluster, base.cluster, kueue, self._child(), keep, teams)
        if volumes:
            from accelerator_fleet_components.volume_claims import VolumeClaims

            VolumeClaims(site.name, site, volumes, sources, cluster, base.cluster, queues.namespace, self._child())


def _source(volumes: pulumi.Output[dict[str, dict[str, Any]]], name: str) -> Source:
    return volumes.apply(lambda all_: all_[name]["source"])


def _shape(pool: PoolPlan) -> dict[str, object]:
    return {
        "site": pool.site,
        "zone": pool.zone,
        "chip": pool.chip,
        "machine": pool.machine,
        "nodes": pool.nodes,
        "cards": pool.cards,
        "shapeKey": pool.shape_key,
        "reservation": pool.reservation,
        "flavor": pool.flavor,
        "flavorKey": flavor_key(pool),
        "kubernetes": pool.kubernetes,
        "release": pool.release,
    }
