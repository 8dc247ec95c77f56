"""kwok's configuration: its own stages, narrowed to the pods that it plays and to Jobs that ask to end."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from accelerator_fleet_engine import binaries
from accelerator_fleet_sim.cluster.images import real_programs
from accelerator_fleet_sim.cluster.model import Json

RUN_SECONDS = "accelerator-fleet.dev/run-seconds"

_STAGES = ("node/fast", "node/heartbeat-with-lease", "pod/fast")
_A_YEAR_MS = 365 * 24 * 3600 * 1000


def kwok_config() -> str:
    """All of kwok's stages as one YAML stream."""
    root = binaries.module_dir("kwok") / "kustomize" / "stage"
    return "---\n".join(json.dumps(_adapt(stage), indent=1) + "\n" for part in _STAGES for stage in _load(root / part))


def _load(folder: Path) -> list[Json]:
    names = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    return [yaml.safe_load((folder / name).read_text()) for name in names]


def _adapt(stage: Json) -> Json:
    if stage["spec"]["resourceRef"]["kind"] != "Pod":
        return stage
    # The programs behind these pods are real: their state is told by whoever runs them.
    real = "|".join(re.escape(repository) for repository in real_programs())
    image = json.dumps(f"(^|/)({real})(:|@|$)")
    requirements = stage["spec"]["selector"]["matchExpressions"]
    requirements.append({"key": f".spec.containers.[].image | select(test({image}))", "operator": "DoesNotExist"})
    if stage["metadata"]["name"] == "pod-complete":
        annotation = f".metadata.annotations[{json.dumps(RUN_SECONDS)}]"
        requirements.append({"key": annotation, "operator": "Exists"})
        end = f"((.status.startTime | fromdate) + ({annotation} | tonumber)) | todate"
        stage["spec"]["delay"] = {"durationMilliseconds": _A_YEAR_MS, "durationFrom": {"jq": {"expression": end}}}
    return stage
