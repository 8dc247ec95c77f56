"""A VPC and a cluster that are there already, named by id: used, never created, changed or deleted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from tests.engine.conftest import stop
from tests.engine.project import Project

pytestmark = pytest.mark.engine

# What the embedded account had before any program; the ids stand in the simulator's account data.
VPC = "vpc-0e3bedded0000001a"
SUBNETS = {f"us-east-2{z}": f"subnet-0e3bedded00000{z}01" for z in "abc"}
SPEC = f"""\
extends: base
defaults: {{protect: false}}
sites:
  - name: use2
    kind: eks
    account: "000000000000"
    region: us-east-2
    vpc: {{id: {VPC}, subnets: {{us-east-2a: {SUBNETS["us-east-2a"]}, us-east-2b: {SUBNETS["us-east-2b"]}}}}}
    cluster: {{name: legacy}}
    addons:
      kueue: {{state: managed}}
      nvidia-device-plugin: {{state: managed}}
      efa-device-plugin: {{state: managed}}
pools:
  - {{name: pretrain, site: use2, chip: h100, cards: 16, runtime: pytorch}}
"""
NETWORK = ("Vpc", "Subnet", "InternetGateway", "NatGateway", "RouteTable", "Route", "Eip")


@pytest.fixture(scope="module")
def existing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose fleet names an existing VPC and cluster; both are there, nothing else is."""
    project = Project(tmp_path_factory.mktemp("existing") / "project")
    (project.folder / "stacks" / "fleets" / "single.yaml").write_text(SPEC)
    try:
        project.fleet("sim", "start")
        project.fleet("sim", "seed", "existing")
        yield project
    finally:
        stop(project)


def rows(project: Project) -> dict[tuple[str, str], tuple[str, ...]]:
    """Everything in the simulated cloud: (type, id) -> owner, state, inputs, outputs."""
    database = project.folder / ".fleet" / "sim" / "cloud.db"
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
        found = db.execute("SELECT type, id, owner, state, inputs, outputs FROM resources").fetchall()
    return {(row[0], row[1]): tuple(row[2:]) for row in found}


def test_nothing_in_an_existing_vpc_and_cluster_is_touched(existing: Project) -> None:
    before = rows(existing)
    existing.fleet("up", "--env", "single")
    after = rows(existing)
    assert {key: after.get(key) for key in before} == before
    made = {key[0].rpartition(":")[2] for key, row in after.items() if row[0] == "program"}
    print(sorted(made))
    assert made.isdisjoint({*NETWORK, "Cluster", "Addon"})
    assert "NodeGroup" in made
    assert "16/16" in existing.fleet("status", "--env", "single").stdout
    existing.pulumi("destroy", "--yes")
    assert rows(existing) == before


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (VPC, "vpc-0e3bedded0000001b", "sites[0].vpc.id: unknown vpc 'vpc-0e3bedded0000001b'; nearest: " + VPC),
        ("{name: legacy}", "{name: legasy}", "sites[0].cluster.name: unknown cluster 'legasy'; nearest: legacy"),
        (
            SUBNETS["us-east-2b"],
            SUBNETS["us-east-2c"],
            "sites[0].vpc.subnets.us-east-2b: subnet-0e3bedded00000c01 lies in us-east-2c",
        ),
    ],
)
def test_an_id_that_does_not_exist_is_named_before_anything_is_created(
    existing: Project, request: pytest.FixtureRequest, old: str, new: str, text: str
) -> None:
    existing.edit("fleets/single.yaml", old, new)
    request.addfinalizer(lambda: existing.edit("fleets/single.yaml", new, old))
    before = rows(existing)
    for command in ("preview", "up"):
        done = existing.pulumi(command, *(["--yes", "--skip-preview"] if command == "up" else []), ok=False)
        said = done.stdout + done.stderr
        print(said[-1500:])
        assert done.returncode != 0
        assert text in said
        assert "Traceback" not in said
    assert rows(existing) == before
