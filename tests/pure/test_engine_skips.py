"""What was skipped is said with its reason; where CI is set it is a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
SKIPS = "import pytest\ndef test_a():\n    pytest.skip('no chip here')\ndef test_b():\n    pass\n"


def run(folder: Path, tests: str, ci: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_it.py").write_text(tests)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
        cwd=folder,
        env={**os.environ, "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("false", 0), ("true", 1), ("1", 1)])
def test_a_skip_fails_in_ci_only_and_is_named_everywhere(tmp_path: Path, ci: str, code: int) -> None:
    done = run(tmp_path, SKIPS, ci)
    assert done.returncode == code, done.stdout
    assert "1 × no chip here" in done.stdout


def test_a_module_that_skips_itself_counts_too(tmp_path: Path) -> None:
    done = run(tmp_path, "import pytest\npytest.skip('not today', allow_module_level=True)\n", "true")
    assert done.returncode != 0
    assert "1 × not today" in done.stdout


def test_without_skips_ci_passes(tmp_path: Path) -> None:
    done = run(tmp_path, "def test_b():\n    pass\n", "true")
    assert done.returncode == 0
    assert "nothing was skipped" in done.stdout
