"""An EKS cluster with its system nodes and the cloud's own add-ons; or an existing one, read and never touched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import SitePlan, SystemPoolPlan
from accelerator_fleet_components.aws_network import AwsNetwork
from accelerator_fleet_components.cluster_access import EksAccess
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_aws import Provider, eks, iam

CLUSTER_POLICIES: Final = ("AmazonEKSClusterPolicy",)
NODE_POLICIES: Final = ("AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly", "AmazonEKS_CNI_Policy")
# CoreDNS is a Deployment: it is degraded until nodes exist. The others must be there before nodes become Ready.
NEEDS_NODES: Final = frozenset({"coredns"})
# The driver that mounts a volume's file system, as an add-on of the cloud's.
DRIVERS: Final = {"efs": "aws-efs-csi-driver", "fsx-lustre": "aws-fsx-csi-driver"}


class EksCluster(pulumi.ComponentResource):
    """Control plane, roles, system node group and cloud add-ons of one site. `access` is what others need."""

    access: EksAccess
    cluster: pulumi.Resource | None  # None: it exists and is not ours
    ready: list[pulumi.Resource]  # what must be there before the cluster can run anything

    def __init__(
        self,
        name: str,
        site: SitePlan,
        network: AwsNetwork,
        services: frozenset[str],
        provider: Provider,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`name` is the logical name; the cloud name is autonamed, so a replacement never collides.

        `services`: those of the site's volumes. An existing cluster has its own drivers.
        """
        super().__init__(token("EksCluster"), name, None, opts)
        self._provider = provider
        self._name = name
        self._drivers = [DRIVERS[s] for s in sorted(services) if s in DRIVERS]
        self.cluster = None
        self.ready = []
        node_role = self._role("nodes", "ec2.amazonaws.com", ["sts:AssumeRole"], NODE_POLICIES)
        if site.cluster.existing:
            self.access = self._found(site, network, node_role)
        else:
            self.access = self._create(site, network, node_role)
        self.register_outputs({"cluster": self.access.name, "endpoint": self.access.endpoint})

    def _opts(self, parent: pulumi.Resource | None = None, **more: object) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent or self, provider=self._provider, **more)  # type: ignore[arg-type]

    def _role(self, key: str, service: str, actions: list[str], policies: tuple[str, ...]) -> iam.Role:
        from pulumi_aws import iam

        trust = {
            "Version": "2012-10-17",
            "Statement": [{"Effect": "Allow", "Principal": {"Service": service}, "Action": actions}],
        }
        role = iam.Role(f"{self._name}-{key}", assume_role_policy=json.dumps(trust), opts=self._opts())
        self._attachments = [
            iam.RolePolicyAttachment(
                f"{self._name}-{key}-{policy}",
                role=role.name,
                policy_arn=f"arn:aws:iam::aws:policy/{policy}",
                opts=self._opts(role),
            )
            for policy in policies
        ]
        return role

    def _create(self, site: SitePlan, network: AwsNetwork, node_role: iam.Role) -> EksAccess:
        from pulumi_aws import eks

        node_policies = self._attachments
        role = self._role("cluster", "eks.amazonaws.com", ["sts:AssumeRole", "sts:TagSession"], CLUSTER_POLICIES)
        plan = site.cluster
        cluster = eks.Cluster(
            self._name,
            role_arn=role.arn,
            version=plan.version,
            # Self-managed copies of the add-ons would fight with the managed ones below.
            bootstrap_self_managed_addons=False,
            access_config={"authentication_mode": "API", "bootstrap_cluster_creator_admin_permissions": True},
            enabled_cluster_log_types=list(plan.log_types) or None,
            deletion_protection=plan.deletion_protection,
            vpc_config={
                "subnet_ids": [network.private_subnets[z] for z in plan.zones or network.private_subnets],
                "endpoint_private_access": True,
                "endpoint_public_access": plan.endpoint_public,
                "public_access_cidrs": list(plan.public_access_cidrs) if plan.endpoint_public else None,
            },
            opts=self._opts(
                depends_on=self._attachments, protect=site.protect, custom_timeouts=timeouts("aws:eks/cluster:Cluster")
            ),
        )
        before = [self._addon(cluster, a, []) for a in plan.cloud_addons if a not in NEEDS_NODES]
        if site.system_pool is not None:
            # Routes and the CNI come first, or the first nodes never join.
            system = self._system(cluster, site.system_pool, network, node_role, [network, *before, *node_policies])
            after = [self._addon(cluster, a, [system]) for a in plan.cloud_addons if a in NEEDS_NODES]
            self.ready = [system, *after]
            for driver in self._drivers:
                self._addon(cluster, driver, [system])
        self.cluster = cluster
        return EksAccess(
            name=cluster.name,
            version=cluster.version,
            endpoint=cluster.endpoint,
            certificate_authority=cluster.certificate_authority.apply(lambda ca: ca.data or ""),
            security_group=cluster.vpc_config.apply(lambda v: v.cluster_security_group_id or ""),
            node_role_arn=node_role.arn,
            vpc_id=network.vpc_id,
            private_subnets=network.private_subnets,
        )

    # What stands below a protected cluster would inherit its protection; add-ons and system nodes can be made again.

    def _addon(self, cluster: eks.Cluster, name: str, after: list[pulumi.Resource]) -> eks.Addon:
        from pulumi_aws import eks

        return eks.Addon(
            f"{self._name}-{name}",
            cluster_name=cluster.name,
            addon_name=name,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            opts=self._opts(cluster, depends_on=after, protect=False),
        )

    def _system(
        self,
        cluster: eks.Cluster,
        plan: SystemPoolPlan,
        network: AwsNetwork,
        role: iam.Role,
        after: list[pulumi.Resource],
    ) -> eks.NodeGroup:
        from pulumi_aws import eks

        return eks.NodeGroup(
            f"{self._name}-{plan.name}",
            cluster_name=cluster.name,
            node_role_arn=role.arn,
            subnet_ids=[network.private_subnets[z] for z in plan.zones or network.private_subnets],
            instance_types=[plan.machine],
            ami_type=plan.ami_type,
            version=plan.kubernetes,
            release_version=plan.release,
            disk_size=plan.disk_gib,
            labels=plan.labels,
            scaling_config={
                "desired_size": plan.nodes,
                "min_size": plan.min_nodes,
                "max_size": plan.max_nodes,
            },
            update_config={"max_unavailable": 1},
            opts=self._opts(
                cluster,
                depends_on=after,
                protect=False,
                custom_timeouts=timeouts("aws:eks/nodeGroup:NodeGroup", plan.max_nodes),
            ),
        )

    def _found(self, site: SitePlan, network: AwsNetwork, node_role: iam.Role) -> EksAccess:
        from pulumi_aws import eks

        found = eks.get_cluster_output(
            name=site.cluster.name, opts=pulumi.InvokeOutputOptions(parent=self, provider=self._provider)
        )
        return EksAccess(
            name=pulumi.Output.from_input(site.cluster.name),
            version=found.version,
            endpoint=found.endpoint,
            certificate_authority=found.certificate_authorities.apply(lambda all_: all_[0].data),
            security_group=found.vpc_config.apply(lambda v: v.cluster_security_group_id),
            node_role_arn=node_role.arn,
            vpc_id=network.vpc_id,
            private_subnets=network.private_subnets,
        )
