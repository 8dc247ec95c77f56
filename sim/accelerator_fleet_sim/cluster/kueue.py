"""Kueue and JobSet outside a container: their configuration with loopback ports, and the flags that go with it."""

from __future__ import annotations

import functools
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from accelerator_fleet_sim.cluster.model import ClusterError, Json

# Kueue's visibility server writes its certificate into /visibility; a linker flag of the engine's build
# (-X sigs.k8s.io/kueue/pkg/visibility.certDir=<this>) makes that a folder relative to where it runs.
VISIBILITY_FOLDER = "visibility-serving-certs"

_DEFAULT_PORTS = {"health": 8081, "metrics": 8443, "webhook": 9443, "visibility": 8082}
_DEFAULT_CERT_DIR = "/tmp/k8s-webhook-server/serving-certs"


@dataclass(frozen=True)
class Localised:
    """What must differ from the container: configuration, flags, and which container port is which loopback port."""

    config: str
    flags: tuple[str, ...]
    ports: dict[int, int]


def _port_of(address: str, default: int) -> int:
    port = address.rpartition(":")[2]
    return int(port) if port.isdigit() and int(port) > 0 else default


@functools.cache
def can_serve_visibility(program: Path) -> bool:
    """Was this binary linked so that its visibility server writes nothing outside its folder?"""
    with program.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(VISIBILITY_FOLDER.encode()) >= 0


def localise(
    text: str,
    arguments: list[str],
    namespace: str,
    host_path: Callable[[str], str],
    take_port: Callable[[], int],
    *,
    visibility_server: bool = True,
) -> Localised:
    """Rewrite only addresses and paths; everything else is the chart's. JobSet has no visibility server."""
    loaded = yaml.safe_load(text)
    if not isinstance(loaded, dict):
        raise ClusterError("the controller's configuration is not a mapping")
    config: Json = loaded
    health = config.setdefault("health", {})
    metrics = config.setdefault("metrics", {})
    webhook = config.setdefault("webhook", {})
    visibility = config.setdefault("visibilityServer", {}) if visibility_server else {}
    container_ports = {
        "health": _port_of(str(health.get("healthProbeBindAddress", "")), _DEFAULT_PORTS["health"]),
        "metrics": _port_of(str(metrics.get("bindAddress", "")), _DEFAULT_PORTS["metrics"]),
        "webhook": int(webhook.get("port", _DEFAULT_PORTS["webhook"])),
        "visibility": int(visibility.get("bindPort", _DEFAULT_PORTS["visibility"])),
    }
    if not visibility_server:
        del container_ports["visibility"]
    local = {name: take_port() for name in container_ports}
    health["healthProbeBindAddress"] = f"127.0.0.1:{local['health']}"
    metrics["bindAddress"] = f"127.0.0.1:{local['metrics']}"
    webhook.update(host="127.0.0.1", port=local["webhook"])
    webhook["certDir"] = host_path(str(webhook.get("certDir", _DEFAULT_CERT_DIR)))
    if visibility_server:
        visibility.update(bindAddress="127.0.0.1", bindPort=local["visibility"])
        # In a container Kueue reads its namespace from the service account's volume; JobSet is in `jobset-system`.
        config.setdefault("namespace", namespace)
    config.setdefault("leaderElection", {}).setdefault("resourceNamespace", namespace)
    return Localised(
        config=yaml.safe_dump(config, sort_keys=False),
        flags=tuple(a for a in arguments if not a.startswith("--config=")),
        ports={container_ports[name]: local[name] for name in container_ports},
    )


def without_visibility(flags: tuple[str, ...]) -> tuple[str, ...]:
    """The flags with the visibility server off, whatever other gates they set."""
    gates = [g for f in flags if f.startswith("--feature-gates=") for g in f.partition("=")[2].split(",") if g]
    gates = [g for g in gates if not g.startswith("VisibilityOnDemand=")] + ["VisibilityOnDemand=false"]
    return (*(f for f in flags if not f.startswith("--feature-gates=")), f"--feature-gates={','.join(gates)}")
