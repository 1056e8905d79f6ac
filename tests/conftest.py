"""What holds for all tests: none depends on how fast the machine is."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was not shown is said last, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]) for report in skipped if "appliance" in report.keywords}
    for reason in sorted(reasons):
        terminalreporter.write_line(f"not shown here: {reason.removeprefix('Skipped: ')}")
