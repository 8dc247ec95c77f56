"""A GKE site's VPC: nodes, pods and services in one subnet, the way out, and the further networks of A3 and A4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import ExtraNetworkPlan, GkeNetworkPlan, SitePlan
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_gcp import Provider, compute

PODS: Final = "pods"  # names of the subnet's secondary ranges
SERVICES: Final = "services"
# Jumbo frames of the GPUDirect networks: https://cloud.google.com/kubernetes-engine/docs/how-to/gpu-bandwidth-gpudirect-tcpx
GVNIC_MTU: Final = 8244


class GkeNetwork(pulumi.ComponentResource):
    """VPC, subnet, firewall, router and NAT of one site, and the VPCs that accelerator interfaces need.

    Outputs: `network`, `subnetwork` (ids); `extra`, extra network -> names of its VPC and subnetwork; `peering`, what
    Lustre waits for.
    """

    network: pulumi.Output[str]
    subnetwork: pulumi.Output[str]
    extra: dict[str, tuple[pulumi.Output[str], pulumi.Output[str]]]
    ready: list[pulumi.Resource]  # nodes need it: the way out and the rules between them
    peering: pulumi.Resource | None

    def __init__(
        self,
        name: str,
        site: SitePlan,
        services: frozenset[str],
        provider: Provider,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`site.gke_network` decides every CIDR; `services`: those of the site's volumes.

        `provider` is the site's own, with its project pinned.
        """
        super().__init__(token("GkeNetwork"), name, None, opts)
        assert site.gke_network is not None
        self._name = name
        self._provider = provider
        self._site = site
        # Filestore peers by itself; Lustre takes its addresses from a range reserved for Google's services.
        self._peered = "gke-lustre" in services
        self.peering = None
        self._create(site.gke_network)
        self._extra(site.gke_network.extra)
        self.register_outputs({"network": self.network, "subnetwork": self.subnetwork})

    def _opts(self, parent: pulumi.Resource | None = None, **more: object) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent or self, provider=self._provider, **more)  # type: ignore[arg-type]

    def _create(self, plan: GkeNetworkPlan) -> None:
        from pulumi_gcp import compute

        vpc = compute.Network(self._name, auto_create_subnetworks=False, routing_mode="REGIONAL", opts=self._opts())
        subnet = compute.Subnetwork(
            self._name,
            network=vpc.id,
            region=self._site.region,
            ip_cidr_range=plan.nodes_cidr,
            # Private nodes pull images from Google's registries without leaving the network.
            private_ip_google_access=True,
            secondary_ip_ranges=[
                {"range_name": PODS, "ip_cidr_range": plan.pods_cidr},
                {"range_name": SERVICES, "ip_cidr_range": plan.services_cidr},
            ],
            opts=self._opts(vpc),
        )
        inside = self._firewall("internal", vpc, [plan.nodes_cidr, plan.pods_cidr])
        self.network, self.subnetwork = vpc.id, subnet.id
        self.ready = [inside]
        if plan.nat:
            self.ready.append(self._nat(vpc))
        if self._peered and plan.peering_cidr is not None:
            self.peering = self._peer(vpc, plan.peering_cidr)

    def _firewall(self, key: str, vpc: compute.Network, sources: list[str]) -> compute.Firewall:
        from pulumi_gcp import compute

        return compute.Firewall(
            f"{self._name}-{key}",
            network=vpc.id,
            direction="INGRESS",
            source_ranges=sources,
            allows=[{"protocol": protocol} for protocol in ("tcp", "udp", "icmp")],
            opts=self._opts(vpc),
        )

    def _nat(self, vpc: compute.Network) -> compute.RouterNat:
        from pulumi_gcp import compute

        router = compute.Router(self._name, network=vpc.id, region=self._site.region, opts=self._opts(vpc))
        return compute.RouterNat(
            self._name,
            router=router.name,
            region=self._site.region,
            nat_ip_allocate_option="AUTO_ONLY",
            source_subnetwork_ip_ranges_to_nat="ALL_SUBNETWORKS_ALL_IP_RANGES",
            opts=self._opts(router),
        )

    def _peer(self, vpc: compute.Network, cidr: str) -> pulumi.Resource:
        """Private service access: the range in which Google's own services get their addresses."""
        from pulumi_gcp import compute, servicenetworking

        address, _, length = cidr.partition("/")
        reserved = compute.GlobalAddress(
            f"{self._name}-services",
            purpose="VPC_PEERING",
            address_type="INTERNAL",
            address=address,
            prefix_length=int(length),
            network=vpc.id,
            opts=self._opts(vpc),
        )
        connection: pulumi.Resource = servicenetworking.Connection(
            self._name,
            network=vpc.id,
            service="servicenetworking.googleapis.com",
            reserved_peering_ranges=[reserved.name],
            opts=self._opts(vpc),
        )
        return connection

    def _extra(self, plans: tuple[ExtraNetworkPlan, ...]) -> None:
        vpcs: dict[str, compute.Network] = {}
        self.extra = {}
        for plan in plans:
            if plan.vpc not in vpcs:
                vpcs[plan.vpc] = self._extra_vpc(plan, [p.cidr for p in plans if p.vpc == plan.vpc])
            vpc = vpcs[plan.vpc]
            self.extra[plan.name] = (vpc.name, self._extra_subnet(plan, vpc).name)

    def _extra_vpc(self, plan: ExtraNetworkPlan, cidrs: list[str]) -> compute.Network:
        from pulumi_gcp import compute

        rdma = plan.kind == "rdma"
        profile = f"projects/{self._site.project}/global/networkProfiles/{plan.profile_zone}-vpc-roce"
        vpc = compute.Network(
            f"{self._name}-{plan.vpc}",
            auto_create_subnetworks=False,
            # The RoCE profile sets the MTU itself, and such a VPC takes no firewall rules.
            network_profile=profile if rdma else None,
            mtu=None if rdma else GVNIC_MTU,
            opts=self._opts(),
        )
        if not rdma:
            self.ready.append(self._firewall(plan.vpc, vpc, cidrs))
        return vpc

    def _extra_subnet(self, plan: ExtraNetworkPlan, vpc: compute.Network) -> compute.Subnetwork:
        from pulumi_gcp import compute

        return compute.Subnetwork(
            f"{self._name}-{plan.name}",
            network=vpc.id,
            region=self._site.region,
            ip_cidr_range=plan.cidr,
            opts=self._opts(vpc),
        )
