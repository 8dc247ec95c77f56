"""What an import knows: the provider's importer takes ids in its own forms, and Read sets only what the API returns."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.daemon.server import HttpError
from tests.sim.account import ACCOUNT, REGION, Account

Net = dict[str, Any]


def imported(account: Account, name: str, identity: str) -> dict[str, Any] | None:
    call = {"type": Account.token(name), "id": identity, "state": {}, "account": ACCOUNT, "region": REGION}
    found: dict[str, Any] | None = account.aws.read(call)
    return found


def test_an_association_is_imported_by_subnet_and_table(account: Account, net: Net) -> None:
    table = account.create("RouteTable", vpcId=net["vpc"])["id"]
    made = account.create("RouteTableAssociation", subnetId=net["a"], routeTableId=table)
    found = imported(account, "RouteTableAssociation", f"{net['a']}/{table}")
    assert found is not None
    assert found["id"] == made["id"]
    assert imported(account, "RouteTableAssociation", f"{net['b']}/{table}") is None
    with pytest.raises(HttpError) as refused:
        imported(account, "RouteTableAssociation", made["id"])
    assert "unexpected format for import" in refused.value.body["text"]


def test_a_route_is_imported_by_table_and_destination(account: Account, net: Net) -> None:
    table = account.create("RouteTable", vpcId=net["vpc"])["id"]
    gateway = account.create("InternetGateway", vpcId=net["vpc"])["id"]
    made = account.create("Route", routeTableId=table, destinationCidrBlock="0.0.0.0/0", gatewayId=gateway)
    found = imported(account, "Route", f"{table}_0.0.0.0/0")
    assert found is not None
    assert found["id"] == made["id"]
    with pytest.raises(HttpError) as refused:
        imported(account, "Route", made["id"])
    assert "expected ROUTETABLEID_DESTINATION" in refused.value.body["text"]


def test_an_import_does_not_know_what_no_api_returns(account: Account) -> None:
    """A refresh keeps it from the state."""
    trust = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}'  # noqa: E501
    role = account.create("Role", name="r", assumeRolePolicy=trust, forceDetachPolicies=True)
    found = imported(account, "Role", role["id"])
    assert found is not None
    assert "forceDetachPolicies" not in found["outputs"]
    assert (account.read("Role", role["id"]) or {})["forceDetachPolicies"] is True
