"""Another version of a node group's nodes: what EKS launches first, and what it says where there is no room for it.

https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html: by the DEFAULT strategy the group
grows by the larger of two nodes a zone and `maxUnavailable` before a node goes, and insufficient capacity ends the
update with NodeCreationFailure; by MINIMAL old nodes go first. The guide says "up to" two a zone: here always two, so
that no roll is simulated for which EKS might lack room. Text: aws-ia/terraform-aws-eks-blueprints issue 1873.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from math import ceil
from typing import Any

from ...daemon.store import Resource
from ..errors import AwsError, Unhealthy
from ..launch import Launch, refusal
from ..scope import Scope

WATCHED = ("launchTemplate", "version", "releaseVersion")
A_ZONE = 2


def first(config: dict[str, Any] | None, nodes: int, zones: int) -> int:
    """Nodes that are launched in each zone before one goes."""
    said = config or {}
    if said.get("updateStrategy") == "MINIMAL" or nodes == 0:
        return 0
    percent = int(said.get("maxUnavailablePercentage") or 0)
    unavailable = int(said.get("maxUnavailable") or 0) or ceil(nodes * percent / 100)
    return ceil(max(A_ZONE * zones, unavailable) / zones)


def why_not(scope: Scope, launches: Sequence[Launch], zones: Sequence[str], count: int) -> AwsError | None:
    """Why the nodes that come first do not all start, in the words of the first type of machine; None: they do."""
    for zone in zones if count else ():
        tried = [refusal(scope, launch, zone, count) for launch in launches]
        if all(able < count for able, _ in tried):
            return tried[0][1]
    return None


def failed(resource: Resource, before: dict[str, Any]) -> Unhealthy:
    """The update's end: the group is as it was, and the provider goes no further: no label, count, strategy."""
    resource.outputs = {**before, "status": "ACTIVE"}
    text = "Couldn't proceed with upgrade process as new nodes are not joining node group "
    text += str(resource.outputs["nodeGroupName"])
    error = Unhealthy(
        "active",
        "NodeCreationFailure",
        f"unexpected state 'Failed', wanted target 'Successful'. last error: : NodeCreationFailure: {text}",
    )
    error.doing = f"version update ({uuid.uuid4()})"
    return error
