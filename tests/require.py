"""Where HEADRACE_REQUIRE=all, a skipped test fails: nothing that a machine lacks passes for tested."""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def _required(report: Report) -> Report:
    expected_failure = hasattr(report, "wasxfail")
    if os.environ.get("HEADRACE_REQUIRE") == "all" and report.skipped and not expected_failure:
        *_, reason = report.longrepr if isinstance(report.longrepr, tuple) else (report.longrepr,)
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {reason} (under HEADRACE_REQUIRE=all a skip is a failure)"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _required((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _required((yield))
