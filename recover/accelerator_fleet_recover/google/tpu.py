"""Cloud TPU nodes that bear the fleet's labels: nothing of a program asks for them, so they are only shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from accelerator_fleet_recover.google.session import Project
from accelerator_fleet_recover.model import Item

NODE = "gcp:tpu/v2Vm:V2Vm"


def items(project: Project) -> Iterator[Item]:
    """TPU nodes of all zones."""
    import grpc
    from google.cloud import tpu_v2
    from google.cloud.tpu_v2.services.tpu.transports.grpc import TpuGrpcTransport

    other = os.environ.get("CLOUDSDK_API_ENDPOINT_OVERRIDES_TPU", "")
    if other.startswith("http://"):  # a server without TLS
        channel = grpc.insecure_channel(other.removeprefix("http://").rstrip("/"))
        client = tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel))
    else:
        client = tpu_v2.TpuClient(credentials=project.credentials)
    for node in client.list_nodes(parent=f"projects/{project.name}/locations/-"):
        labels = dict(node.labels)
        if project.owns(labels):
            yield Item(
                NODE, node.name, name=node.name.rpartition("/")[2], tags=labels, note=node.accelerator_type,
                created=node.create_time, provider=project.provider,
            )  # fmt: skip
