"""A site's AWS: the region and tags of its provider in the stack, and boto3's clients for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from accelerator_fleet.errors import FleetError
from accelerator_fleet_recover.model import Status

# The tags by which a fleet's things are told from all others; people change the rest (owner, cost centre).
IDENTITY: Final = ("fleet", "environment", "site")
COMING: Final = frozenset({"pending", "creating", "CREATING", "PENDING"})
GOING: Final = frozenset({"deleting", "DELETING", "shutting-down"})
GONE: Final = frozenset({"deleted", "DELETED", "terminated"})
FAILED: Final = frozenset({"failed", "FAILED", "CREATE_FAILED", "DELETE_FAILED", "error", "MISCONFIGURED"})


def status(word: str | None) -> Status:
    """A service's word for the state of a thing."""
    if word in COMING:
        return "coming"
    if word in GOING:
        return "going"
    return "failed" if word in FAILED else "there"


class Account:
    """One provider's account and region."""

    def __init__(self, provider: str, inputs: Mapping[str, Any]) -> None:
        """`provider`: its URN; `inputs`: as the stack has them, blocks as JSON text."""
        import boto3

        self.provider = provider
        self.region = str(inputs.get("region") or "")
        tags = as_block(inputs.get("defaultTags")).get("tags") or {}
        self.tags: dict[str, str] = {k: str(tags[k]) for k in IDENTITY if k in tags}
        self._allowed = [str(a) for a in _list(inputs.get("allowedAccountIds"))]
        self._session = boto3.Session(region_name=self.region, profile_name=inputs.get("profile"))
        self._clients: dict[str, Any] = {}

    def check(self) -> None:
        """The account must be the one that the provider is bound to. FleetError names both."""
        found = str(self.client("sts").get_caller_identity()["Account"])
        if self._allowed and found not in self._allowed:
            raise FleetError(
                "aws", f"these credentials are of account {found}; the stack's is {', '.join(self._allowed)}"
            )

    def client(self, service: str) -> Any:
        """boto3's client of a service."""
        if service not in self._clients:
            self._clients[service] = self._session.client(service)
        return self._clients[service]

    def pages(self, service: str, operation: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """Every element of a list that comes in pages."""
        client = self.client(service)
        if client.can_paginate(operation):
            for page in client.get_paginator(operation).paginate(**arguments):
                yield from page.get(key) or []
        else:
            yield from getattr(client, operation)(**arguments).get(key) or []

    def tagged(self, operation: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """EC2's list of what bears the fleet's tags."""
        filters = [{"Name": f"tag:{k}", "Values": [v]} for k, v in self.tags.items()]
        yield from self.pages("ec2", operation, key, Filters=filters, **arguments)

    def owns(self, tags: Mapping[str, str]) -> bool:
        """Whether tags are this fleet's."""
        return bool(self.tags) and all(tags.get(k) == v for k, v in self.tags.items())


def tag_map(found: Any) -> dict[str, str]:
    """Tags in either of the forms in which services write them."""
    if isinstance(found, dict):
        return {str(k): str(v) for k, v in found.items()}
    return {t.get("Key") or t.get("key"): t.get("Value") or t.get("value") or "" for t in found or []}


def as_block(value: Any) -> dict[str, Any]:
    found = json.loads(value) if isinstance(value, str) else value
    return dict(found) if isinstance(found, Mapping) else {}


def _list(value: Any) -> list[Any]:
    found = json.loads(value) if isinstance(value, str) else value
    return list(found or [])
