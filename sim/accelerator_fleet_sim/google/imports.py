"""What people give to import, and what an import does not know, as the real provider's importers have it."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

MEMBER = "gcp:projects/iAMMember:IAMMember"
CONNECTION = "gcp:servicenetworking/connection:Connection"
# Fields that no API returns. "If they are set in config and you import a cluster … will show diffs":
# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#import
UNREAD = {
    "gcp:container/cluster:Cluster": {"minMasterVersion", "removeDefaultNodePool", "deletionProtection"},
    "gcp:compute/network:Network": {"deleteDefaultRoutesOnCreate"},
    "gcp:serviceaccount/account:Account": {"createIgnoreAlreadyExists"},
}


def state_id(token: str, given: str) -> str:
    """The id in a state behind the one for an import; the other types take the state's own."""
    if token == MEMBER and given.count(" ") >= 2:
        return "/".join(given.split(" "))  # `project role member`
    if token == CONNECTION:
        return unquote(given)  # the network's path is escaped
    return given


def outputs(token: str, known: dict[str, Any]) -> dict[str, Any]:
    """Outputs without what only a state has."""
    return {k: v for k, v in known.items() if k not in UNREAD.get(token, ())}
