"""Cloud TPU: queued resources that bear the fleet's labels, and nodes that no queued resource asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from accelerator_fleet_recover.google.session import Project
from accelerator_fleet_recover.model import Item, Status

NODE: Final = "gcp:tpu/v2Vm:V2Vm"
QUEUED: Final = "accelerator-fleet-native:index:QueuedResource"
TYPES: Final = frozenset({QUEUED})


def _client(project: Project) -> Any:
    import grpc
    from google.cloud import tpu_v2
    from google.cloud.tpu_v2.services.tpu.transports.grpc import TpuGrpcTransport

    other = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", "")
    if other.startswith("http://"):  # a server without TLS
        options = [("grpc.enable_http_proxy", 0)]  # a proxy of the shell is for the internet
        channel = grpc.insecure_channel(other.removeprefix("http://").rstrip("/"), options=options)
        return tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel))
    return tpu_v2.TpuClient(credentials=project.credentials)


def nodes(project: Project) -> Iterator[Item]:
    """Nodes of all zones that stand by themselves: nothing of a program asks for them, so they are only shown."""
    for node in _client(project).list_nodes(parent=f"projects/{project.name}/locations/-"):
        labels = dict(node.labels)
        if project.owns(labels) and not node.queued_resource:
            yield Item(
                NODE, node.name, name=node.name.rpartition("/")[2], tags=labels, note=node.accelerator_type,
                created=node.create_time, provider=project.provider,
            )  # fmt: skip


def queued(project: Project, *, foreign: bool = False) -> Iterator[Item]:
    """Queued resources of all zones. They bear no labels; their nodes do, in the request already.

    A FAILED or SUSPENDED one is what was asked for, and belongs: it is asked for again on request only. `foreign`: the
    program has no provider for them, so that they are only shown.
    """
    for found in _client(project).list_queued_resources(parent=f"projects/{project.name}/locations/-"):
        specs = list(found.tpu.node_spec)
        labels = dict(specs[0].node.labels) if specs else {}
        if not project.owns(labels):
            continue
        state = found.state.state.name
        status: Status = "foreign" if foreign else "going" if state == "DELETING" else "there"
        kinds = ", ".join(f"{max(int(s.multislice_params.node_count), 1)} x {s.node.accelerator_type}" for s in specs)
        yield Item(
            QUEUED, found.name, name=found.name.rpartition("/")[2], tags=labels, status=status,
            keys={"zone": found.name.split("/")[3]}, note=f"{kinds}, {state}", created=found.create_time,
            provider=project.provider,
        )  # fmt: skip
