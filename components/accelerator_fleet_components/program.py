"""The Pulumi program of a stack: configuration to plan, plan to components."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pulumi

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError, raise_all
from accelerator_fleet.plan import plan as make_plan
from accelerator_fleet.plan.model import FleetPlan, SitePlan
from accelerator_fleet.plan.times import check_as_of
from accelerator_fleet_components import adoption, as_of, existing, existing_nodes, placements
from accelerator_fleet_components.fleet import Fleet
from accelerator_fleet_components.scope import Scope
from accelerator_fleet_components.scope import read as read_scope

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
    adoption.register()
    config = pulumi.Config("fleet")
    wanted = spec.load(folder / config.require("spec"))
    scope = read_scope(config.get_object("scope"), [s.name for s in wanted.sites])
    plan = make_plan(wanted, catalog.load(), placements.read(scope.base))
    today = as_of.read()
    check_as_of(wanted, plan, today)
    for warning in plan.warnings:
        pulumi.log.warn(f"{warning.path}: {warning.why}")
    # Before any provider: a wrong context would be the Kubernetes provider's error, which names no field.
    raise_all(existing_nodes.check(plan, [s.name for s in plan.sites if _owned(scope, s.name)]))
    providers = {s.name: site_provider(plan, s) for s in plan.sites if _owned(scope, s.name)}
    existing.check(plan, providers)
    fleet = Fleet(
        plan.fleet, plan, providers, scope, as_of=today, natives=natives(plan, providers if scope.has("pools") else {})
    )
    pulumi.export("sites", fleet.sites)
    pulumi.export("pools", fleet.pools)
    if plan.volumes:
        pulumi.export("volumes", fleet.volumes)
    if fleet.purchases:
        pulumi.export("purchases", fleet.purchases)


def natives(plan: FleetPlan, sites: Mapping[str, object]) -> dict[str, pulumi.ProviderResource]:
    """The toolkit's own provider for each of the sites that has queued resources."""
    wanted = {p.site for p in plan.pools if p.queued is not None} & set(sites)
    if not wanted:
        return {}
    from accelerator_fleet_components.tpu_queued_resource import native_provider

    return {name: native_provider(plan, plan.site(name)) for name in sorted(wanted)}


def _owned(scope: Scope, site: str) -> bool:
    return scope.sites == "all" or site in scope.sites


def site_provider(plan: FleetPlan, site: SitePlan) -> pulumi.ProviderResource:
    """The site's provider: nothing can land in another account, project or cluster, and all carries the fleet's tags.

    Each cloud's SDK is loaded here, for the sites that need it.
    """
    tags = {**plan.tags, "site": site.name}
    if site.kind == "eks":
        import pulumi_aws as aws

        made: pulumi.ProviderResource = aws.Provider(
            site.name,
            region=site.region,
            allowed_account_ids=[site.account],
            default_tags={"tags": tags},
        )
        return made
    if site.kind == "gke":
        import pulumi_gcp as gcp

        from accelerator_fleet_components.google_labels import google_labels

        made = gcp.Provider(site.name, project=site.project, region=site.region, default_labels=google_labels(tags))
        return made
    import pulumi_kubernetes as k8s

    # Credentials stay in the kubeconfig (KUBECONFIG, else ~/.kube/config): the state names the context only.
    made = k8s.Provider(
        site.name,
        context=site.context,
        cluster_identifier=site.context,
        enable_server_side_apply=True,
    )
    return made
