"""Versions that GKE serves: by channel and minor version, and how far nodes may be behind their control plane."""

from __future__ import annotations

import re

from ...daemon.store import Resource
from ..errors import GoogleError
from ..scope import Scope

SKEW = 2  # https://docs.cloud.google.com/kubernetes-engine/docs/concepts/cluster-upgrades
NONE = "UNSPECIFIED"


def served(scope: Scope, channel: str | None) -> dict[str, list[str]]:
    """Minor version -> versions, the channel's default first. Without a channel: all of all channels."""
    table = scope.catalog.account["kubernetes"]["served"]
    if channel in table:
        return {minor: list(row) for minor, row in table[channel].items()}
    every: dict[str, list[str]] = {}
    for one in ("REGULAR", "EXTENDED", "RAPID", "STABLE"):
        for minor, row in table[one].items():
            every.setdefault(minor, []).extend(v for v in row if v not in every.get(minor, []))
    return dict(sorted(every.items(), key=lambda item: numbers(item[0])))


def default(scope: Scope, channel: str | None) -> str:
    """What a cluster gets that names no version."""
    table = scope.catalog.account["kubernetes"]["channels"]
    return served(scope, channel)[table.get(channel or NONE, table[NONE])][0]


def resolve(scope: Scope, channel: str | None, wish: str) -> str | None:
    """The version that a wish means: a whole one, or the channel's of a minor or patch version."""
    rows = [v for row in served(scope, channel).values() for v in row]
    if wish in rows:
        return wish
    return next((v for v in rows if v.startswith((f"{wish}.", f"{wish}-"))), None)


def channel_of(cluster: Resource) -> str | None:
    """The release channel of a cluster."""
    return (cluster.outputs.get("releaseChannel") or {}).get("channel")


def numbers(version: str) -> tuple[int, ...]:
    """For comparing."""
    return tuple(int(n) for n in re.findall(r"[0-9]+", version))


def node_version(scope: Scope, channel: str | None, wish: str, master: str) -> str:
    """The version of nodes that a wish means under a control plane. GoogleError where they cannot have it."""
    full = wish if wish == master else resolve(scope, channel, wish)
    if full is None:
        raise _bad(f'Node version "{wish}" is unsupported.')
    if numbers(full) > numbers(master):
        raise _bad(f'Node version "{full}" must not be newer than the master\'s "{master}".')
    if numbers(master)[1] - numbers(full)[1] > SKEW:
        raise _bad(f'Node version "{full}" must be at most two minor versions below the master\'s "{master}".')
    return full


def _bad(text: str) -> GoogleError:
    return GoogleError(400, "badRequest", text)
