"""Further interfaces of A3 and A4 machines: an address of each in its own subnetwork."""

from __future__ import annotations

import ipaddress
from typing import Any

from ..daemon.store import Resource
from .errors import Unhealthy
from .scope import NODE_POOL, Scope

Row = list[str]  # VPC, subnetwork, address, range


def further(scope: Scope, pool: Resource, others: list[dict[str, Any]]) -> list[Row]:
    """The interfaces of a new machine of the pool; `others`: machines that are not in the store yet.

    Raises Unhealthy when a subnetwork has no address left.
    """
    made: list[Row] = []
    region = scope.region_of(pool.outputs["location"])
    for said in (pool.outputs.get("networkConfig") or {}).get("additionalNodeNetworkConfigs") or []:
        vpc, subnet = scope.network(said["network"]), scope.subnetwork(said["subnetwork"], region)
        if vpc is None or subnet is None:
            continue  # deleted since: the machine does not start without it
        block = ipaddress.IPv4Network(subnet.outputs["ipCidrRange"])
        stored = [n for p in scope.all(NODE_POOL) for n in p.hidden.get("nodes") or []]
        used = {row[2] for n in [*stored, *others] for row in n.get("interfaces") or []}
        free = (str(block[i]) for i in range(2, block.num_addresses - 2) if str(block[i]) not in used)
        address = next(free, None)
        if address is None:
            raise Unhealthy("IP_SPACE_EXHAUSTED", "[IP_SPACE_EXHAUSTED]: Instance creation failed: IP space of "
                            f"'{subnet.id}' is exhausted.")  # fmt: skip
        made.append([vpc.outputs["name"], subnet.outputs["name"], address, str(block)])
    return made
