"""Names of container images: which repository, and what the datacentre does for a pod that runs it."""

from __future__ import annotations

import functools
from importlib import resources

import yaml

from accelerator_fleet_sim.cluster.model import Json


def repository(image: str) -> str:
    """`nvcr.io/nvidia/k8s-device-plugin:v0.17.4` -> `nvcr.io/nvidia/k8s-device-plugin`."""
    image = image.partition("@")[0]
    head, slash, last = image.rpartition("/")
    return head + slash + last.partition(":")[0]


def _data(name: str) -> Json:
    loaded = yaml.safe_load((resources.files("accelerator_fleet_sim.cluster") / "data" / name).read_text())
    assert isinstance(loaded, dict)
    return loaded


@functools.cache
def real_programs() -> dict[str, str]:
    """Last two parts of a repository -> the program that really runs."""
    return {str(k): str(v) for k, v in _data("real-pods.yaml").items()}


@functools.cache
def device_plugins() -> dict[str, tuple[str, ...]]:
    """Last part of a repository, or the last two -> resources that its pod brings to a node."""
    return {str(k): tuple(v) for k, v in _data("device-plugins.yaml").items()}


def real_program(pod: Json) -> str | None:
    """The program behind a pod, None: kwok plays it."""
    for container in pod["spec"].get("containers", []):
        parts = repository(container["image"]).split("/")
        if (found := real_programs().get("/".join(parts[-2:]))) is not None:
            return found
    return None


def plugin_resources(pod: Json) -> set[str]:
    """Device resources that a pod brings to its node."""
    found: set[str] = set()
    for container in pod["spec"].get("containers", []):
        parts = repository(container["image"]).split("/")
        own = device_plugins().get("/".join(parts[-2:]))  # where two vendors use one name
        found.update(own if own is not None else device_plugins().get(parts[-1], ()))
    return found
