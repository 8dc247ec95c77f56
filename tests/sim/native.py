"""The toolkit's own provider in this process, against a queue whose time runs fast by itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from pulumi.runtime.proto import provider_pb2

from accelerator_fleet_native.client import OVERRIDE
from accelerator_fleet_native.servicer import Servicer
from accelerator_fleet_native.values import from_struct, to_struct
from accelerator_fleet_sim.apis.google.access import Access
from accelerator_fleet_sim.apis.google.tpu import TpuServer
from tests.sim.project import PROJECT, ZONE, Project

pb: Any = provider_pb2
URN = "urn:pulumi:s::p::accelerator-fleet-native:index:QueuedResource::tpu"
ID = f"projects/{PROJECT}/locations/{ZONE}/queuedResources/qr"


class Aborted(Exception):
    """What the engine was told instead of an answer; `detail`: what it is to remember."""

    detail: Any = None


class Context:
    """What gRPC hands a method."""

    def __init__(self) -> None:
        self.trailing: dict[str, bytes] = {}

    def set_trailing_metadata(self, pairs: Any) -> None:
        self.trailing = dict(pairs)

    def abort(self, code: Any, text: str) -> None:
        error = Aborted(f"{code.name}: {text}")
        if self.trailing:
            from google.rpc import status_pb2

            status: Any = status_pb2.Status.FromString(self.trailing["grpc-status-details-bin"])
            error.detail = pb.ErrorResourceInitFailed()
            status.details[0].Unpack(error.detail)
        raise error


class Native:
    """One configured provider."""

    def __init__(self, project: Project) -> None:
        self.project, self.servicer = project, Servicer()
        project.network()
        asked = pb.ConfigureRequest()
        to_struct({"project": PROJECT, "defaultLabels": '{"fleet": "x"}'}, asked.args)
        self.servicer.Configure(asked, Context())

    def inputs(self, olds: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        """Checked inputs; AssertionError with what is wrong."""
        news = {"queuedResourceId": "qr", "zone": ZONE, "acceleratorType": "v5litepod-16", "network": "net",
                "runtimeVersion": "v2-alpha-tpuv5-lite", "subnetwork": "sub", **more}  # fmt: skip
        asked = pb.CheckRequest(urn=URN, randomSeed=b"0123456789abcdef")
        to_struct(olds or {}, asked.olds)
        to_struct({k: v for k, v in news.items() if v is not None}, asked.news)
        answer = self.servicer.Check(asked, Context())
        assert not answer.failures, "; ".join(f"{f.property}: {f.reason}" for f in answer.failures)
        return from_struct(answer.inputs)

    def create(self, preview: bool = False, **more: Any) -> dict[str, Any]:
        """Outputs of a new one."""
        asked = pb.CreateRequest(urn=URN, preview=preview, timeout=20)
        to_struct(self.inputs(**more), asked.properties)
        return from_struct(self.servicer.Create(asked, Context()).properties)

    def diff(self, old: dict[str, Any], new: dict[str, Any]) -> Any:
        asked = pb.DiffRequest(urn=URN, id=ID)
        to_struct(old, asked.old_inputs)
        to_struct(new, asked.news)
        return self.servicer.Diff(asked, Context())

    def update(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        asked = pb.UpdateRequest(urn=URN, id=ID, timeout=20)
        to_struct(old, asked.old_inputs)
        to_struct(new, asked.news)
        return from_struct(self.servicer.Update(asked, Context()).properties)

    def read(self, inputs: dict[str, Any] | None = None, identity: str = ID) -> Any:
        asked = pb.ReadRequest(urn=URN, id=identity)
        to_struct(inputs or {}, asked.inputs)
        return self.servicer.Read(asked, Context())

    def delete(self, identity: str = ID) -> None:
        self.servicer.Delete(pb.DeleteRequest(urn=URN, id=identity, timeout=20), Context())


@contextmanager
def native(project: Project, folder: Path, speed: float = 600) -> Iterator[Native]:
    """A provider whose Cloud TPU is the project's."""
    server = TpuServer(0, project.world, Access(folder, project.world), print, project.control.queued)
    server.start()
    project.clock.set_speed(speed)
    project.operations.start()
    with mock.patch.dict("os.environ", {OVERRIDE: f"http://127.0.0.1:{server.port}/"}):
        yield Native(project)
    project.operations.stop()
    server.close()
    assert threading.active_count() < 200
