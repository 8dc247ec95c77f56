"""How the rest of a fleet reaches a cluster: names, endpoint, CA, network and node identity, and the kubeconfig."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import SitePlan

if TYPE_CHECKING:
    import pulumi_kubernetes as k8s

Text = pulumi.Output[str]


@dataclass(frozen=True)
class EksAccess:
    """What a pool and the in-cluster layer need of an EKS cluster, made here, found, or of another stack."""

    name: Text
    version: Text  # "1.36"
    endpoint: Text
    certificate_authority: Text  # base64 PEM
    security_group: Text
    node_role_arn: Text
    vpc_id: Text
    private_subnets: dict[str, Text]  # zone -> id

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
            "kubeconfig": self.kubeconfig(site),
        }

    @staticmethod
    def from_outputs(site: SitePlan, out: pulumi.Output[dict[str, object]]) -> EksAccess:
        """The access to a site whose base layer another stack owns."""
        assert site.network is not None
        subnets = out.apply(lambda o: o["privateSubnets"])
        zones = [s.zone for s in site.network.subnets if not s.public] or [z for z, _ in site.network.existing_subnets]
        return EksAccess(
            name=_text(out, "cluster"),
            version=_text(out, "version"),
            endpoint=_text(out, "endpoint"),
            certificate_authority=_text(out, "certificateAuthority"),
            security_group=_text(out, "clusterSecurityGroup"),
            node_role_arn=_text(out, "nodeRoleArn"),
            vpc_id=_text(out, "vpcId"),
            private_subnets={zone: subnets[zone] for zone in zones},
        )

    def kubeconfig(self, site: SitePlan) -> Text:
        """A kubeconfig (JSON) that gets its token from AWS's command; it holds no secret."""

        def made(parts: list[str]) -> str:
            plugin: dict[str, object] = {
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "command": "aws",
                "args": ["eks", "get-token", "--cluster-name", parts[0], "--region", site.region, "--output", "json"],
                "interactiveMode": "Never",
            }
            return _kubeconfig(parts[0], parts[1], parts[2], plugin)

        return pulumi.Output.all(self.name, self.endpoint, self.certificate_authority).apply(made)


@dataclass(frozen=True)
class GkeAccess:
    """What a pool, a volume and the in-cluster layer need of a GKE cluster, made here or of another stack."""

    name: Text
    version: Text
    endpoint: Text  # with https://
    certificate_authority: Text
    network: Text  # id of the VPC
    subnetwork: Text
    node_service_account: Text  # e-mail
    extra: dict[str, tuple[Text, Text]]  # extra network -> (VPC, subnetwork): their names, as node pools want them

    def outputs(self, site: SitePlan) -> dict[str, object]:
        """The stack outputs of a site; `from_outputs` reads them back in another stack."""
        return {
            "kind": site.kind,
            "project": site.project,
            "region": site.region,
            "cluster": self.name,
            "version": self.version,
            "pinnedVersion": site.cluster.version,
            "endpoint": self.endpoint,
            "certificateAuthority": self.certificate_authority,
            "network": self.network,
            "subnetwork": self.subnetwork,
            "nodeServiceAccount": self.node_service_account,
            "extraNetworks": {
                name: {"network": vpc, "subnetwork": subnet} for name, (vpc, subnet) in self.extra.items()
            },
            "kubeconfig": self.kubeconfig(site),
        }

    @staticmethod
    def from_outputs(site: SitePlan, out: pulumi.Output[dict[str, object]]) -> GkeAccess:
        """The access to a site whose base layer another stack owns."""
        assert site.gke_network is not None
        extra = out.apply(lambda o: o["extraNetworks"])
        return GkeAccess(
            name=_text(out, "cluster"),
            version=_text(out, "version"),
            endpoint=_text(out, "endpoint"),
            certificate_authority=_text(out, "certificateAuthority"),
            network=_text(out, "network"),
            subnetwork=_text(out, "subnetwork"),
            node_service_account=_text(out, "nodeServiceAccount"),
            extra={e.name: (extra[e.name]["network"], extra[e.name]["subnetwork"]) for e in site.gke_network.extra},
        )

    def kubeconfig(self, site: SitePlan) -> Text:
        """A kubeconfig (JSON) that gets its token from Google's own exec plugin; it holds no secret."""

        def made(parts: list[str]) -> str:
            plugin: dict[str, object] = {
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "command": "gke-gcloud-auth-plugin",
                "interactiveMode": "Never",
                # The plugin serves every cluster; it is told which one.
                "provideClusterInfo": True,
            }
            return _kubeconfig(parts[0], parts[1], parts[2], plugin)

        return pulumi.Output.all(self.name, self.endpoint, self.certificate_authority).apply(made)


ClusterAccess = EksAccess | GkeAccess


def _text(out: pulumi.Output[dict[str, object]], key: str) -> Text:
    return out.apply(lambda o: str(o[key]))


def _kubeconfig(name: str, endpoint: str, authority: str, exec_plugin: dict[str, object]) -> str:
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
        kubeconfig=access.kubeconfig(site),
        cluster_identifier=access.name,
        enable_server_side_apply=True,
        opts=pulumi.ResourceOptions(parent=parent),
    )
