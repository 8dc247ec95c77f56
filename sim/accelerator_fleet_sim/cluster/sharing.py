"""NVIDIA's device plugin and its settings: into how many devices it divides the cards of a node.

https://github.com/NVIDIA/k8s-device-plugin: the pod's config-manager takes the configuration that the node's label
`nvidia.com/device-plugin.config` names out of a ConfigMap, or the default one; a name that is not in it leaves the
plugin waiting. Sharing by MPS waits for the control daemon, which runs on nodes with `nvidia.com/mps.capable`.
"""

from __future__ import annotations

from collections.abc import Callable

import yaml

from accelerator_fleet_sim.cluster.images import repository
from accelerator_fleet_sim.cluster.model import Json

RESOURCE = "nvidia.com/gpu"
LABEL = "nvidia.com/device-plugin.config"
PLUGIN = "nvidia/k8s-device-plugin"
VOLUME = "available-configs"  # of the chart
DAEMON = "mps-control-daemon"  # the command of the chart's other DaemonSet; its image is the plugin's
FindConfig = Callable[[str, str], Json | None]  # (namespace, name) -> ConfigMap


def is_mps_daemon(pod: Json) -> bool:
    return any(c.get("command", [""])[0] == DAEMON for c in pod["spec"].get("containers", []))


def is_plugin(pod: Json) -> bool:
    images = [repository(c["image"]) for c in pod["spec"].get("containers", [])]
    return any(i.endswith(PLUGIN) for i in images) and not is_mps_daemon(pod)


def parts(plugin: Json, node: Json, mps_daemon: bool, config_of: FindConfig) -> int | None:
    """Devices that each card of the node is; None: the plugin waits and offers none."""
    name = _config_map(plugin)
    if name is None:
        return 1
    found = config_of(plugin["metadata"]["namespace"], name)
    if found is None:
        return None
    key = node["metadata"].get("labels", {}).get(LABEL) or _default(plugin)
    text = found.get("data", {}).get(key)
    if text is None:
        return None
    config = yaml.safe_load(text) or {}
    sharing = config.get("sharing") or {}
    for way in ("mps", "timeSlicing"):
        for row in (sharing.get(way) or {}).get("resources") or []:
            if row.get("name") == RESOURCE:
                return None if way == "mps" and not mps_daemon else int(row["replicas"])
    return 1


def _config_map(pod: Json) -> str | None:
    for volume in pod["spec"].get("volumes", []):
        if volume["name"] == VOLUME:
            return str(volume["configMap"]["name"])
    return None


def _default(pod: Json) -> str:
    for container in (*pod["spec"].get("initContainers", []), *pod["spec"].get("containers", [])):
        for entry in container.get("env", []):
            if entry["name"] == "DEFAULT_CONFIG":
                return str(entry.get("value") or "")
    return ""
