"""Everything of one AWS provider of the stack, and which types that covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from accelerator_fleet_recover.aws import ec2, eks, storage
from accelerator_fleet_recover.aws.session import Account
from accelerator_fleet_recover.model import Item, Wanted

TYPES: Final = frozenset(
    {
        *ec2.TAGGED,
        "aws:ec2/route:Route",
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        eks.CLUSTER,
        eks.GROUP,
        eks.ADDON,
        eks.ROLE,
        eks.ATTACHMENT,
        storage.EFS,
        storage.TARGET,
        storage.POINT,
        storage.LUSTRE,
    }
)


def items(account: Account, resources: Iterable[Wanted]) -> Iterator[Item]:
    """The fleet's things. `resources`: what the stack has or wants there: it says which services are asked."""
    given = [r for r in resources if r.provider == account.provider]
    types = frozenset(r.type for r in given)
    yield from ec2.items(account)
    named = {str(r.inputs.get("clusterName") or r.inputs.get("name")) for r in given if r.type.startswith("aws:eks/")}
    yield from eks.clusters(account, named)
    # The stem of a drawn name, or a name as it is.
    stems = {next(iter(r.drawn.values()), str(r.inputs.get("name"))) for r in given if r.type == eks.ROLE}
    if stems:
        yield from eks.roles(account, stems)
    yield from storage.items(account, types)
