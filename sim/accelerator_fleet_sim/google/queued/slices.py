"""Accelerator types of the Cloud TPU API: `v5litepod-16` and what it stands for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..catalog import Catalog

FILE = Path(__file__).parents[1] / "data" / "cloud_tpu.json"


class TpuError(Exception):
    """What the API answers instead of doing it: a gRPC status code's name and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@cache
def rules() -> dict[str, Any]:
    """`cloud_tpu.json`."""
    data: dict[str, Any] = json.loads(FILE.read_text())
    return data


def seconds(what: str) -> float:
    """Simulated seconds of a step."""
    return float(rules()["seconds"][what])


@dataclass(frozen=True)
class Slice:
    """One node of the API: a slice of chips on hosts. `count` is what quota and the type's suffix count."""

    generation: str
    type: str
    topology: str
    chips: int
    hosts: int
    machine: str
    count: int

    @property
    def config(self) -> dict[str, str]:
        """AcceleratorConfig."""
        return {"type": rules()["generations"][self.generation]["config"], "topology": self.topology}


def slices(catalog: Catalog) -> list[Slice]:
    """Every slice that the API names; of two machines with one topology the one-host form."""
    found: dict[tuple[str, str], Slice] = {}
    for generation, row in rules()["generations"].items():
        for shape in catalog.topologies[generation]["topologies"]:
            count = shape["chips"] * row["per_chip"]
            one = Slice(generation, f"{row['prefix']}{count}", shape["topology"], shape["chips"], shape["hosts"],
                        shape["machine_type"], count)  # fmt: skip
            found.setdefault((generation, one.type), one)
    return list(found.values())


def slice_of(catalog: Catalog, node: dict[str, Any], zone: str) -> Slice:
    """The slice that a node asks for; TpuError when it names none, or the zone does not have it."""
    said, config = node.get("acceleratorType"), node.get("acceleratorConfig") or {}
    if said and config:
        raise TpuError("INVALID_ARGUMENT", "Cloud TPU received a bad request. accelerator_type and accelerator_config "
                       "are mutually exclusive.")  # fmt: skip
    if not said and not config:
        raise TpuError("INVALID_ARGUMENT", "Cloud TPU received a bad request. The accelerator type of the node must be "
                       "specified.")  # fmt: skip
    if said:
        found = [s for s in slices(catalog) if s.type == said]
        words = f'accelerator type, "{said}"'
    else:
        found = [s for s in slices(catalog) if s.config == {"type": config.get("type"), "topology": config["topology"]}]
        said = f"{config.get('type')} {config['topology']}"
        words = f'accelerator config, "{said}"'
    if not found or not catalog.offers(zone, found[0].machine):
        raise TpuError(
            "INVALID_ARGUMENT",
            f"Cloud TPU received a bad request. The requested accelerator configuration for {words}, could not be "
            f'found in the zonal accelerator configurations for "{zone}".; the accelerator {said} was not found in '
            f"zone {zone}",
        )
    return found[0]
