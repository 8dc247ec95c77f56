"""The Pulumi program of a stack: configuration to plan, plan to components."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pulumi

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan as make_plan
from accelerator_fleet.plan.model import FleetPlan
from accelerator_fleet_components import existing
from accelerator_fleet_components.fleet import Fleet
from accelerator_fleet_components.scope import Scope
from accelerator_fleet_components.scope import read as read_scope

if TYPE_CHECKING:
    from pulumi_aws import Provider

# Exit code by which Python programs tell Pulumi's language hosts that the user has been shown what is wrong.
SHOWN_ALREADY = 32


def run(folder: Path) -> None:
    """Plans the stack's spec (a path below `folder`), checks it, and creates what the stack's scope owns.

    All input is checked before the first resource; the user's mistakes end the program without a traceback.
    """
    try:
        _run(folder)
    except FleetError as mistake:
        # As the executor itself ends once it has shown an error: a RunError would add "an unhandled error occurred".
        pulumi.log.error(str(mistake))
        raise SystemExit(SHOWN_ALREADY) from None


def _run(folder: Path) -> None:
    config = pulumi.Config("fleet")
    plan = make_plan(spec.load(folder / config.require("spec")), catalog.load())
    scope = read_scope(config.get_object("scope"), plan)
    providers = {s.name: _provider(plan, s.account, s.region, s.name) for s in plan.sites if _owned(scope, s.name)}
    existing.check(plan, providers)
    fleet = Fleet(plan.fleet, plan, providers, scope)
    pulumi.export("sites", fleet.sites)
    pulumi.export("pools", fleet.pools)


def _owned(scope: Scope, site: str) -> bool:
    return scope.sites == "all" or site in scope.sites


def _provider(plan: FleetPlan, account: str, region: str, site: str) -> Provider:
    """The site's AWS provider: nothing can land in another account, and every resource carries the fleet's tags."""
    import pulumi_aws as aws

    return aws.Provider(
        site,
        region=region,
        allowed_account_ids=[account],
        default_tags={"tags": {**plan.tags, "site": site}},
    )
