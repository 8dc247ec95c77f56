"""An accelerator pool on GKE: one node pool of GPU machines, or one node pool for each TPU slice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from accelerator_fleet.plan.model import PoolPlan, SitePlan
from accelerator_fleet_components import failed_pools
from accelerator_fleet_components.cluster_access import GkeAccess
from accelerator_fleet_components.gke_cluster import SCOPES, management
from accelerator_fleet_components.google_labels import google_labels
from accelerator_fleet_components.sharing import guest_accelerator
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_gcp import Provider, container

# GKE spells taint effects its own way.
EFFECTS: Final = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
RESERVATION: Final = "compute.googleapis.com/reservation-name"
SPECIFIC: Final = "SPECIFIC_RESERVATION"


class GkePool(pulumi.ComponentResource):
    """The node pools of one pool: a GPU pool has one, a TPU pool one for each slice.

    One class for every chip on GKE, so that a chip change keeps the URN. The shape key triggers the replacement, which
    also covers what the provider calls an update and then leaves alone (a TPU topology). A slice is atomic: its node
    count is its hosts, and more cards are more slices; the first keeps the pool's name, the others add their number.
    """

    node_pools: list[pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        pool: PoolPlan,
        site: SitePlan,
        access: GkeAccess,
        provider: Provider,
        tags: dict[str, str],
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`tags` become labels of the machines; `after`: nodes join after it."""
        super().__init__(token("GkePool"), name, None, opts)
        self._provider = provider
        self._pool = pool
        self._site = site
        self._access = access
        self._labels = google_labels({**tags, **pool.tags})
        names = [name, *(f"{name}-{i}" for i in range(1, pool.slices))]
        self.node_pools = [self._node_pool(n, after).name for n in names]
        self.register_outputs({"nodePools": self.node_pools, "shapeKey": pool.shape_key})

    def _node_pool(self, name: str, after: list[pulumi.Resource]) -> container.NodePool:
        from pulumi_gcp import container

        pool = self._pool
        auto = pool.scaling == "auto"
        return container.NodePool(
            name,
            cluster=self._access.name,
            location=self._site.cluster.location or self._site.region,
            node_locations=[pool.zone],
            version=pool.release,
            # The count of a fixed pool; an autoscaler's is never told, and so never set back. The initial count is
            # never set at all: a change of it replaces the pool.
            node_count=None if auto else pool.hosts_per_slice or pool.nodes,
            autoscaling=self._bounds() if auto else None,
            management=management(self._site, repair=pool.demand is None or pool.demand.auto_repair),
            queued_provisioning={"enabled": True} if pool.demand and pool.demand.queued else None,
            # Accelerators are scarce: nodes are recycled in place, there is no spare one to surge with.
            upgrade_settings={"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1},
            placement_policy=self._placement(),
            network_config=self._network(),
            node_config=self._node(),
            opts=pulumi.ResourceOptions(
                parent=self,
                provider=self._provider,
                protect=pool.protect,
                depends_on=after,
                replacement_trigger=pool.shape_key,
                delete_before_replace=pool.old_first or None,
                custom_timeouts=timeouts("gcp:container/nodePool:NodePool", pool.max_nodes),
                hooks=failed_pools.binding(),
            ),
        )

    def _bounds(self) -> dict[str, object]:
        pool = self._pool
        # The autoscaler looks for machines where they are, and does not spread what belongs together.
        policy = {"location_policy": "ANY"} if pool.demand else {}
        if pool.hosts_per_slice is not None:
            return {"min_node_count": 0, "max_node_count": pool.hosts_per_slice, **policy}  # a whole slice, or none
        return {"min_node_count": pool.min_nodes, "max_node_count": pool.max_nodes, **policy}

    def _placement(self) -> dict[str, object] | None:
        # The policy's presence is fixed at creation; one host takes none. A reservation may have been made with one.
        given = self._pool.existing_placement_group
        if given is not None:
            return {"type": "COMPACT", "policy_name": given, "tpu_topology": self._pool.topology_shape}
        if not self._pool.placement_policy:
            return None
        return {"type": "COMPACT", "tpu_topology": self._pool.topology_shape}

    def _network(self) -> dict[str, object] | None:
        extra = [self._access.extra[name] for name in self._pool.extra_networks]
        if not extra:
            return None
        return {"additional_node_network_configs": [{"network": vpc, "subnetwork": subnet} for vpc, subnet in extra]}

    def _node(self) -> dict[str, object]:
        pool = self._pool
        node: dict[str, object] = {
            "machine_type": pool.machine,
            "image_type": pool.ami_type,
            "disk_size_gb": pool.disk_gib,
            "labels": pool.labels,
            "resource_labels": self._labels,
            "taints": [{"key": t.key, "value": t.value, "effect": EFFECTS[t.effect]} for t in pool.taints],
            "service_account": self._access.node_service_account,
            "oauth_scopes": list(SCOPES),
            "workload_metadata_config": {"mode": "GKE_METADATA"},
            "gvnic": {"enabled": True},
        }
        if pool.accelerator is not None:
            node["guest_accelerators"] = [
                {
                    "type": pool.accelerator,
                    "count": pool.cards_per_node,
                    # Without it GKE takes the driver's version of the day.
                    "gpu_driver_installation_config": {"gpu_driver_version": pool.gpu_driver},
                    **guest_accelerator(pool),
                }
            ]
        if pool.capacity_mode == "spot":
            node["spot"] = True
        return {**node, **self._found(), **self._affinity()}

    def _found(self) -> dict[str, object]:
        """How machines of a pool without a count are found, and how long they stay."""
        demand = self._pool.demand
        if demand is None:
            return {}
        # Queued nodes get their time with each request.
        ends = demand.max_run_seconds is not None and not demand.queued
        return {
            **({"flex_start": True} if demand.flex_start else {}),
            **({"max_run_duration": f"{demand.max_run_seconds}s"} if ends else {}),
        }

    def _affinity(self) -> dict[str, object]:
        pool = self._pool
        if pool.reservation is not None:
            affinity = {"consume_reservation_type": SPECIFIC, "key": RESERVATION, "values": [pool.reservation]}
            return {"reservation_affinity": affinity}
        if pool.demand is not None and pool.demand.no_reservation:
            return {"reservation_affinity": {"consume_reservation_type": "NO_RESERVATION"}}
        return {}
