"""An accelerator pool on EKS: one managed node group with the network cards, placement and groups its machine needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import PoolPlan
from accelerator_fleet_components import failed_pools
from accelerator_fleet_components.cluster_access import EksAccess
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_aws import Provider, ec2, eks

# EKS spells taint effects its own way.
EFFECTS: Final = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
CAPACITY_TYPES: Final = {"on-demand": "ON_DEMAND", "reserved": "ON_DEMAND", "spot": "SPOT"}


class EksPool(pulumi.ComponentResource):
    """Launch template, EFA security group, placement group and node group of one pool.

    One class for every chip on EKS, so that a chip change keeps the URN. The shape key triggers the replacement:
    the new group comes before the old one goes.
    """

    node_group_name: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        pool: PoolPlan,
        access: EksAccess,
        provider: Provider,
        tags: dict[str, str],
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
        reservation: pulumi.Input[str] | None = None,
        begun: bool = False,
    ) -> None:
        """`tags` go on the instances, which a provider's default tags do not reach; `after`: nodes join after it.

        `reservation`: of a block that this fleet buys, instead of the plan's. `begun`: the time is over at which the
        block's nodes are asked for, and no schedule can be made for it.
        """
        super().__init__(token("EksPool"), name, None, opts)
        self._provider = provider
        self._name = name
        self._pool = pool
        self._tags = {**tags, **pool.tags}
        self._reservation = reservation or pool.reservation
        self._begun = begun
        placement = self._placement().name if pool.placement_group else pool.existing_placement_group
        groups = [access.security_group]
        if pool.efa_interfaces:
            groups.append(self._efa_group(access).id)
        template = self._template(groups, placement)
        group = self._group(access, template, after)
        if pool.raised_at is not None and not begun:
            self._raise(group, pool.raised_at)
        self.node_group_name = group.node_group_name
        self.register_outputs({"nodeGroup": self.node_group_name, "shapeKey": pool.shape_key})

    def _opts(self, parent: pulumi.Resource | None = None, **more: object) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=parent or self, provider=self._provider, **more)  # type: ignore[arg-type]

    def _placement(self) -> ec2.PlacementGroup:
        from pulumi_aws import ec2

        return ec2.PlacementGroup(
            self._name,
            strategy="cluster",
            tags=self._pool.tags,
            opts=self._opts(replacement_trigger=self._pool.shape_key),
        )

    def _efa_group(self, access: EksAccess) -> ec2.SecurityGroup:
        from pulumi_aws import ec2, vpc

        group = ec2.SecurityGroup(
            f"{self._name}-efa",
            description=f"EFA traffic of pool {self._pool.name}",
            vpc_id=access.vpc_id,
            tags={**self._pool.tags, "Name": f"{self._name}-efa"},
            opts=self._opts(),
        )
        # EFA needs everything from and to the group itself; an egress to 0.0.0.0/0 does not cover it.
        vpc.SecurityGroupIngressRule(
            f"{self._name}-efa-from-self",
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            opts=self._opts(group),
        )
        vpc.SecurityGroupEgressRule(
            f"{self._name}-efa-to-self",
            security_group_id=group.id,
            referenced_security_group_id=group.id,
            ip_protocol="-1",
            opts=self._opts(group),
        )
        return group

    def _template(self, groups: list[pulumi.Output[str]], placement: pulumi.Input[str] | None) -> ec2.LaunchTemplate:
        from pulumi_aws import ec2

        pool = self._pool
        block = pool.capacity_mode == "capacity-block"
        reserved = self._reservation is not None
        return ec2.LaunchTemplate(
            self._name,
            # A capacity block is named with its market; the machine then stands here and not in the node group.
            instance_type=pool.machine if block else None,
            instance_market_options={"market_type": "capacity-block"} if block else None,
            capacity_reservation_specification={
                "capacity_reservation_target": {"capacity_reservation_id": self._reservation}
            }
            if reserved
            else None,
            placement={"group_name": placement} if placement is not None else None,
            network_interfaces=[
                {
                    "network_card_index": i.network_card,
                    "device_index": i.device,
                    "interface_type": i.interface_type,
                    "delete_on_termination": "true",
                    # With several cards the groups stand in the interface blocks; at the top EC2 refuses them.
                    "security_groups": groups,
                }
                for i in pool.interfaces
            ]
            or None,
            vpc_security_group_ids=None if pool.interfaces else groups,
            block_device_mappings=[
                {
                    "device_name": "/dev/xvda",
                    "ebs": {
                        "volume_size": pool.disk_gib,
                        "volume_type": "gp3",
                        "encrypted": "true",
                        "delete_on_termination": "true",
                    },
                }
            ],
            metadata_options={"http_tokens": "required", "http_put_response_hop_limit": 2},
            tag_specifications=[
                {"resource_type": kind, "tags": {**self._tags, "Name": self._name}} for kind in ("instance", "volume")
            ],
            update_default_version=True,
            tags=pool.tags,
            opts=self._opts(replacement_trigger=pool.shape_key),
        )

    def _group(self, access: EksAccess, template: ec2.LaunchTemplate, after: list[pulumi.Resource]) -> eks.NodeGroup:
        from pulumi_aws import eks

        pool = self._pool
        block = pool.capacity_mode == "capacity-block"
        return eks.NodeGroup(
            self._name,
            cluster_name=access.name,
            node_group_name_prefix=pool.group_name_prefix,
            node_role_arn=access.node_role_arn,
            subnet_ids=[access.private_subnets[pool.zone]],
            ami_type=pool.ami_type,
            version=pool.kubernetes,
            release_version=pool.release,
            capacity_type="CAPACITY_BLOCK" if block else CAPACITY_TYPES[pool.capacity_mode],
            instance_types=None if block else [pool.machine],
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={
                "desired_size": pool.nodes if pool.desired_nodes is None or self._begun else pool.desired_nodes,
                "min_size": pool.min_nodes,
                "max_size": pool.max_nodes,
            },
            labels=pool.labels,
            taints=[{"key": t.key, "value": t.value, "effect": EFFECTS[t.effect]} for t in pool.taints],
            tags=pool.tags,
            # Accelerators are scarce: nodes go before their successors come, there is no spare one to start with.
            update_config={"max_unavailable": 1, "update_strategy": "MINIMAL"},
            opts=self._opts(
                protect=pool.protect,
                depends_on=after,
                replacement_trigger=pool.shape_key,
                delete_before_replace=pool.old_first or None,
                custom_timeouts=timeouts("aws:eks/nodeGroup:NodeGroup", pool.max_nodes),
                hooks=failed_pools.binding(),
                # The autoscaler, or a block's scheduled start, owns the count; the spec only bounds it.
                ignore_changes=["scalingConfig.desiredSize"]
                if pool.scaling == "auto" or pool.desired_nodes is not None
                else [],
            ),
        )

    def _raise(self, group: eks.NodeGroup, at: str) -> None:
        """Asks for the nodes once the block has begun. Their drain before its end is an action of EKS' own, which
        ours would stand in the way of: docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html.
        """
        from pulumi_aws import autoscaling

        autoscaling.Schedule(
            f"{self._name}-block-starts",
            scheduled_action_name=f"{self._name}-{self._pool.shape_key}-block-starts",
            autoscaling_group_name=group.resources.apply(_scaling_group),
            start_time=at,
            desired_capacity=self._pool.nodes,
            # -1: not changed. Left out, the provider would send 0.
            min_size=-1,
            max_size=-1,
            opts=self._opts(group, protect=False),
        )


def _scaling_group(resources: Sequence[eks.outputs.NodeGroupResource] | None) -> str:
    """The name of a node group's Auto Scaling group."""
    groups = resources[0].autoscaling_groups if resources else None
    return (groups[0].name if groups else None) or ""
