"""The atheris program: its options are libFuzzer's. Run by `python -m tests.fuzz`."""

from __future__ import annotations

import sys
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

with atheris.instrument_imports(include=["accelerator_fleet", "yaml"]):
    from tests.fuzz.inputs import answer, text_of


def one(data: bytes) -> None:
    """One input; whatever it raises is the finding."""
    answer(text_of(atheris.FuzzedDataProvider(data)))


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
