"""The program of every stack: `fleet:spec` names the environment's spec, `fleet:scope` what this stack owns."""

from pathlib import Path

from accelerator_fleet_components import run

run(Path(__file__).parent)
