"""The Google provider's own settings: only projects of the embedded datacentre."""

from __future__ import annotations

import pytest

from accelerator_fleet_sim.core.rules import Rules
from accelerator_fleet_sim.core.values import UNKNOWN
from accelerator_fleet_sim.google.catalog import DATA
from accelerator_fleet_sim.google.config import ENVIRONMENT, GoogleCloud


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> GoogleCloud:
    for names in ENVIRONMENT.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    return GoogleCloud(Rules.load(DATA / "rules.json"))


def test_embedded_projects(cloud: GoogleCloud) -> None:
    assert cloud.check_config({"project": "embedded-research", "region": "us-central1"}, "") == []
    config = cloud.configure({"project": "embedded-research", "region": "us-central1", "defaultLabels": '{"a": "b"}'})
    assert config.scope["project"] == "embedded-research"
    assert config.scope["labels"] == {"a": "b"}


@pytest.mark.parametrize("project", [None, "", "research", "my-embedded-research"])
def test_all_others_are_refused(cloud: GoogleCloud, project: str | None) -> None:
    settings = {} if project is None else {"project": project}
    (key, reason), *_ = cloud.check_config(settings, "")
    assert key == "project"
    assert "embedded-*" in reason
    with pytest.raises(ValueError, match=r"embedded-\*"):
        cloud.configure(settings)


def test_the_environment_counts(cloud: GoogleCloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_PROJECT", "research")
    assert "research belongs to the real Google provider" in cloud.check_config({}, "")[0][1]


def test_unknown_settings(cloud: GoogleCloud) -> None:
    failures = cloud.check_config({"project": UNKNOWN, "regon": "us-central1"}, "")
    assert [f[0] for f in failures] == ["regon"]
    assert "nearest is 'region'" in failures[0][1]
