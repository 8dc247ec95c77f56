"""Where the fleet stands now, from stacks' last outputs: what the spec leaves open stays where it is."""

from __future__ import annotations

from typing import Any

import pulumi

from accelerator_fleet.plan.placed import Placements, placements


def read(base: str | None) -> Placements:
    """What is up of this stack and of the one with its base layer: nothing before the first `up`.

    Read before planning, so by a call: an output would come too late for a plain value.
    """
    own = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    found: Placements = {}
    for stack in [own] if base is None else [base, own]:
        found |= placements(_outputs(stack))
    return found


def _outputs(stack: str) -> dict[str, Any]:
    # The engine's own function behind StackReference.
    answer = pulumi.runtime.invoke("pulumi:pulumi:readStackOutputs", {"name": stack}).value
    return dict((answer or {}).get("outputs") or {})
