"""The names that last for ever agree: distributions, imports, tokens, configuration, command."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import re
import tomllib
from pathlib import Path

import pulumi
import pytest
import yaml

import accelerator_fleet_components
from accelerator_fleet_components import (
    addons,
    aws_network,
    eks_cluster,
    eks_pool,
    existing_site,
    fleet,
    gke_cluster,
    gke_device_networks,
    gke_network,
    gke_pool,
    queues,
    tpu_queued_resource,
    volume,
    volume_claims,
)
from accelerator_fleet_components.tokens import PACKAGE

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "fleet": ("accelerator-fleet", "accelerator_fleet"),
    "components": ("accelerator-fleet-components", "accelerator_fleet_components"),
    "engine": ("accelerator-fleet-engine", "accelerator_fleet_engine"),
    "provider": ("accelerator-fleet-native", "accelerator_fleet_native"),
    "recover": ("accelerator-fleet-recover", "accelerator_fleet_recover"),
    "sim": ("accelerator-fleet-sim", "accelerator_fleet_sim"),
}
MODULES = (
    addons,
    aws_network,
    eks_cluster,
    eks_pool,
    existing_site,
    fleet,
    gke_cluster,
    gke_device_networks,
    gke_network,
    gke_pool,
    queues,
    tpu_queued_resource,
    volume,
    volume_claims,
)
COMPONENTS = [
    member
    for module in MODULES
    for _, member in inspect.getmembers(module, inspect.isclass)
    if issubclass(member, pulumi.ComponentResource) and member.__module__ == module.__name__
]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_one_distribution_with_one_import(room: str) -> None:
    distribution, package = ROOMS[room]
    project = tomllib.loads((ROOT / room / "pyproject.toml").read_text())
    assert project["project"]["name"] == distribution
    assert project["project"]["license"] == "Apache-2.0"
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [package]
    # The bare names of the rooms belong to others on PyPI: nothing importable may carry them.
    assert [p.name for p in (ROOT / room).iterdir() if (p / "__init__.py").is_file()] == [package]
    assert not (ROOT / room / "__init__.py").exists()


def test_the_provider_is_called_alike_everywhere(tmp_path: Path) -> None:
    from accelerator_fleet_engine.environment import NATIVE
    from accelerator_fleet_native import PACKAGE as OWN
    from accelerator_fleet_native import QUEUED_RESOURCE, VERSION
    from accelerator_fleet_native.commands import write
    from accelerator_fleet_native.schema import schema

    distribution, module = ROOMS["provider"]
    path = write(tmp_path)
    assert path == tmp_path / f"resource-{OWN}-v{VERSION}" / f"pulumi-resource-{OWN}"
    assert f"-m {module}.plugin" in path.read_text()
    # One on PATH would be taken instead, with a warning at every run.
    assert not importlib.metadata.entry_points(group="console_scripts", name=f"pulumi-resource-{OWN}")
    assert OWN == NATIVE == distribution == f"{PACKAGE}-native"
    assert importlib.metadata.version(distribution) == VERSION
    said = json.loads(schema())
    assert (said["name"], said["version"]) == (OWN, VERSION)
    assert list(said["resources"]) == [QUEUED_RESOURCE] == [f"{OWN}:index:QueuedResource"]


def test_the_command_is_fleet_and_comes_with_the_library() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="fleet")
    assert script.dist is not None
    assert script.dist.name == "accelerator-fleet"


def test_tokens_are_those_of_the_package() -> None:
    assert ROOMS["fleet"][0] == PACKAGE
    assert accelerator_fleet_components.Fleet in COMPONENTS
    for component in COMPONENTS:
        found = re.search(r'super\(\).__init__\(token\("(\w+)"\)', inspect.getsource(component))
        assert found is not None, component
        # The token is the class's own name: a renamed class would otherwise replace everything silently.
        assert found.group(1) == component.__name__


def test_configuration_is_in_the_namespace_fleet_and_default_providers_are_off() -> None:
    stacks = sorted((ROOT / "stacks").glob("Pulumi.*.yaml"))
    assert len(stacks) >= 4
    for stack in stacks:
        config = yaml.safe_load(stack.read_text())["config"]
        assert {key.partition(":")[0] for key in config} <= {"fleet", "pulumi"}, stack
        assert (ROOT / "stacks" / config["fleet:spec"]).is_file()
        assert config["pulumi:disable-default-providers"] == ["*"]


def test_the_project_file_names_no_plugin_and_no_backend() -> None:
    project = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
    assert project["name"] == PACKAGE
    assert project["main"] == project["stackConfigDir"] == "stacks"
    assert not {"plugins", "backend", "config"} & set(project)


def test_the_library_loads_no_pulumi() -> None:
    import subprocess
    import sys

    code = (
        "import sys, pkgutil, importlib, accelerator_fleet as a;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(a.__path__, 'accelerator_fleet.')];"
        "print([m for m in sys.modules if m.partition('.')[0] in ('pulumi', 'pulumi_aws', 'pulumi_kubernetes')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
