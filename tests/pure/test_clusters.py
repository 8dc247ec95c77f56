"""What people are told when a stack is not there or its cluster does not answer."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
from lightkube.core.exceptions import ConfigError

from accelerator_fleet import clusters
from accelerator_fleet.errors import FleetError


def answers(monkeypatch: pytest.MonkeyPatch, code: int, stdout: str, stderr: str) -> None:
    def run(*words: Any, **how: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, code, stdout, stderr)

    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.parametrize(
    ("env", "stderr", "text"),
    [
        ("dev", "error: no stack named 'dev' found", "dev: nothing is up; `make up ENV=dev` brings it up"),
        ("dev", 'error: unable to open state directory "file:///x": stat /x: no such', "dev: nothing is up; `make up"),
        ("prod", "error: no stack named 'prod' found", "prod: unknown stack 'prod'; nearest: prod-"),
        ("dev", "error: incorrect passphrase", "dev: the stack's outputs cannot be read: incorrect passphrase"),
    ],
)
def test_a_stack_that_is_not_there(monkeypatch: pytest.MonkeyPatch, env: str, stderr: str, text: str) -> None:
    answers(monkeypatch, 1, "", stderr)
    with pytest.raises(FleetError) as told:
        clusters.outputs(env)
    assert str(told.value).startswith(text)


def test_a_stack_with_nothing_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, 0, "{}", "")
    with pytest.raises(FleetError, match="nothing is up"):
        clusters.outputs("dev")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "Exec aws returned 254: aws: the embedded datacentre of /x is not running; start it with: fleet sim start",
            "dev: the embedded datacentre of /x is not running; start it with: fleet sim start",
        ),
        ("refused", "dev: no answer from the cluster (refused); `fleet sim status` says what runs"),
    ],
)
def test_a_cluster_that_does_not_answer(said: str, text: str) -> None:
    with pytest.raises(FleetError) as told, clusters.reached("dev"):
        raise ConfigError(said)
    assert str(told.value) == text
