"""Pulumi components for accelerator fleets: a plan in, resources out.

SDK sub-packages are imported inside functions: a fleet without a cloud never loads that cloud's SDK.
"""

from accelerator_fleet_components.fleet import Fleet
from accelerator_fleet_components.program import run

__all__ = ["Fleet", "run"]
