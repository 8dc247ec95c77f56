"""The language host behaves as Pulumi's own does: preview, up, refresh, destroy, errors, a clean end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.scratch import Scratch

pytestmark = pytest.mark.engine

PROGRAM = """
import sys
import pulumi
pulumi.ComponentResource("test:index:Thing", "one")
pulumi.export("greeting", pulumi.Config().get("greeting") or "none")
pulumi.export("secret", pulumi.Config().get_secret("secret"))
pulumi.export("python", sys.prefix)
print("a line of the program")
"""


def until(what: Callable[[], bool], seconds: float = 15) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.1)
    return what()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie is an ended process that nobody has asked about.
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_the_whole_life_of_a_stack(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, PROGRAM)
    preview = scratch.pulumi("preview", "--stack", "dev")
    assert "+ 2 to create" in preview
    assert "a line of the program" in preview
    scratch.pulumi("config", "set", "greeting", "hello, 世界", "--stack", "dev")
    scratch.pulumi("config", "set", "--secret", "secret", "s3cret", "--stack", "dev")
    up = scratch.pulumi("up", "--yes", "--stack", "dev")
    assert "+ 2 created" in up
    assert "warning" not in up
    outputs = json.loads(scratch.pulumi("stack", "output", "--json", "--stack", "dev"))
    assert outputs["greeting"] == "hello, 世界"
    assert outputs["secret"] == "[secret]"
    assert outputs["python"] == str(scratch.folder / ".venv")
    assert "s3cret" not in (scratch.folder / ".fleet/state/.pulumi/stacks/accelerator-fleet/dev.json").read_text()
    assert "2 unchanged" in scratch.pulumi("refresh", "--yes", "--stack", "dev")
    about = scratch.pulumi("about")
    assert "language  python" in about
    assert str(scratch.folder / ".venv/bin/python") in about
    assert "pulumi-kubernetes" in about
    assert "- 2 deleted" in scratch.pulumi("destroy", "--yes", "--stack", "dev")


def test_a_failing_program_shows_its_own_lines_only(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, "def deep():\n    raise ValueError('twelve cards')\ndeep()\n")
    output = scratch.pulumi("preview", "--stack", "dev", ok=False)
    assert "ValueError: twelve cards" in output
    assert "stacks/__main__.py" in output
    assert "runpy" not in output
    scratch.write("import sys\nsys.exit(3)\n")
    assert "exit" in scratch.pulumi("preview", "--stack", "dev", ok=False)


def test_a_missing_virtual_environment_is_named(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, PROGRAM)
    (scratch.folder / ".venv").unlink()
    assert "+ 2 to create" in scratch.pulumi("preview", "--stack", "dev")  # the shell's own
    del scratch.env["ACCELERATOR_FLEET_PYTHON"]
    output = scratch.pulumi("preview", "--stack", "dev", ok=False)
    assert "runtime.options.virtualenv" in output
    assert "make setup" in output


def calls(proxy: socket.socket, process: subprocess.Popen[str]) -> int:
    """How often somebody called while the process ran; it must end well."""
    count = 0
    proxy.settimeout(0.2)
    while process.poll() is None:
        with contextlib.suppress(TimeoutError):
            proxy.accept()[0].close()
            count += 1
    assert process.returncode == 0, process.communicate()[0]
    return count


def test_an_sdk_whose_provider_is_not_installed_does_not_send_the_engine_to_the_network(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, PROGRAM)
    for plugin in (scratch.folder / ".fleet/pulumi/plugins").glob("resource-aws-*"):
        shutil.rmtree(plugin)
    # Even where the engine may fetch plugins. It would only log that it failed, so who calls the proxy is what counts.
    del scratch.env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"]
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        scratch.env.update(HTTPS_PROXY=address, HTTP_PROXY=address)
        assert calls(proxy, scratch.start("preview", "--stack", "dev")) == 0
    assert "aws" not in scratch.pulumi("plugin", "ls")


SLEEPER = """
import os, pathlib, subprocess, time
pathlib.Path("pid").write_text(f"{os.getpid()} {os.getppid()} {subprocess.Popen(['sleep', '300']).pid}")
time.sleep(300)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "killed"])
def test_program_and_host_end_with_the_engine(tmp_path: Path, number: signal.Signals) -> None:
    scratch = Scratch(tmp_path, SLEEPER)
    process = scratch.start("preview", "--stack", "dev")
    note = scratch.folder / "stacks" / "pid"
    try:
        assert until(lambda: note.exists() and len(note.read_text().split()) == 3, 30)
        pids = [int(pid) for pid in note.read_text().split()]
        assert os.getsid(pids[0]) == pids[0] != os.getsid(pids[1])  # the program has a session of its own
        assert all(alive(pid) for pid in pids)
        process.send_signal(number)
        process.communicate(timeout=30)
        assert until(lambda: not any(alive(pid) for pid in pids)), [p for p in pids if alive(p)]
    finally:
        process.kill()


MANIFESTS = """
import os
import pulumi
import pulumi_kubernetes as k8s
provider = k8s.Provider("render", render_yaml_to_directory="rendered")
alone = pulumi.ResourceOptions(provider=provider)
k8s.core.v1.ConfigMap("plain", metadata={"name": "plain"}, data={"cards": "16"}, opts=alone)
for name in ("kueue", "nvidia-device-plugin"):
    chart = os.path.join(os.environ["ACCELERATOR_FLEET_CHARTS"], name)
    k8s.helm.v4.Chart(name, chart=chart, namespace="system", opts=alone)
"""


def test_the_real_kubernetes_provider_renders_the_vendors_charts_without_a_registry(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, MANIFESTS)
    # No registry answers here: a chart whose dependencies were not all in its folder would fail.
    scratch.env.update(HTTPS_PROXY="http://127.0.0.1:9", HTTP_PROXY="http://127.0.0.1:9", HELM_CACHE_HOME=str(tmp_path))
    # A provider that renders to a folder refuses a kubeconfig, and a prepared shell has one.
    scratch.env.pop("KUBECONFIG", None)
    scratch.pulumi("up", "--yes", "--skip-preview", "--stack", "dev")
    rendered = "\n".join(p.read_text() for p in (scratch.folder / "stacks" / "rendered").rglob("*.yaml"))
    assert "kind: ConfigMap" in rendered
    assert "nvcr.io/nvidia/k8s-device-plugin:v0.19.0" in rendered
    assert "name: kueue-controller-manager" in rendered
    assert "clusterqueues.kueue.x-k8s.io" in rendered


COMPONENT = """
import pulumi
from typing import TypedDict
from pulumi.provider.experimental import component_provider_host

class PoolArgs(TypedDict):
    cards: pulumi.Input[int]

class Pool(pulumi.ComponentResource):
    cards: pulumi.Output[int]
    def __init__(self, name: str, args: PoolArgs, opts: pulumi.ResourceOptions | None = None):
        super().__init__("pools:index:Pool", name, {}, opts)
        self.cards = pulumi.Output.from_input(args["cards"])
        self.register_outputs({"cards": self.cards})

component_provider_host(name="pools", components=[Pool])
"""


def test_a_component_package_in_python_answers_with_its_schema(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path, PROGRAM)
    package = scratch.folder / "pools"
    package.mkdir()
    (package / "PulumiPlugin.yaml").write_text("runtime:\n  name: python\n  options: {virtualenv: ../.venv}\n")
    (package / "__main__.py").write_text(COMPONENT)
    schema = json.loads(scratch.pulumi("package", "get-schema", "./pools"))
    assert schema["resources"]["pools:index:Pool"]["inputProperties"]["cards"]["type"] == "integer"
