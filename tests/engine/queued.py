"""A few lines of a program with queued resources, on an embedded datacentre with a network and without any cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

from tests.engine.crashes import victims
from tests.engine.project import Project

ENV = "small"
KIND = "accelerator-fleet-native:index:QueuedResource"
STORED = "gcp:tpu/v2QueuedResource:V2QueuedResource"
PLACE = "projects/embedded-small/locations/us-central1-a"
PROGRAM = """
import json, pathlib
import pulumi
from accelerator_fleet_components import adoption
from accelerator_fleet_native.sdk import Provider, QueuedResource

adoption.register()
labels = {"fleet": "accel", "environment": "small", "site": "usc1"}
own = Provider("tpu", project="embedded-small", region="us-central1", default_labels=labels)
pools = {}
for name, args in json.loads((pathlib.Path(__file__).parent / "wanted.json").read_text()).items():
    patience = pulumi.CustomTimeouts(create=args.pop("patience", "2m"))
    opts = pulumi.ResourceOptions(provider=own, custom_timeouts=patience)
    made = QueuedResource(name, network="net", subnetwork="sub", **args, opts=opts)
    pools[name] = {"id": made.name, "state": made.state, "nodes": made.nodes}
pulumi.export("pools", pools)
"""
SPEC = """fleet: accel
tags: {owner: ml, cost-center: "1"}
sites:
  - {name: usc1, kind: gke, project: embedded-small, region: us-central1, cidr: 10.20.0.0/14}
pools: []
"""


def slice_of(identity: str, **more: Any) -> dict[str, Any]:
    """A request of one v5litepod-16."""
    return {"queued_resource_id": identity, "zone": "us-central1-a", "accelerator_type": "v5litepod-16",
            "runtime_version": "v2-alpha-tpuv5-lite", **more}  # fmt: skip


class Small:
    """The program, with what it wants in a file."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.add(ENV, SPEC)
        (project.folder / "stacks" / "__main__.py").write_text(PROGRAM)
        self.want({})
        project.shell(ENV)  # starts the datacentre
        self.make("compute/network:Network", name="net", autoCreateSubnetworks=False)
        self.make("compute/subnetwork:Subnetwork", name="sub", network="net", region="us-central1",
                  ipCidrRange="10.1.0.0/20")  # fmt: skip

    def make(self, kind: str, **inputs: Any) -> None:
        """Something that is there before the program."""
        from accelerator_fleet_sim.client import Client

        client = Client(self.project.folder / ".fleet" / "sim")
        call = {"type": f"gcp:{kind}", "inputs": inputs, "project": "embedded-small", "region": "us-central1"}
        made = client.post("/gcp/create", {**call, "zone": "", "labels": {}, "attribution": True})
        client.finish(made["operation"])

    def want(self, wanted: dict[str, dict[str, Any]]) -> None:
        (self.project.folder / "stacks" / "wanted.json").write_text(json.dumps(wanted))

    def pulumi(self, *words: str, ok: bool = True) -> str:
        done = self.project.pulumi(*words, env=ENV, ok=ok)
        return done.stdout + done.stderr

    def up(self, wanted: dict[str, dict[str, Any]] | None = None, ok: bool = True) -> str:
        """`pulumi up`; what it said."""
        if wanted is not None:
            self.want(wanted)
        return self.pulumi("up", "--yes", "--skip-preview", ok=ok)

    def ops(self) -> dict[str, str]:
        """Logical name -> what a preview would do with each queued resource."""
        return {s["urn"].rpartition("::")[2]: s["op"] for s in self.project.preview(ENV) if KIND in s["urn"]}

    def state(self) -> dict[str, dict[str, Any]]:
        """Logical name -> the entry of the state, of queued resources."""
        found = json.loads(self.project.pulumi("stack", "export", env=ENV).stdout)["deployment"]["resources"]
        return {r["urn"].rpartition("::")[2]: r for r in found if r["type"] == KIND}

    def cloud(self) -> dict[str, str]:
        """Short id -> state, of everything in the cloud."""
        found = self.sim(f"/gcp/resources?type={STORED}")
        return {r["id"].rpartition("/")[2]: str(r["hidden"]["state"]) for r in found}

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Short id -> node as the cloud has it."""
        found = self.sim("/gcp/resources?type=gcp:tpu/v2Vm:V2Vm")
        return {r["id"].rpartition("/")[2]: r["outputs"] for r in found}

    def sim(self, path: str) -> Any:
        from accelerator_fleet_sim.client import Client

        return Client(self.project.folder / ".fleet" / "sim").get(path)

    def fault(self, *words: str) -> None:
        self.project.fleet("sim", "fault", *words)

    def wait(self, identity: str, state: str, seconds: float = 30) -> None:
        """Until a queued resource is in a state."""
        end = time.monotonic() + seconds
        while self.cloud().get(identity) != state:
            assert time.monotonic() < end, f"{identity}: {self.cloud().get(identity)}, not {state}"
            time.sleep(0.1)

    def killed_while_it_asks(self, identity: str) -> None:
        """`pulumi up`, and the engine and its providers are killed once the cloud has the request."""
        engine = subprocess.Popen(
            ["pulumi", "up", "--yes", "--skip-preview", "--stack", ENV, "--non-interactive"],
            cwd=self.project.folder, env=self.project.shell(ENV), start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        end = time.monotonic() + 60
        while identity not in self.cloud():
            assert engine.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        for pid in [engine.pid, *victims(engine.pid, "native")]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        engine.wait(timeout=60)
        self.project.pulumi("cancel", "--yes", env=ENV, ok=False)
