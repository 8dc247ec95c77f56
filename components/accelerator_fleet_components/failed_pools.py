"""Refuses to take a failed pool for a good one, where the engine and the provider would."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi


class FailedPool(Exception):
    """A pool whose last create or change failed, and that nothing would be done about."""


def refuse_empty_update(args: pulumi.ResourceHookArgs) -> None:
    """Before an update of a node group or node pool: raises FailedPool when the update would change nothing.

    The engine asks for such an update only after a failure (pulumi/pulumi step_generator.go: "if the resource was
    unchanged, but there were initialization errors, generate an empty update step"). The provider finds no difference,
    calls nothing and says that all is well, with a group in CREATE_FAILED or a pool without machines.
    """
    wanted, before, there = _own(args.new_inputs), _own(args.old_inputs), args.old_outputs or {}
    # After a failed change the engine keeps the old inputs (pkg/engine/update.go) and a provider without d.Partial has
    # put the new values into the outputs, where nothing of them is true.
    claimed = _differs(before, there) and not _differs(wanted, there)
    if (wanted == before and not _differs(wanted, there)) or claimed:
        raise FailedPool(
            f"{args.name}: its last create or change failed ({args.id}), and an update would do nothing about it. "
            "`fleet up` gives back what failed to come up and asks for it again. By hand: `pulumi up --replace "
            f"'{args.urn}'`, or, after a failed change of a pool that runs, `pulumi refresh` and then `pulumi up`"
        )


def _own(inputs: Mapping[str, Any] | None) -> dict[str, Any]:
    """Inputs without what the engine adds. Changed ones are an update like any other."""
    return {k: v for k, v in (inputs or {}).items() if not k.startswith("__")}


def _differs(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    """Whether something that is asked for is there with another value. What is not there was never read."""
    return any(key in there and not _same(value, there[key]) for key, value in _own(wanted).items())


def _same(wanted: Any, there: Any) -> bool:
    if isinstance(wanted, Mapping) and isinstance(there, Mapping):
        return not _differs(wanted, there)
    if isinstance(wanted, list) and isinstance(there, list) and len(wanted) == len(there):
        rest = list(there)
        for one in wanted:  # sets of the provider come back in another order
            found = next((i for i, other in enumerate(rest) if _same(one, other)), None)
            if found is None:
                return False
            rest.pop(found)
        return True
    return bool(wanted == there) or str(wanted) == str(there)


def binding() -> pulumi.ResourceHookBinding:
    """What a pool's resource takes as `hooks`."""
    return pulumi.ResourceHookBinding(before_update=[refuse_empty_update])
