"""Checks that what a spec names by id exists, with the cloud's own read calls, before anything is created."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import pulumi

from accelerator_fleet.errors import FleetError, raise_all, unknown
from accelerator_fleet.plan.model import FleetPlan, SitePlan

if TYPE_CHECKING:
    from pulumi_aws import Provider


def check(plan: FleetPlan, providers: Mapping[str, pulumi.ProviderResource]) -> None:
    """raises FleetErrors with one error per id that the site's account and region do not have."""
    found = [
        error
        for index, site in enumerate(plan.sites)
        if site.kind == "eks" and site.name in providers
        for error in _site(f"sites[{index}]", site, cast("Provider", providers[site.name]))
    ]
    raise_all(found)


def _site(path: str, site: SitePlan, provider: Provider) -> list[FleetError]:
    from pulumi_aws import ec2, eks

    options = pulumi.InvokeOptions(provider=provider)
    where = f"in {site.region} of account {site.account}"
    errors: list[FleetError] = []

    def need(field: str, wanted: str, get: Callable[[], Any], known: Callable[[], list[str]]) -> Any:
        try:
            return get()
        except Exception as refused:
            if not _not_found(str(refused)):
                raise
            errors.append(FleetError(f"{path}.{field}", f"{unknown(field.split('.')[0], wanted, known())} ({where})"))
            return None

    network = site.network
    assert network is not None
    if network.existing_vpc is not None:
        vpc = network.existing_vpc
        need(
            "vpc.id",
            vpc,
            lambda: ec2.get_vpc(id=vpc, opts=options),
            lambda: ec2.get_vpcs(opts=options).ids,
        )
        for zone, subnet_id in network.existing_subnets:
            got = need(
                f"vpc.subnets.{zone}",
                subnet_id,
                functools.partial(ec2.get_subnet, id=subnet_id, opts=options),
                lambda: ec2.get_subnets(opts=options).ids,
            )
            if got is not None and (got.vpc_id != vpc or got.availability_zone != zone):
                errors.append(
                    FleetError(
                        f"{path}.vpc.subnets.{zone}",
                        f"{subnet_id} lies in {got.availability_zone} of {got.vpc_id}, not in {zone} of {vpc}",
                    )
                )
    if site.cluster.existing:
        name = site.cluster.name
        need(
            "cluster.name",
            name,
            lambda: eks.get_cluster(name=name, opts=options),
            lambda: eks.get_clusters(opts=options).names,
        )
    return errors


def _not_found(text: str) -> bool:
    """True for the provider's ways to say that there is no such thing; any other failure is not ours to explain."""
    return any(
        word in text for word in ("NotFound", "no matching EC2", "couldn't find resource", "ResourceNotFoundException")
    )
