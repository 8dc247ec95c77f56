"""Which sites and layers of an environment one stack owns (`fleet:scope`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from accelerator_fleet.errors import FleetError, unknown
from accelerator_fleet.plan.model import Layer

LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)


class Scope(BaseModel):
    """`sites: all` or names; `layers`: base (networks, clusters), pools, cluster (what lives in Kubernetes).

    `base`: the stack whose outputs give the ids of a layer that this stack does not own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sites: tuple[str, ...] | Literal["all"] = "all"
    layers: tuple[Layer, ...] = LAYERS
    base: str | None = None

    def has(self, layer: Layer) -> bool:
        """True when this stack owns the layer."""
        return layer in self.layers


def read(config: object, known: Sequence[str]) -> Scope:
    """The scope in a stack's configuration, checked against the `known` sites; raises FleetError."""
    if config is None:
        return Scope()
    try:
        scope = Scope.model_validate(config)
    except ValidationError as bad:
        first = bad.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FleetError(f"fleet:scope.{where}", f"{first['msg'].lower()}; layers are {', '.join(LAYERS)}") from None
    for name in () if scope.sites == "all" else scope.sites:
        if name not in known:
            raise FleetError("fleet:scope.sites", unknown("site", name, known))
    if not scope.has("base") and scope.base is None:
        raise FleetError("fleet:scope.base", "a stack without the layer base names the stack that has it")
    return scope
