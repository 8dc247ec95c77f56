"""What `fleet recover` finds through Google's own APIs: every thing of the types it covers, by the state's ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accelerator_fleet_engine.endpoints import CREDENTIALS, GOOGLE_ROOTS
from accelerator_fleet_recover.google.inventory import TYPES, Inventory
from accelerator_fleet_recover.google.session import Project as Session
from accelerator_fleet_recover.model import Item, Wanted
from tests.sim.api_project import asking, world
from tests.sim.project import PROJECT, REGION, Project

PROVIDER = "urn:pulumi:t::p::pulumi:providers:gcp::usc1"


def states(project: Project) -> list[Wanted]:
    """Every resource as a state has it."""
    return [
        Wanted({"urn": f"urn:pulumi:t::p::{r.type}::{n}", "type": r.type, "id": r.id, "inputs": r.inputs,
                "outputs": r.outputs, "provider": f"{PROVIDER}::x"})
        for n, r in enumerate(project.store.resources(cloud="gcp")) if r.type in TYPES
    ]  # fmt: skip


@pytest.fixture
def found(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Wanted], list[Item]]:
    with asking(project, tmp_path) as ask:
        world(project)
        for operation in project.store.running():
            project.operations.end(operation.id)
        for name, root in GOOGLE_ROOTS.items():
            monkeypatch.setenv(f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name.upper()}", f"{ask.url}/{root}")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / CREDENTIALS))
        inputs: dict[str, Any] = {"project": PROJECT, "region": REGION, "defaultLabels": json.dumps({"fleet": "accel"})}
        made = states(project)
        return made, list(Inventory(Session(PROVIDER, inputs), made).items())


def test_everything_of_a_project_is_found_by_its_id(found: tuple[list[Wanted], list[Item]]) -> None:
    state, items = found
    ids = {(i.type, one) for i in items for one in i.ids}
    labelled = {"gcp:filestore/instance:Instance", "gcp:lustre/instance:Instance"}
    missing = [(w.type, w.state["id"]) for w in state if (w.type, w.state["id"]) not in ids]
    assert [m for m in missing if m[0] not in labelled] == []
    assert len({w.type for w in state}) >= 8


def test_every_thing_says_who_reaches_it(found: tuple[list[Wanted], list[Item]]) -> None:
    _, items = found
    assert {i.type for i in items} <= TYPES
    assert all(i.provider == PROVIDER for i in items)
