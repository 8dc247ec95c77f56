"""One embedded datacentre with `single` up, shared by the tests that only look or undo what they change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.project import Project


@pytest.fixture(scope="session")
def single(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project whose environment single is up: one EKS cluster with H100 nodes."""
    project = Project(tmp_path_factory.mktemp("single") / "project")
    try:
        project.fleet("up", "--env", "single")
        yield project
    finally:
        stop(project)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Project]:
    """A project with nothing up."""
    project = Project(tmp_path / "project")
    try:
        yield project
    finally:
        stop(project)


def stop(project: Project) -> None:
    """Ends the project's datacentre; a test that fails leaves no process behind."""
    if os.environ.get("KEEP_DATACENTRE"):  # to look at it after a failure
        return
    project.fleet("sim", "reset", ok=False)
