"""Every bad file ends in exactly the text beside it, with path and nearest valid value, before anything is created.

`RECORD_GOLDENS=1 pytest tests/pure/test_bad_input.py` writes the texts anew; they are read in review.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from accelerator_fleet import catalog, spec
from accelerator_fleet.errors import FleetError
from accelerator_fleet.plan import plan

BAD = Path(__file__).parents[1] / "bad"
FILES = sorted(p for p in BAD.glob("*.yaml") if not p.name.startswith("_"))
SEVERAL = {"several"}  # the one file with more than one mistake


def message(path: Path) -> str:
    with pytest.raises(FleetError) as found:
        plan(spec.load(path), catalog.load())
    return f"{found.value}\n"


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_the_exact_text(path: Path) -> None:
    text = message(path)
    expected = path.with_suffix(".txt")
    if os.environ.get("RECORD_GOLDENS"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_one_line_with_its_place(path: Path) -> None:
    lines = message(path).splitlines()
    if path.stem not in SEVERAL:
        assert len(lines) == 1
    for line in lines:
        assert line.startswith("bad/")
        assert "pydantic" not in line
        assert "Error" not in line


def test_no_text_without_its_file() -> None:
    assert {p.stem for p in BAD.glob("*.txt")} == {p.stem for p in FILES}


def test_no_secret_is_repeated() -> None:
    for path in FILES:
        if path.stem.startswith("secret"):
            text = message(path)
            assert not any(word in text for word in ("AKIA", "hunter2", "wJalr", "OPENSSH"))


def test_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f" {len(FILES)} bad files, each with its exact text ", end="")
    assert len(FILES) >= 60
