"""States of earlier programs, previewed by this one: what exists is neither replaced, nor deleted and made again.

The clouds are empty: a preview compares what the state says with what the program wants and asks no cloud, so that the
state alone decides. What it cannot see is what the server would say to a change; so no change is expected at all, but
the ones listed here with their reason.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine import states
from tests.engine.conftest import stop
from tests.engine.project import ROOT, Project

pytestmark = pytest.mark.engine

COMPONENTS = ROOT / "components" / "accelerator_fleet_components"
NEW_PLUGIN = "the Neuron device plugin, without which the nodes of a Trainium pool showed no cards"
NETWORKS = "the objects by which pods reach the further networks of A3 and A4"
# State -> what a later program makes that was not there, by the end of its URN, and why.
CREATED: dict[str, dict[str, str]] = {
    "before-google": {
        f"{kind}::use2-neuron-device-plugin": NEW_PLUGIN
        for kind in (
            "kubernetes:core/v1:ServiceAccount",
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            "kubernetes:apps/v1:DaemonSet",
        )
    },
    "every-site": {"accelerator-fleet:index:GkeDeviceNetworks::usc1": NETWORKS}
    | {
        f"kubernetes:networking.gke.io/v1:{kind}::usc1-gvnic-{i}{end}": NETWORKS
        for kind, end in (("Network", ""), ("GKENetworkParamSet", "-params"))
        for i in range(4)
    },
}
# State -> what a later program changes in place, by the end of its URN -> (property paths, why).
MINIMAL = "what a later upgrade of nodes does first; it touches no node that is up"
GROUPS = {
    f"aws:eks/nodeGroup:NodeGroup::{pool}": ({"updateConfig.updateStrategy"}, MINIMAL)
    for pool in ("pretrain", "trn", "serve")
}
UPDATED: dict[str, dict[str, tuple[set[str], str]]] = {"before-google": GROUPS, "every-site": GROUPS}

# One child of each provider: (file, what is made, its name in the program, another name).
RENAMED = (
    ("eks_pool.py", "ec2.SecurityGroup", 'f"{self._name}-efa"', 'f"{self._name}-fabric"'),
    ("gke_network.py", "compute.Firewall", 'f"{self._name}-{key}"', 'f"{self._name}-allow-{key}"'),
    ("queues.py", "CustomResource", 'f"{self._name}-{kind.lower()}-{name}"', 'f"{self._name}-{kind}-{name}"'),
)


@pytest.fixture(scope="module")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Project]]:
    """A project with a recorded state, one for each; the existing cluster `lab` is there."""
    made: dict[str, Project] = {}

    def get(name: str) -> Project:
        if name not in made:
            made[name] = project = Project(tmp_path_factory.mktemp(name) / "project")
            states.lay(name, project)
            if "existing" in (states.STATES / f"{name}.yaml").read_text():
                project.fleet("sim", "start")
                project.fleet("sim", "seed", "lab")
        return made[name]

    yield get
    for project in made.values():
        stop(project)


def steps(project: Project, path: str = "") -> list[dict[str, Any]]:
    """What a preview would do, told by the ends of URNs; `path` is a PYTHONPATH for the program."""
    done = project.pulumi("preview", "--json", env=states.ENV, PYTHONPATH=path)
    return [
        {"op": s["op"], "what": s["urn"].rpartition("$")[2], "paths": set(s.get("detailedDiff") or {})}
        for s in json.loads(done.stdout)["steps"]
        if s["op"] not in {"same", "read"}
    ]


@pytest.mark.parametrize("name", sorted(CREATED))
def test_nothing_that_exists_is_replaced(laid: Callable[[str], Project], name: str) -> None:
    found = steps(laid(name))
    for step in found:
        why = CREATED[name].get(step["what"]) or UPDATED[name].get(step["what"], (None, ""))[1]
        print(f"{step['op']} {step['what']} {sorted(step['paths'])}: {why or 'UNEXPECTED'}")
    assert {s["op"] for s in found} <= {"create", "update"}
    assert {s["what"] for s in found if s["op"] == "create"} == set(CREATED[name])
    assert {s["what"]: s["paths"] for s in found if s["op"] == "update"} == {k: v[0] for k, v in UPDATED[name].items()}


def test_every_recorded_state_is_previewed() -> None:
    assert {p.name.removesuffix(".json.gz") for p in states.STATES.glob("*.json.gz")} == set(CREATED)
    assert {p.stem for p in states.STATES.glob("*.yaml")} == set(CREATED)


def copied(folder: Path, *, aliases: bool) -> str:
    """A copy of the components whose children have other names; the PYTHONPATH by which a program finds it first."""
    shutil.copytree(COMPONENTS, folder / COMPONENTS.name, ignore=shutil.ignore_patterns("__pycache__"))
    for file, what, old, new in RENAMED:
        path = folder / COMPONENTS.name / file
        text = path.read_text()
        call = f"{what}(\n            {old},"
        assert text.count(call) == 1, f"{call!r} stands {text.count(call)} times in {file}"
        before, after = text.split(call)
        if aliases:
            head, rest = after.split("opts=", 1)
            options, tail = rest.split(",\n", 1)
            more = f"pulumi.ResourceOptions(aliases=[pulumi.Alias(name={old})])"
            after = f"{head}opts=pulumi.ResourceOptions.merge({options}, {more}),\n{tail}"
        path.write_text(f"{before}{what}(\n            {new},{after}")
    return str(folder)


@pytest.mark.slow
def test_a_renamed_child_with_an_alias_is_the_same(laid: Callable[[str], Project], tmp_path: Path) -> None:
    found = steps(laid("every-site"), copied(tmp_path, aliases=True))
    assert [s for s in found if s["what"] not in CREATED["every-site"]] == []


@pytest.mark.slow
def test_a_renamed_child_without_an_alias_is_seen(laid: Callable[[str], Project], tmp_path: Path) -> None:
    """The test above proves nothing unless this one sees what an alias prevents."""
    found = steps(laid("every-site"), copied(tmp_path, aliases=False))
    ends = {op: {s["what"] for s in found if s["op"] == op} for op in ("create", "delete")}
    for gone, made in (
        ("aws:ec2/securityGroup:SecurityGroup::pretrain-efa", "aws:ec2/securityGroup:SecurityGroup::pretrain-fabric"),
        ("Firewall::accel-dev-usc1-internal", "Firewall::accel-dev-usc1-allow-internal"),
        ("ClusterQueue::use2-clusterqueue-fleet", "ClusterQueue::use2-ClusterQueue-fleet"),
    ):
        assert any(what.endswith(gone) for what in ends["delete"]), gone
        assert any(what.endswith(made) for what in ends["create"]), made
