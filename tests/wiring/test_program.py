"""The program of a stack: what is wrong in a spec is told once, in its own words."""

from __future__ import annotations

from pathlib import Path

import pulumi
import pytest

from accelerator_fleet_components import program

BAD = Path(__file__).parents[1] / "bad"


def test_a_mistake_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(pulumi.log, "error", told.append)
    monkeypatch.setattr(pulumi.Config, "require", lambda config, key: "twelve-cards.yaml")
    with pytest.raises(SystemExit) as end:
        program.run(BAD)
    assert end.value.code == program.SHOWN_ALREADY
    assert told == [(BAD / "twelve-cards.txt").read_text(encoding="utf-8").strip()]
