"""A site's VPC on AWS: subnets per zone, one way out; or an existing VPC, read and never touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import NetworkPlan, SitePlan, SubnetPlan
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_aws import Provider, ec2


class AwsNetwork(pulumi.ComponentResource):
    """VPC, subnets, gateways and routes of one site.

    Outputs: `vpc_id`; `private_subnets`, zone -> subnet id.
    """

    vpc_id: pulumi.Output[str]
    private_subnets: dict[str, pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        site: SitePlan,
        provider: Provider,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`site.network` decides every CIDR; `provider` is the site's own, with its account pinned."""
        super().__init__(token("AwsNetwork"), name, None, opts)
        self._provider = provider
        self._name = name
        plan = site.network
        assert plan is not None
        if plan.existing_vpc is not None:
            self.vpc_id = pulumi.Output.from_input(plan.existing_vpc)
            self.private_subnets = {zone: pulumi.Output.from_input(sid) for zone, sid in plan.existing_subnets}
        else:
            self._create(plan, site)
        self.register_outputs({"vpcId": self.vpc_id, "privateSubnets": self.private_subnets})

    def _opts(self, parent: pulumi.Resource | None = None, **more: object) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent or self, provider=self._provider, **more)  # type: ignore[arg-type]

    def _tags(self, suffix: str = "") -> dict[str, str]:
        # The console shows only the tag Name; owner and environment come from the provider's default tags.
        return {"Name": f"{self._name}-{suffix}" if suffix else self._name}

    def _create(self, plan: NetworkPlan, site: SitePlan) -> None:
        from pulumi_aws import ec2

        assert plan.cidr is not None
        vpc = ec2.Vpc(
            self._name,
            cidr_block=plan.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self._tags(),
            opts=self._opts(),
        )
        gateway = ec2.InternetGateway(self._name, vpc_id=vpc.id, tags=self._tags(), opts=self._opts())
        subnets = {s.key: self._subnet(vpc, s) for s in plan.subnets}
        public = self._table("public", vpc)
        ec2.Route(
            f"{self._name}-public",
            route_table_id=public.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.id,
            opts=self._opts(public),
        )
        nats = {zone: self._nat(zone, plan, subnets, gateway) for zone in plan.nat_zones}
        private = {zone: self._private_table(zone, vpc, nat) for zone, nat in nats.items()}
        for s in plan.subnets:
            # A zone without a NAT gateway of its own goes out through the first one.
            table = public if s.public else private.get(s.zone, private[plan.nat_zones[0]])
            ec2.RouteTableAssociation(
                f"{self._name}-{s.key}",
                subnet_id=subnets[s.key].id,
                route_table_id=table.id,
                opts=self._opts(subnets[s.key]),
            )
        self.vpc_id = vpc.id
        self.private_subnets = {s.zone: subnets[s.key].id for s in plan.subnets if not s.public}

    def _subnet(self, vpc: ec2.Vpc, plan: SubnetPlan) -> ec2.Subnet:
        from pulumi_aws import ec2

        # Load balancers find their subnets by these role tags.
        role = "kubernetes.io/role/elb" if plan.public else "kubernetes.io/role/internal-elb"
        return ec2.Subnet(
            f"{self._name}-{plan.key}",
            vpc_id=vpc.id,
            availability_zone=plan.zone,
            cidr_block=plan.cidr,
            tags={**self._tags(plan.key), role: "1"},
            opts=self._opts(vpc),
        )

    def _table(self, key: str, vpc: ec2.Vpc) -> ec2.RouteTable:
        from pulumi_aws import ec2

        return ec2.RouteTable(f"{self._name}-{key}", vpc_id=vpc.id, tags=self._tags(key), opts=self._opts(vpc))

    def _nat(
        self, zone: str, plan: NetworkPlan, subnets: dict[str, ec2.Subnet], gateway: ec2.InternetGateway
    ) -> ec2.NatGateway:
        from pulumi_aws import ec2

        key = f"nat-{zone[-1]}"
        subnet = next(subnets[s.key] for s in plan.subnets if s.public and s.zone == zone)
        address = ec2.Eip(f"{self._name}-{key}", domain="vpc", tags=self._tags(key), opts=self._opts())
        return ec2.NatGateway(
            f"{self._name}-{key}",
            allocation_id=address.id,
            subnet_id=subnet.id,
            tags=self._tags(key),
            # EC2 refuses a public NAT gateway in a VPC whose internet gateway is not attached yet.
            opts=self._opts(depends_on=[gateway]),
        )

    def _private_table(self, zone: str, vpc: ec2.Vpc, nat: ec2.NatGateway) -> ec2.RouteTable:
        from pulumi_aws import ec2

        key = f"private-{zone[-1]}"
        table = self._table(f"{key}-rt", vpc)
        ec2.Route(
            f"{self._name}-{key}",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            nat_gateway_id=nat.id,
            opts=self._opts(table),
        )
        return table
