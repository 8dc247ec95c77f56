"""The base layer of a site by its kind: network and cluster. Each kind's SDK is loaded where a site needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pulumi

from accelerator_fleet.plan.model import SitePlan
from accelerator_fleet_components.cluster_access import ClusterAccess

if TYPE_CHECKING:
    import pulumi_aws
    import pulumi_gcp


@dataclass(frozen=True)
class SiteBase:
    """A site's base layer, as far as this stack has it."""

    access: ClusterAccess | None  # None: an existing cluster
    cluster: pulumi.Resource | None  # None: the cluster is not this stack's
    nodes: list[pulumi.Resource]  # what Kubernetes add-ons need to run on
    peering: list[pulumi.Resource] = field(default_factory=list)  # what Google's Lustre waits for


def make_base(
    site: SitePlan, services: frozenset[str], provider: pulumi.ProviderResource, child: pulumi.ResourceOptions
) -> SiteBase:
    """Network and cluster of an EKS or GKE site; `services` are those of its volumes."""
    if site.kind == "eks":
        from accelerator_fleet_components.aws_network import AwsNetwork
        from accelerator_fleet_components.eks_cluster import EksCluster

        aws = cast("pulumi_aws.Provider", provider)
        network = AwsNetwork(site.cluster.name, site, aws, child)
        made = EksCluster(site.cluster.name, site, network, services, aws, child)
        return SiteBase(made.access, made.cluster, made.ready)
    from accelerator_fleet_components.gke_cluster import GkeCluster
    from accelerator_fleet_components.gke_network import GkeNetwork

    gcp = cast("pulumi_gcp.Provider", provider)
    vpc = GkeNetwork(site.cluster.name, site, services, gcp, child)
    cluster = GkeCluster(site.cluster.name, site, vpc, services, gcp, child)
    return SiteBase(cluster.access, cluster.cluster, cluster.ready, [] if vpc.peering is None else [vpc.peering])
