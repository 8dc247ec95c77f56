"""Access tokens as gke-gcloud-auth-plugin prints them, signed by the datacentre, and who they are for a cluster."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .scope import World

PREFIX = "ya29.embedded-"
LIFETIME = 3600  # seconds, as Google's access tokens last


def _sign(world: World, until: int) -> str:
    with world.store.lock:
        key = world.store.meta("google token key")
        if key is None:
            key = secrets.token_hex(32)
            world.store.set_meta("google token key", key)
    return hmac.new(bytes.fromhex(key), str(until).encode(), hashlib.sha256).hexdigest()


def make(world: World) -> dict[str, str]:
    """A token and when it ends. It is the user's, for every cluster."""
    until = int(time.time()) + LIFETIME
    ends = datetime.fromtimestamp(until, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"token": f"{PREFIX}{until}-{_sign(world, until)}", "expires": ends}


def valid(world: World, token: str) -> bool:
    """Whether the datacentre made the token and it still holds."""
    until, _, signature = token.removeprefix(PREFIX).partition("-")
    if not token.startswith(PREFIX) or not until.isdigit() or int(until) <= time.time():
        return False
    return hmac.compare_digest(signature, _sign(world, int(until)))


def authenticator(world: World) -> Callable[[str, str], dict[str, Any] | None]:
    """Who a token is, for the API server of a cluster: the project's owner, who may do everything."""

    def authenticate(_: str, token: str) -> dict[str, Any] | None:
        if not valid(world, token):
            return None
        user = world.catalog.account["user"]
        return {"username": user["email"], "uid": user["id"], "groups": ["system:masters"], "extra": {}}

    return authenticate
