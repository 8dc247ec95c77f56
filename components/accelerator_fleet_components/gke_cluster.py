"""A regional GKE cluster with its system nodes and the identity of all its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import MaintenancePlan, SitePlan, SystemPoolPlan
from accelerator_fleet_components.cluster_access import GkeAccess
from accelerator_fleet_components.gke_network import PODS, SERVICES, GkeNetwork
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_gcp import Provider, container, serviceaccount

# What Google names as the least for nodes, and the right to pull images from the project's own registry.
# https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts
NODE_ROLES: Final = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)


class GkeCluster(pulumi.ComponentResource):
    """Control plane, node identity and system node pool of one site. `access` is what others need."""

    access: GkeAccess
    cluster: pulumi.Resource
    ready: list[pulumi.Resource]  # what must be there before the cluster can run anything

    def __init__(
        self,
        name: str,
        site: SitePlan,
        network: GkeNetwork,
        services: frozenset[str],
        provider: Provider,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`name` is the logical name; the cloud name is autonamed. `services`: those of the site's volumes."""
        super().__init__(token("GkeCluster"), name, None, opts)
        self._provider = provider
        self._name = name
        self._site = site
        account, roles = self._identity()
        made = self._create(network, services)
        self.cluster = made
        self.ready = []
        if site.system_pool is not None:
            self.ready = [self._system(made, site.system_pool, account, [*roles, *network.ready])]
        self.access = GkeAccess(
            name=made.name,
            version=made.master_version,
            endpoint=made.endpoint.apply(lambda e: f"https://{e}"),
            certificate_authority=made.master_auth.apply(lambda a: a.cluster_ca_certificate or ""),
            network=network.network,
            subnetwork=network.subnetwork,
            node_service_account=account.email,
            extra=network.extra,
        )
        self.register_outputs({"cluster": self.access.name, "endpoint": self.access.endpoint})

    def _opts(self, parent: pulumi.Resource | None = None, **more: object) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent or self, provider=self._provider, **more)  # type: ignore[arg-type]

    def _identity(self) -> tuple[serviceaccount.Account, list[pulumi.Resource]]:
        from pulumi_gcp import projects, serviceaccount

        # Account ids have 30 characters: the site's name, not the cluster's.
        account = serviceaccount.Account(
            f"{self._site.name}-nodes", display_name=f"nodes of {self._name}", opts=self._opts()
        )
        roles: list[pulumi.Resource] = [
            projects.IAMMember(
                f"{self._name}-{role.rpartition('/')[2]}",
                project=self._site.project or "",
                role=role,
                member=account.email.apply(lambda e: f"serviceAccount:{e}"),
                opts=self._opts(account),
            )
            for role in NODE_ROLES
        ]
        return account, roles

    def _create(self, network: GkeNetwork, services: frozenset[str]) -> container.Cluster:
        from pulumi_gcp import container

        plan = self._site.cluster
        return container.Cluster(
            self._name,
            location=plan.location or self._site.region,
            node_locations=list(plan.zones) or None,
            network=network.network,
            subnetwork=network.subnetwork,
            networking_mode="VPC_NATIVE",
            ip_allocation_policy={
                "cluster_secondary_range_name": PODS,
                "services_secondary_range_name": SERVICES,
            },
            # Both are fixed at creation, and the first A3 pool needs them: always on.
            datapath_provider="ADVANCED_DATAPATH",
            enable_multi_networking=True,
            private_cluster_config={"enable_private_nodes": True, "enable_private_endpoint": not plan.endpoint_public},
            master_authorized_networks_config=self._reachable(),
            workload_identity_config={"workload_pool": f"{self._site.project}.svc.id.goog"},
            min_master_version=plan.version,
            release_channel={"channel": plan.release_channel or "UNSPECIFIED"},
            maintenance_policy=None if plan.maintenance is None else _maintenance(plan.maintenance),
            # Pools are resources of their own. The API wants one at creation, and the provider takes it away at once.
            initial_node_count=1,
            remove_default_node_pool=True,
            addons_config={
                "gcp_filestore_csi_driver_config": {"enabled": "filestore" in services},
                "lustre_csi_driver_config": {"enabled": "gke-lustre" in services},
            },
            deletion_protection=plan.deletion_protection,
            opts=self._opts(protect=self._site.protect, custom_timeouts=timeouts("gcp:container/cluster:Cluster")),
        )

    def _reachable(self) -> dict[str, object] | None:
        plan = self._site.cluster
        if not plan.endpoint_public or plan.public_access_cidrs == ("0.0.0.0/0",):
            return None
        return {"cidr_blocks": [{"cidr_block": c} for c in plan.public_access_cidrs]}

    def _system(
        self,
        cluster: container.Cluster,
        plan: SystemPoolPlan,
        account: serviceaccount.Account,
        after: list[pulumi.Resource],
    ) -> container.NodePool:
        from pulumi_gcp import container

        zones = len(plan.zones) or 1  # counts are per zone here
        bounds = {"min_node_count": plan.min_nodes // zones, "max_node_count": plan.max_nodes // zones}
        auto = plan.min_nodes != plan.max_nodes
        return container.NodePool(
            f"{self._name}-{plan.name}",
            cluster=cluster.name,
            location=cluster.location,
            node_locations=list(plan.zones) or None,
            version=plan.release,
            node_count=None if auto else plan.nodes // zones,
            autoscaling=bounds if auto else None,
            management=management(self._site),
            node_config={
                "machine_type": plan.machine,
                "image_type": plan.ami_type,
                "disk_size_gb": plan.disk_gib,
                "labels": plan.labels,
                "service_account": account.email,
                "oauth_scopes": list(SCOPES),
                "workload_metadata_config": {"mode": "GKE_METADATA"},
            },
            # What stands below a protected cluster would inherit its protection; these nodes can be made again.
            opts=self._opts(
                cluster,
                depends_on=after,
                protect=False,
                custom_timeouts=timeouts("gcp:container/nodePool:NodePool", plan.max_nodes),
            ),
        )


def management(site: SitePlan, *, repair: bool = True) -> dict[str, bool]:
    """Repair where GKE can; upgrades as the release channel demands: GKE refuses a channel without them."""
    return {"auto_repair": repair, "auto_upgrade": site.cluster.release_channel not in {None, "UNSPECIFIED"}}


def _maintenance(plan: MaintenancePlan) -> dict[str, object]:
    return {
        "recurring_window": {"start_time": plan.start, "end_time": plan.end, "recurrence": plan.recurrence},
        "maintenance_exclusions": [
            {
                "exclusion_name": e.name,
                "start_time": e.start,
                "end_time": e.end,
                "exclusion_options": {"scope": e.scope, "end_time_behavior": None if e.end else "UNTIL_END_OF_SUPPORT"},
            }
            for e in plan.exclusions
        ],
    }
