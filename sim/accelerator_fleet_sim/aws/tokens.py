"""Tokens as `aws eks get-token` prints them, signed by the datacentre, and who they are for a cluster."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from .scope import CLOUD, World

PREFIX = "k8s-aws-v1."
LIFETIME = 14 * 60  # seconds; the CLI says the token is good for 14 of its 15 minutes


def _key(world: World) -> bytes:
    with world.store.lock:
        key = world.store.meta("token key")
        if key is None:
            key = secrets.token_hex(32)
            world.store.set_meta("token key", key)
    return bytes.fromhex(key)


def _sign(world: World, cluster: str, region: str, until: int) -> str:
    return hmac.new(_key(world), f"{region}/{cluster}/{until}".encode(), hashlib.sha256).hexdigest()


def make(world: World, cluster: str, region: str) -> dict[str, str]:
    """A token for a cluster and when it ends. Like the real one it is made whether or not the cluster exists."""
    until = int(time.time()) + LIFETIME
    query = urlencode({
        "Action": "GetCallerIdentity", "Version": "2011-06-15", "X-Amz-Expires": "60", "x-k8s-aws-id": cluster,
        "until": until, "X-Amz-Signature": _sign(world, cluster, region, until),
    })  # fmt: skip
    url = f"https://sts.{region}.amazonaws.com/?{query}"
    text = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return {"token": PREFIX + text, "expires": datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def valid(world: World, cluster: str, region: str, token: str) -> bool:
    """Whether the datacentre made the token for that cluster and it still holds."""
    if not token.startswith(PREFIX):
        return False
    text = token.removeprefix(PREFIX)
    try:
        url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        query = {k: v[0] for k, v in parse_qs(urlsplit(url).query).items()}
        until = int(query["until"])
    except (ValueError, KeyError):
        return False
    right = _sign(world, cluster, region, until)
    return query.get("x-k8s-aws-id") == cluster and until > time.time() and hmac.compare_digest(
        query.get("X-Amz-Signature", ""), right
    )  # fmt: skip


def authenticator(world: World, region: str, cluster: str) -> Callable[[str, str], dict[str, Any] | None]:
    """Who a token is, for the API server of one cluster: its creator is an administrator unless told otherwise."""

    def authenticate(_: str, token: str) -> dict[str, Any] | None:
        if not valid(world, cluster, region, token):
            return None
        account = world.catalog.account
        user = account["user"]
        found = world.store.get(CLOUD, account["account"], region, "aws:eks/cluster:Cluster", cluster)
        if found is None:
            return None
        groups: list[str] = []
        if found.outputs.get("accessConfig", {}).get("bootstrapClusterCreatorAdminPermissions", True):
            groups = ["system:masters"]
        else:
            entry = world.store.get(CLOUD, account["account"], region, "aws:eks/accessEntry:AccessEntry",
                                    f"{cluster}:{user['arn']}")  # fmt: skip
            if entry is None:
                return None
            groups = list(entry.outputs.get("kubernetesGroups") or [])
        return {
            "username": user["arn"], "uid": f"aws-iam-authenticator:{account['account']}:{user['userId']}",
            "groups": groups, "extra": {"arn": [user["arn"]]},
        }  # fmt: skip

    return authenticate
