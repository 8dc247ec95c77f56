"""A cluster that is there already: nothing of it is made or changed, its nodes are found by the labels they bear."""

from __future__ import annotations

import pulumi

from accelerator_fleet.plan.model import PoolPlan, SitePlan
from accelerator_fleet_components.tokens import token


class ExistingSite(pulumi.ComponentResource):
    """Stands for an existing cluster in the stack; `cluster` is the provider of what lives in it."""

    cluster: pulumi.ProviderResource

    def __init__(
        self,
        name: str,
        site: SitePlan,
        pools: tuple[PoolPlan, ...],
        cluster: pulumi.ProviderResource,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`cluster`: by the kubeconfig's context, made by the caller; credentials stay in the kubeconfig."""
        super().__init__(token("ExistingSite"), name, None, opts)
        self.cluster = cluster
        self.register_outputs({"context": site.context, "pools": {p.name: p.node_selector for p in pools}})

    @staticmethod
    def outputs(site: SitePlan) -> dict[str, object]:
        """The stack outputs of the site: how to reach it, and no credential."""
        return {"kind": site.kind, "region": site.region, "cluster": site.cluster.name, "context": site.context}
