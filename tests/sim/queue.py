"""Cloud TPU's API of an embedded project, asked through google-cloud-tpu, with time moved by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuGrpcTransport

from accelerator_fleet_sim.apis.google.access import Access
from accelerator_fleet_sim.apis.google.tpu import TpuServer
from accelerator_fleet_sim.google.queued.service import OPERATIONS
from tests.sim.project import PROJECT, ZONE, Project

PARENT = f"projects/{PROJECT}/locations/{ZONE}"


class Queue:
    """One zone's queue."""

    def __init__(self, project: Project, client: Any) -> None:
        self.project, self.client = project, client
        project.network()

    def request(self, node_id: str = "one", **more: Any) -> dict[str, Any]:
        """A request of one v5litepod-16; `node` and other keywords are added or replaced."""
        node = {
            "accelerator_type": "v5litepod-16", "runtime_version": "v2-alpha-tpuv5-lite",
            "network_config": {"network": "net", "subnetwork": "sub"}, **more.pop("node", {}),
        }  # fmt: skip
        names = more.pop("names", {"node_id": node_id})
        spec = {"parent": PARENT, "node": {k: v for k, v in node.items() if v is not None}, **names}
        return {"tpu": {"node_spec": [spec]}, **more}

    def create(self, identity: str = "qr", parent: str = PARENT, **request: Any) -> Any:
        """The operation of a create."""
        asked = tpu_v2.CreateQueuedResourceRequest(
            parent=parent, queued_resource_id=identity, request_id=request.pop("request_id", ""),
            queued_resource=self.request(**request),
        )  # fmt: skip
        return self.client.create_queued_resource(asked)

    def get(self, identity: str = "qr") -> Any:
        return self.client.get_queued_resource(name=f"{PARENT}/queuedResources/{identity}")

    def state(self, identity: str = "qr") -> str:
        return str(self.get(identity).state.state.name)

    def delete(self, identity: str = "qr", force: bool = False) -> Any:
        asked = tpu_v2.DeleteQueuedResourceRequest(name=f"{PARENT}/queuedResources/{identity}", force=force)
        return self.client.delete_queued_resource(asked)

    def step(self) -> None:
        """The next thing that is due happens."""
        found = [o for o in self.project.store.running() if o.cloud == OPERATIONS]
        first = min(found, key=lambda o: o.due)
        clock = self.project.clock
        clock._base += max(0.0, first.due - clock.now())
        self.project.operations.end(first.id)

    def run(self, steps: int = 40) -> None:
        """Until nothing is due, or so many steps."""
        for _ in range(steps):
            if not [o for o in self.project.store.running() if o.cloud == OPERATIONS]:
                return
            self.step()

    def states(self, identity: str = "qr", steps: int = 12) -> list[str]:
        """The states that it goes through, each once."""
        seen = [self.state(identity)]
        for _ in range(steps):
            if not [o for o in self.project.store.running() if o.cloud == OPERATIONS]:
                break
            self.step()
            now = self.state(identity)
            seen += [now] if now != seen[-1] else []
        return seen


@contextmanager
def queue(project: Project, folder: Path) -> Iterator[Queue]:
    """A queue of the project."""
    server = TpuServer(0, project.world, Access(folder, project.world), print, project.control.queued)
    server.start()
    channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    try:
        yield Queue(project, tpu_v2.TpuClient(transport=TpuGrpcTransport(channel=channel)))
    finally:
        channel.close()
        server.close()
