"""What tests of node groups share: templates, EFA interfaces, the nodes that came of it."""

from __future__ import annotations

from typing import Any

import pytest

from accelerator_fleet_sim.cluster.model import NodeSpec
from tests.sim.account import Account, Refusal

Net = dict[str, Any]
P5: dict[str, Any] = {"instanceTypes": ["p5.48xlarge"], "amiType": "AL2023_x86_64_NVIDIA"}


def refused(code: str, text: str = "") -> Any:
    return pytest.raises(Refusal, match=f"{code}.*{text}")


def nodes(account: Account, group: str = "g") -> list[NodeSpec]:
    return account.clusters.nodes_by_group["c", group]


def template(account: Account, **inputs: Any) -> dict[str, Any]:
    """A launch template as a node group names it."""
    made = account.create("LaunchTemplate", **{"name": f"t{len(inputs)}-{account.clock.now()}", **inputs})
    return {"launchTemplate": {"id": made["id"], "version": "1"}, "instanceTypes": None}


def interfaces(count: int, **more: Any) -> list[dict[str, Any]]:
    """EFA on every card, as AWS recommends for many cards."""
    return [
        {"networkCardIndex": i, "deviceIndex": min(i, 1), "interfaceType": "efa" if i == 0 else "efa-only", **more}
        for i in range(count)
    ]
