"""How the rest of a fleet reaches a cluster: its name, endpoint, CA, groups and node role, and the kubeconfig."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import SitePlan

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s


@dataclass(frozen=True)
class ClusterAccess:
    """What a pool and the in-cluster layer need of a cluster, made here, found, or of another stack."""

    name: pulumi.Output[str]
    version: pulumi.Output[str]  # "1.36"
    endpoint: pulumi.Output[str]
    certificate_authority: pulumi.Output[str]  # base64 PEM
    security_group: pulumi.Output[str]
    node_role_arn: pulumi.Output[str]
    vpc_id: pulumi.Output[str]
    private_subnets: dict[str, pulumi.Output[str]]  # zone -> id

    def outputs(self, site: SitePlan) -> dict[str, object]:
        """The stack outputs of a site; `from_outputs` reads them back in another stack."""
        return {
            "kind": site.kind,
            "account": site.account,
            "region": site.region,
            "cluster": self.name,
            "version": self.version,
            "endpoint": self.endpoint,
            "certificateAuthority": self.certificate_authority,
            "clusterSecurityGroup": self.security_group,
            "nodeRoleArn": self.node_role_arn,
            "vpcId": self.vpc_id,
            "privateSubnets": self.private_subnets,
            "kubeconfig": self.kubeconfig(site.region),
        }

    @staticmethod
    def from_outputs(site: SitePlan, out: pulumi.Output[dict[str, object]]) -> ClusterAccess:
        """The access to a site whose base layer another stack owns."""

        def text(key: str) -> pulumi.Output[str]:
            return out.apply(lambda o: str(o[key]))

        subnets = out.apply(lambda o: o["privateSubnets"])
        zones = [s.zone for s in site.network.subnets if not s.public] or [z for z, _ in site.network.existing_subnets]
        return ClusterAccess(
            name=text("cluster"),
            version=text("version"),
            endpoint=text("endpoint"),
            certificate_authority=text("certificateAuthority"),
            security_group=text("clusterSecurityGroup"),
            node_role_arn=text("nodeRoleArn"),
            vpc_id=text("vpcId"),
            private_subnets={zone: subnets[zone] for zone in zones},
        )

    def kubeconfig(self, region: str) -> pulumi.Output[str]:
        """A kubeconfig (JSON) that gets its token from the cloud's own exec plugin; it holds no secret."""
        return pulumi.Output.all(self.name, self.endpoint, self.certificate_authority).apply(
            lambda parts: _kubeconfig(parts[0], parts[1], parts[2], region)
        )


def _kubeconfig(name: str, endpoint: str, authority: str, region: str) -> str:
    exec_plugin = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": "aws",
        "args": ["eks", "get-token", "--cluster-name", name, "--region", region, "--output", "json"],
        "interactiveMode": "Never",
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": endpoint, "certificate-authority-data": authority}}],
        "users": [{"name": name, "user": {"exec": exec_plugin}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return json.dumps(config, indent=2)


def kubernetes_provider(
    resource_name: str, access: ClusterAccess, site: SitePlan, parent: pulumi.Resource
) -> k8s.Provider:
    """The Kubernetes provider of a cluster.

    `cluster_identifier` keeps a changed kubeconfig (a rotated CA, another endpoint) from replacing every object.
    """
    import pulumi_kubernetes as k8s

    return k8s.Provider(
        resource_name,
        kubeconfig=access.kubeconfig(site.region),
        cluster_identifier=access.name,
        enable_server_side_apply=True,
        opts=pulumi.ResourceOptions(parent=parent),
    )
