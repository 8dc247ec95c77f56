"""Says at the end what was skipped and why; where CI is set, a skip is a failure."""

from __future__ import annotations

import os
from collections import Counter

import pytest


def in_ci() -> bool:
    """`.ci/run` sets CI=true: there the machine has everything, and a test that does not run proves nothing."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


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
