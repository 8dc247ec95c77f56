"""Fixtures of the simulated cloud."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sim.account import Account
from tests.sim.project import Project


@pytest.fixture
def account(tmp_path: Path) -> Iterator[Account]:
    """A new embedded account."""
    made = Account(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def net(account: Account) -> dict[str, Any]:
    """A VPC with subnets a, b and c."""
    return account.network()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A new embedded Google project."""
    made = Project(tmp_path)
    yield made
    made.store.close()
