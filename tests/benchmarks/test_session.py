"""A suite goes on where it was, with what is left of it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation import session, suite
from benchmarks.evaluation.suite import Suite
from benchmarks.process import CaseFailed
from benchmarks.report import BadReport, Report
from benchmarks.stop import Stop, stoppable
from rich.console import Console

from reports import report_of

pytestmark = pytest.mark.slow


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    found = report_of(suite.load("smoke").steps[0])
    found.write(tmp_path / "report.json")
    assert Report.read(tmp_path / "report.json") == found
    (tmp_path / "report.json").write_text('{"workload": "codec-encode"}')
    with pytest.raises(BadReport, match=r"report\.json"):
        Report.read(tmp_path / "report.json")


def test_a_suite_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smoke = suite.load("smoke")
    ran = []

    def run(workload: object, size: str, runs: int, force: bool) -> Report:
        step = next(s for s in smoke.steps if WORKLOADS[s.workload] is workload and f"{s.scale:g}" == size)
        ran.append(step)
        if len(ran) == 3:
            raise KeyboardInterrupt
        return report_of(step)

    monkeypatch.setattr(session, "run", run)
    with pytest.raises(KeyboardInterrupt):
        session.go_on(smoke, tmp_path, False, Console(quiet=True), Stop())
    assert list(session.done(smoke, tmp_path)) == list(smoke.steps[:2])
    session.go_on(smoke, tmp_path, False, Console(quiet=True), Stop())
    assert ran[:2] + ran[3:] == list(smoke.steps)
    assert list(session.done(smoke, tmp_path)) == list(smoke.steps)
    assert session.failed(smoke, tmp_path) == {}


@pytest.mark.parametrize("force", [False, True])
def test_what_was_disturbed_is_measured_again_unless_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, force: bool
) -> None:
    smoke = suite.load("smoke")
    for step in smoke.steps:
        report_of(step).write(session.path_of(step, tmp_path))
    first = smoke.steps[0]
    dataclasses.replace(report_of(first), noisy=True).write(session.path_of(first, tmp_path))
    ran = []

    def run(workload: object, size: str, runs: int, force: bool) -> Report:
        ran.append(workload)
        return report_of(first)

    monkeypatch.setattr(session, "run", run)
    session.go_on(smoke, tmp_path, force, Console(quiet=True), Stop())
    assert ran == ([] if force else [WORKLOADS[first.workload]])


def test_a_step_that_fails_is_told_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smoke = suite.load("smoke")
    first, second, *others = smoke.steps
    errors: list[Exception] = [CaseFailed("no broker"), subprocess.CalledProcessError(1, "feast")]

    def run(workload: object, size: str, runs: int, force: bool) -> Report:
        step = next(s for s in smoke.steps if WORKLOADS[s.workload] is workload and f"{s.scale:g}" == size)
        if step in (first, second) and errors:
            raise errors.pop(0)
        return report_of(step)

    monkeypatch.setattr(session, "run", run)
    session.go_on(smoke, tmp_path, False, Console(quiet=True), Stop())
    assert list(session.done(smoke, tmp_path)) == others
    why = session.failed(smoke, tmp_path)
    assert why[first] == "no broker"
    assert why[second].startswith("CalledProcessError: ")
    session.go_on(smoke, tmp_path, False, Console(quiet=True), Stop())
    assert session.failed(smoke, tmp_path) == {}
    assert list(session.done(smoke, tmp_path)) == list(smoke.steps)


def test_a_step_of_too_few_rounds_is_run_again(tmp_path: Path) -> None:
    smoke = suite.load("smoke")
    step = smoke.steps[0]
    report_of(step).write(session.path_of(step, tmp_path))
    assert list(session.done(smoke, tmp_path)) == [step]
    (chosen, *_) = smoke.chosen
    (point, _) = chosen.steps[0]
    more = dataclasses.replace(chosen, steps=((point, dataclasses.replace(step, runs=3)),))
    assert session.done(Suite("smoke", "", (more,), (more.steps[0][1],)), tmp_path) == {}


def changed(**told: Any) -> Callable[[dict[str, Any]], None]:
    return lambda report: report.update(told)


def sample(**told: Any) -> Callable[[dict[str, Any]], None]:
    return lambda report: report["samples"][-1].update(told)


@pytest.mark.parametrize(
    "change",
    [
        changed(runs="1"),
        changed(runs=7),
        changed(samples=[]),
        changed(elsewhere=None),
        changed(scale=17.0),
        changed(workload="tpch-scan"),
        lambda report: report["load"].update(cpu=None),
        lambda report: report["machine"].update(versions=[]),
        sample(wall=0),
        sample(wall=-1.0),
        sample(wall=True),
        sample(wall="1"),
        sample(wall=float("nan")),
        sample(wall=float("inf")),
        sample(size=0),
        sample(rows=-1),
    ],
)
def test_a_report_that_cannot_be_is_refused_by_name(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    smoke = suite.load("smoke")
    path = session.path_of(smoke.steps[0], tmp_path)
    report_of(smoke.steps[0]).write(path)
    found = json.loads(path.read_text())
    change(found)
    path.write_text(json.dumps(found))
    with pytest.raises(BadReport, match=path.name):
        session.done(smoke, tmp_path)


def test_what_is_no_report_is_refused_by_name(tmp_path: Path) -> None:
    smoke = suite.load("smoke")
    path = session.path_of(smoke.steps[0], tmp_path)
    for content in (b"", b"\xff", b"[", b"null", b'{"workload":' + b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(BadReport, match=path.name):
            session.done(smoke, tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(BadReport, match=path.name):
        session.done(smoke, tmp_path)


def test_a_report_of_other_processors_is_refused(tmp_path: Path) -> None:
    laptop = suite.load("laptop")
    one, two = (s for s in laptop.steps if s.workload == "legacy-10k")
    report_of(one).write(session.path_of(two, tmp_path))
    with pytest.raises(BadReport, match="on 1 processors"):
        session.done(laptop, tmp_path)


def test_a_reason_that_is_not_told_is_a_reason_all_the_same(tmp_path: Path) -> None:
    smoke = suite.load("smoke")
    one, two, *_ = smoke.steps
    session.why_path_of(one, tmp_path).write_bytes(b"")
    session.why_path_of(two, tmp_path).write_bytes(b"\xff\n")
    assert session.failed(smoke, tmp_path) == {one: "it is not told why", two: "\ufffd"}


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    report = report_of(suite.load("smoke").steps[0])
    (tmp_path / "taken.json").mkdir()
    with pytest.raises(OSError, match="taken"):
        report.write(tmp_path / "taken.json")
    assert [path.name for path in tmp_path.iterdir()] == ["taken.json"]


def test_two_do_not_measure_into_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smoke = suite.load("smoke")

    def run(*asked: object) -> Report:
        session.go_on(smoke, tmp_path, False, Console(quiet=True), Stop())
        raise AssertionError("two at once")

    monkeypatch.setattr(session, "run", run)
    session.go_on(smoke, tmp_path, False, Console(quiet=True), Stop())
    why = session.failed(smoke, tmp_path)
    assert why.keys() == set(smoke.steps)
    assert all(told.startswith("BadFolder: another run measures into") for told in why.values())


def test_a_folder_in_which_nothing_can_be_kept_is_refused_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*asked: object) -> Report:
        raise AssertionError("measured")

    monkeypatch.setattr(session, "run", run)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "within", Path("/proc/nope")):
        with pytest.raises(session.BadFolder, match="results cannot be kept in"):
            session.go_on(suite.load("smoke"), folder, False, Console(quiet=True), Stop())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_that_a_library_swallows_is_none_of_its_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    smoke, before = suite.load("smoke"), signal.getsignal(number)

    def run(*asked: object) -> Report:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(number)
        raise SystemError("flush returned NULL")

    monkeypatch.setattr(session, "run", run)
    with pytest.raises(KeyboardInterrupt), stoppable() as stop:
        session.go_on(smoke, tmp_path, False, Console(quiet=True), stop)
    assert stop.asked == number
    assert session.failed(smoke, tmp_path) == {}
    assert signal.getsignal(number) == before
