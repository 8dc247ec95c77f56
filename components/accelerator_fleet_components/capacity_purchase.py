"""A capacity block, bought once and never by anything else: the offering is the spec's, nothing is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet.plan.model import PurchasePlan
from accelerator_fleet_components.tokens import token

if TYPE_CHECKING:
    from pulumi_aws import Provider

PLATFORM = "Linux/UNIX"  # of the nodes of every pool


class CapacityPurchase(pulumi.ComponentResource):
    """The block behind an offering. `reservation`: its cr-…, by which pools draw on it.

    Protected in every environment: a replacement is a second purchase and a delete gives no money back. The provider's
    delete calls nothing (`WithNoOpDelete`), so that a state without the block says nothing about the block.
    """

    reservation: pulumi.Output[str]

    def __init__(
        self, name: str, purchase: PurchasePlan, provider: Provider, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        from pulumi_aws import ec2

        super().__init__(token("CapacityPurchase"), name, None, opts)
        self._block = ec2.CapacityBlockReservation(
            name,
            capacity_block_offering_id=purchase.offering,
            instance_platform=PLATFORM,
            tags={"Name": name},
            opts=pulumi.ResourceOptions(parent=self, provider=provider, protect=True, retain_on_delete=True),
        )
        self.reservation = self._block.id
        self.register_outputs({"reservation": self.reservation})

    def outputs(self, purchase: PurchasePlan) -> dict[str, object]:
        """The stack's output of a purchase: what was bought, as AWS says, so that the spec is held to it."""
        block = self._block
        return {
            "id": self.reservation,
            "site": purchase.site,
            "offering": purchase.offering,
            "machine": block.instance_type,
            "zone": block.availability_zone,
            "nodes": block.instance_count,
            "starts": block.start_date.apply(_time),
            "ends": block.end_date.apply(_time),
        }


def _time(text: str) -> str:
    """Whole seconds, as specs write them: AWS may add `.000`."""
    return text.partition(".")[0].removesuffix("Z") + "Z" if text else text
