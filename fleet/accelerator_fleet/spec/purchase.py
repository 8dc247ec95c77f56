"""Purchases: capacity blocks that are bought by this file, each once."""

from __future__ import annotations

from pydantic import Field

from accelerator_fleet.spec.base import Count, Model


class PurchaseSpec(Model):
    """A capacity block to buy: an offering as `aws ec2 describe-capacity-block-offerings` listed it.

    The offering alone is what is bought; the other fields say what it is, so that a plan needs no cloud, and are
    checked against what was bought.
    """

    name: str = Field(description="the purchase's name: pools name it as `reservation: purchase/NAME`")
    site: str = Field(description="the eks site in whose account and region it is bought")
    offering: str = Field(
        pattern=r"^cb-[0-9a-f]{8,17}$", description="cb-…: the offering; never looked up, never exchanged"
    )
    machine: str = Field(description="machine of the offering: p5.48xlarge")
    zone: str = Field(description="its zone: us-east-2b")
    nodes: Count = Field(ge=1, description="its machines")
    starts: str = Field(description='when the block starts, RFC 3339, quoted: "2026-12-01T11:30:00Z"')
    ends: str = Field(description="when it ends, RFC 3339, quoted")
    price: float | None = Field(default=None, ge=0, description="upfront fee of the offering, USD: shown, not checked")
