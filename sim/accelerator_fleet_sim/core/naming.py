"""Automatic names as Pulumi's bridge makes them (pkg/tfbridge/info/autonaming.go, sdk resource.NewUniqueName)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

RANDOM_DIGITS = 7


@dataclass(frozen=True)
class Autonaming:
    """What the engine's `pulumi:autonaming` setting asks for."""

    mode: int  # 0 propose, 1 enforce, 2 disable
    proposed: str


def unique_name(seed: bytes, prefix: str, maximum: int) -> str:
    """`prefix` and seven hexadecimal digits drawn from the seed; ValueError over the maximum."""
    if len(prefix) + RANDOM_DIGITS > maximum:
        raise ValueError(
            f"name '{prefix}' plus {RANDOM_DIGITS} random characters is longer than maximum length {maximum}"
        )
    return prefix + hashlib.sha256(seed).hexdigest()[:RANDOM_DIGITS]


def automatic_name(rule: dict[str, Any], urn_name: str, seed: bytes, autonaming: Autonaming | None) -> str:
    """The name for a resource whose program gave none; ValueError with the reason when there can be none."""
    fold = str.lower if rule.get("lower") else str
    if autonaming is None:
        return unique_name(seed, fold(urn_name) + "-", rule["max"])
    if autonaming.mode == 2:
        raise ValueError("automatic naming is disabled but no explicit name was provided")
    if autonaming.mode == 1:
        return autonaming.proposed
    name = fold(autonaming.proposed)
    if len(name) > rule["max"]:
        raise ValueError(f"calculated name '{name}' exceeds maximum length of {rule['max']}")
    return name
