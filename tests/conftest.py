"""Which tests share a worker; says at the end what was skipped and why; where CI is set, a skip is a failure."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]


def in_ci() -> bool:
    """`.ci/run` sets CI=true: there the machine has everything, and a test that does not run proves nothing."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


# Files whose tests share what is long in coming up, besides the tests of a file.
TOGETHER = {
    "tests/cluster/": "tests/cluster/",
    "tests/engine/test_device_plugin.py": "single",
    "tests/engine/test_drift.py": "single",
    "tests/engine/test_scale.py": "single",
    "tests/engine/test_two_ups.py": "single",
}
# The longest first, so that no worker is left alone with one at the end.
LONGEST = ("tests/engine/", "tests/cluster/", "tests/checker/")


class Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """Whole files to a worker, and whole groups of files. (xdist's own groups do nothing under pytest 9.2.)"""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return next((group for start, group in TOGETHER.items() if file.startswith(start)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.location[0].startswith(LONGEST))


def _reasons(reporter: pytest.TerminalReporter) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for report in reporter.stats.get("skipped", []):
        where = report.longrepr
        text = where[2] if isinstance(where, tuple) else str(where)
        reasons[text.removeprefix("Skipped: ")] += 1
    return reasons


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter and in_ci() and reporter.stats.get("skipped") and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = _reasons(terminalreporter)
    if not reasons:
        terminalreporter.write_line("nothing was skipped")
        return
    terminalreporter.write_line(f"skipped: {sum(reasons.values())}" + (" (a failure, CI is set)" if in_ci() else ""))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"  {count} × {reason}")
