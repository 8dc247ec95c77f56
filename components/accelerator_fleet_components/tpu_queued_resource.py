"""An accelerator pool beside a GKE site's cluster: a Cloud TPU queued resource in the site's network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import FleetPlan, PoolPlan, SitePlan
from accelerator_fleet_components.cluster_access import GkeAccess
from accelerator_fleet_components.google_labels import google_labels
from accelerator_fleet_components.timeouts import timeouts
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from accelerator_fleet_native.sdk import Provider


class TpuQueuedResource(pulumi.ComponentResource):
    """One request for all slices of the pool, and their nodes. `resource_id`: its name in Cloud TPU.

    Its id carries the shape key, so that another request comes beside the old one. A class of its own: between it and a
    node pool the URN changes, and neither replaces the other.
    """

    resource_id: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        pool: PoolPlan,
        access: GkeAccess,
        provider: Provider,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """`provider`: the toolkit's own, with the site's project; the fleet's labels are its."""
        super().__init__(token("TpuQueuedResource"), name, None, opts)
        from accelerator_fleet_native.sdk import QueuedResource

        queued = pool.queued
        assert queued is not None
        made = QueuedResource(
            name,
            queued_resource_id=queued.id,
            zone=pool.zone,
            accelerator_type=queued.accelerator_type,
            topology=pool.topology_shape,
            runtime_version=queued.runtime_version,
            node_count=pool.slices,
            network=access.network,
            subnetwork=access.subnetwork,
            service_account=access.node_service_account,
            provision=queued.provision,
            reservation=pool.reservation,
            valid_until=queued.valid_until,
            labels=google_labels({**pool.tags, **pool.labels}),
            wait=queued.wait,
            opts=pulumi.ResourceOptions(
                parent=self,
                provider=provider,
                protect=pool.protect,
                replacement_trigger=pool.shape_key,
                delete_before_replace=pool.old_first or None,
                custom_timeouts=timeouts("accelerator-fleet-native:index:QueuedResource"),
            ),
        )
        self.resource_id = made.name
        self.register_outputs({"queuedResource": self.resource_id, "shapeKey": pool.shape_key})


def native_provider(plan: FleetPlan, site: SitePlan) -> Provider:
    """The toolkit's own provider for a GKE site's project: nothing of it lands in another."""
    from accelerator_fleet_native.sdk import Provider

    labels = google_labels({**plan.tags, "site": site.name})
    return Provider(f"{site.name}-tpu", project=str(site.project), region=site.region, default_labels=labels)
