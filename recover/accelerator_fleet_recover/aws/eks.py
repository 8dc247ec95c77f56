"""Clusters, node groups and add-ons of a fleet in EKS; roles in IAM."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from accelerator_fleet_recover.aws.session import Account, status, tag_map
from accelerator_fleet_recover.model import Item

CLUSTER = "aws:eks/cluster:Cluster"
GROUP = "aws:eks/nodeGroup:NodeGroup"
ADDON = "aws:eks/addon:Addon"
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
CLUSTER_USD_AN_HOUR = 0.10  # https://aws.amazon.com/eks/pricing/, versions in standard support


def clusters(account: Account, named: Collection[str]) -> Iterator[Item]:
    """The fleet's clusters with what is in them; of other clusters that the program names, its own groups."""
    client = account.client("eks")
    for name in account.pages("eks", "list_clusters", "clusters"):
        found = _or_none(client, "describe_cluster", "cluster", name=name)
        if found is None:
            continue
        ours = account.owns(tag_map(found.get("tags")))
        if not ours and str(name) not in named:
            continue
        if ours:
            yield Item(
                CLUSTER, str(name), name=str(name), tags=tag_map(found.get("tags")), status=status(found["status"]),
                created=found.get("createdAt"), cost=CLUSTER_USD_AN_HOUR, provider=account.provider,
            )  # fmt: skip
        yield from _inside(account, str(name), ours)


def _inside(account: Account, cluster: str, ours: bool) -> Iterator[Item]:
    client, keys = account.client("eks"), {"clusterName": cluster}
    for name in account.pages("eks", "list_nodegroups", "nodegroups", clusterName=cluster):
        found = _or_none(client, "describe_nodegroup", "nodegroup", clusterName=cluster, nodegroupName=name)
        if found is None or not account.owns(tag_map(found.get("tags"))):
            continue
        count = (found.get("scalingConfig") or {}).get("desiredSize")
        machines = ", ".join(found.get("instanceTypes") or [])
        yield Item(
            GROUP, f"{cluster}:{name}", name=str(name), tags=tag_map(found.get("tags")), keys=keys,
            status=status(found["status"]), created=found.get("createdAt"), note=f"{count} × {machines}",
            cost=_nodes(account.region, found), provider=account.provider,
        )  # fmt: skip
    for name in account.pages("eks", "list_addons", "addons", clusterName=cluster):
        found = _or_none(client, "describe_addon", "addon", clusterName=cluster, addonName=name)
        if found is None or not (ours or account.owns(tag_map(found.get("tags")))):
            continue
        # An add-on that is degraded, or failed while it had no nodes, is there all the same and is updated in place.
        state = status(found["status"]) if found["status"] in {"CREATING", "DELETING"} else "there"
        yield Item(
            ADDON, f"{cluster}:{name}", name=str(name), tags=tag_map(found.get("tags")),
            keys={**keys, "addonName": str(name)}, status=state, created=found.get("createdAt"),
            provider=account.provider,
        )  # fmt: skip


def _or_none(client: Any, operation: str, key: str, **arguments: Any) -> dict[str, Any] | None:
    """What is described; None when it went in the meantime."""
    try:
        found: dict[str, Any] = getattr(client, operation)(**arguments)[key]
    except client.exceptions.ResourceNotFoundException:
        return None
    return found


def _nodes(region: str, group: dict[str, Any]) -> float | None:
    """A node group's machines for an hour, at list price; None where a price is not known."""
    from accelerator_fleet import catalog

    mode = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}.get(group.get("capacityType", ""), "on-demand")
    count = (group.get("scalingConfig") or {}).get("desiredSize") or 0
    for row in catalog.load_prices().entries:
        if (row.machine, row.region, row.mode) == ((group.get("instanceTypes") or [""])[0], region, mode):
            return float(row.value) * int(count) if row.status != "unknown" else None
    return None


def roles(account: Account, stems: Collection[str]) -> Iterator[Item]:
    """The fleet's roles and their policies. IAM lists no tags: only names that begin as a wanted one are looked at."""
    client = account.client("iam")
    for role in account.pages("iam", "list_roles", "Roles"):
        name = str(role["RoleName"])
        if not any(name.startswith(stem) for stem in stems):
            continue
        tags = tag_map(list(account.pages("iam", "list_role_tags", "Tags", RoleName=name)))
        if not account.owns(tags):
            continue
        yield Item(ROLE, name, name=name, tags=tags, created=role.get("CreateDate"), provider=account.provider)
        attached = client.list_attached_role_policies(RoleName=name).get("AttachedPolicies") or []
        for policy in attached:
            arn = str(policy["PolicyArn"])
            keys = {"role": name, "policyArn": arn}
            # The state of older provider versions has a dash and a number here: compared by what it joins.
            yield Item(ATTACHMENT, f"{name}/{arn}", keys=keys, provider=account.provider)
