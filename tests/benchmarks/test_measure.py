"""Nothing is timed before the answers agree, and what is told of times follows from the samples."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from benchmarks.checksum import Checksum
from benchmarks.machine import Load, MachineBusy, check_load
from benchmarks.measure import WrongResult, agree, measure
from benchmarks.median import median
from benchmarks.others import Others
from benchmarks.outcome import goal_outcomes
from benchmarks.process import CaseFailed, CaseProcess, running
from benchmarks.runner import ByHand, Headrace
from benchmarks.sample import Sample
from benchmarks.target import Embedded, Served
from benchmarks.tpch import Scan
from benchmarks.workload import Case, Goal

import headrace as hr
from benchmarks import others

pytestmark = pytest.mark.slow

ROWS = [{"l_orderkey": i, "l_linenumber": 1, "l_tax": i / 7} for i in range(100)]


def lake(root: Path, rows: list[dict[str, Any]]) -> Path:
    with hr.connect(root) as store:
        store.create_feature_group("lineitem", primary_key=["l_orderkey", "l_linenumber"]).insert(rows)
    return root


def cases(one: Path, other: Path) -> list[Case]:
    return [Case("by hand", ByHand(one, Scan())), Case("embedded", Headrace(Embedded(other), Scan()))]


@pytest.fixture
def right(tmp_path: Path) -> Path:
    return lake(tmp_path / "right", ROWS)


def test_cases_run_in_turns(right: Path) -> None:
    samples = measure(cases(right, right), 3, lambda text: None).samples
    order = [(s.number, s.case) for s in samples]
    assert order == [
        (0, "by hand"),
        (0, "embedded"),
        (1, "by hand"),
        (1, "embedded"),
        (2, "by hand"),
        (2, "embedded"),
        (3, "by hand"),
        (3, "embedded"),
    ]
    assert [s.first for s in samples] == [True] * 2 + [False] * 6
    assert all(s.checksum == samples[0].checksum for s in samples)
    assert samples[0].peak is not None


def test_each_case_is_at_each_place_and_none_follows_itself(right: Path) -> None:
    hand, embedded = cases(right, right)
    three = [hand, embedded, dataclasses.replace(hand, name="by hand again")]
    samples = measure(three, 6, lambda text: None).samples
    order = [s.case for s in samples]
    assert all(one != other for one, other in itertools.pairwise(order))
    rounds = [order[start : start + 3] for start in range(3, len(order), 3)]
    assert len(rounds) == 6
    for place in range(3):
        assert {one[place] for one in rounds} == {case.name for case in three}


def test_processes_open_side_by_side_before_any_runs(right: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    for step in ("__init__", "wait", "run"):
        done = getattr(CaseProcess, step)

        def noted(self: CaseProcess, *given: Any, step: str = step, done: Any = done, **named: Any) -> Any:
            told.append(step)
            return done(self, *given, **named)

        monkeypatch.setattr(CaseProcess, step, noted)
    measure(cases(right, right), 1, lambda text: None)
    assert told == ["__init__"] * 2 + ["wait"] * 2 + ["run"] * 4


def test_what_has_not_opened_is_not_waited_for_when_another_fails(right: Path, tmp_path: Path) -> None:
    _, failing = cases(right, tmp_path / "empty")
    never = tmp_path / "never"
    never.write_text("#!/bin/sh\nexec sleep 1000\n")
    never.chmod(0o755)
    slow = [dataclasses.replace(failing, name=f"slow {i}", python=str(never)) for i in range(3)]
    begun = time.monotonic()
    with pytest.raises(CaseFailed, match="embedded failed"):
        measure([failing, *slow], 1, lambda text: None)
    assert time.monotonic() - begun < 25


def test_a_wrong_result_is_refused(right: Path, tmp_path: Path) -> None:
    both = cases(right, lake(tmp_path / "wrong", [*ROWS[:-1], {**ROWS[-1], "l_tax": 14.0}]))
    told: list[str] = []
    with pytest.raises(WrongResult, match="embedded and by hand do not give the same rows"):
        measure(both, 3, told.append)
    assert told == ["opening", "by hand: first run", "embedded: first run"]  # no round was timed


def test_rows_and_checksums_are_compared_where_an_answer_is_promised() -> None:
    by_hand, embedded = cases(Path("one"), Path("other"))
    one = samples("by hand", [])[0]
    for other in (
        dataclasses.replace(one, case="embedded", rows=2),
        dataclasses.replace(one, case="embedded", checksum=Checksum(("a",), 1, 8)),
        dataclasses.replace(one, case="embedded", checksum=Checksum(("b",), 1, 7)),
    ):
        with pytest.raises(WrongResult):
            agree([by_hand, embedded], [one, other])
        agree([by_hand, dataclasses.replace(embedded, answer="another")], [one, other])
        agree([by_hand, dataclasses.replace(embedded, answer=None)], [one, other])
    agree([by_hand, embedded], [one, dataclasses.replace(one, case="embedded", checksum=None)])


def test_a_failed_case_says_why(right: Path, tmp_path: Path) -> None:
    both = cases(right, tmp_path / "empty")
    with pytest.raises(CaseFailed, match="embedded failed") as failure:
        measure(both, 1, lambda text: None)
    assert "NotFound" in str(failure.value)


def test_the_first_line_of_a_failure_is_its_reason(right: Path, tmp_path: Path) -> None:
    with pytest.raises(CaseFailed) as failure:
        measure(cases(right, tmp_path / "empty"), 1, lambda text: None)
    assert "NotFound: " in str(failure.value).splitlines()[0]


def test_a_service_ends_with_a_process_that_is_killed(right: Path) -> None:
    before = psutil.Process().children(recursive=True)
    with running(Case("tcp", Headrace(Served(right), Scan()))) as process:
        process.run(0)
        worker, *services = [p for p in psutil.Process().children(recursive=True) if p not in before]
        assert any("serve" in service.cmdline() for service in services)
        worker.kill()
    _, alive = psutil.wait_procs(services, 10)
    assert not alive


def test_an_environment_that_is_not_there_is_named_with_what_makes_it(right: Path, tmp_path: Path) -> None:
    lacking = dataclasses.replace(cases(right, right)[1], python=str(tmp_path / "bin" / "python"))
    with pytest.raises(CaseFailed, match=r"bin/python, which is not there: make bench WORKLOAD="):
        measure([lacking], 1, lambda text: None)


def test_a_fresh_case_runs_in_a_new_process_with_its_memory_watched(right: Path) -> None:
    fresh = [dataclasses.replace(case, fresh=True) for case in cases(right, right)]
    samples = measure(fresh, 2, lambda text: None).samples
    assert [s.number for s in samples] == [0, 0, 1, 1]
    assert all(s.first and s.peak for s in samples)


def test_a_reference_runs_once(right: Path) -> None:
    reference, measured = cases(right, right)
    reference = dataclasses.replace(reference, role="reference")
    samples = measure([reference, measured], 2, lambda text: None).samples
    assert [s.case for s in samples] == ["by hand", "embedded", "embedded", "embedded"]


def test_a_busy_machine_is_refused_unless_forced() -> None:
    for busy in (Load(51, 5), Load(5, 51)):
        with pytest.raises(MachineBusy, match="--force"):
            check_load(busy, force=False)
        check_load(busy, force=True)
        assert busy.busy
    check_load(Load(50, 50), force=False)


def test_the_interval_holds_the_median_and_says_when_nothing_is_sure() -> None:
    sure, unsure = median([1.0, 1.01, 0.99, 1.0, 1.02]), median([1.0, 2.0, 0.5, 1.5, 3.0])
    assert sure.low <= sure.value <= sure.high
    assert unsure.high - unsure.low > sure.high - sure.low
    assert median([2.0]).low == median([2.0]).high == 2.0
    assert median([1.0, 3.0, 2.0]) == median([1.0, 3.0, 2.0])


def samples(case: str, walls: list[float], peak: int = 0) -> list[Sample]:
    first = Sample(case, 0, True, 99.0, 0.0, 0.0, 0, 1, Checksum(("a",), 1, 7), 0, peak)
    timed = [
        Sample(case, n, False, wall, 0.0, 0.0, 0, 1, None, None, None) for n, wall in enumerate(walls, 1)
    ]
    return [first, *timed]


@pytest.mark.parametrize(
    ("walls", "met"),
    [
        ([1.1, 1.1, 1.1], True),
        ([1.18, 1.14, 1.18], True),  # within 3 %, and the interval reaches it
        ([1.17, 1.17, 1.17], False),  # within 3 %, and certainly over it
        ([1.3, 1.1, 1.3], False),  # the interval reaches it, the median is far over it
    ],
)
def test_a_goal_is_met_where_interval_and_median_say_so(walls: list[float], met: bool) -> None:
    goal = Goal("a", 1.15, way="ratio", against="b")
    (outcome,) = goal_outcomes([goal], [*samples("a", walls), *samples("b", [1.0] * 3)])
    assert outcome.met is met


def test_ratios_are_taken_round_by_round() -> None:
    goal = Goal("a", 2.0, way="ratio", against="b")
    (outcome,) = goal_outcomes([goal], [*samples("a", [2.0, 20.0, 200.0]), *samples("b", [1.0, 10.0, 100.0])])
    assert (outcome.reached.low, outcome.reached.value, outcome.reached.high) == (2.0, 2.0, 2.0)


def test_the_first_run_of_a_fresh_case_stands_beside_the_last_of_others() -> None:
    fresh = [
        dataclasses.replace(s, number=s.number - 1, first=True) for s in samples("a", [6.0, 2.0, 4.0])[1:]
    ]
    goal = Goal("a", 2.0, way="ratio", against="b")
    (outcome,) = goal_outcomes([goal], [*fresh, *samples("b", [1.0, 2.0, 3.0])])
    assert (outcome.reached.low, outcome.reached.high, outcome.reached.n) == (2.0, 2.0, 3)


def test_memory_is_that_of_first_runs() -> None:
    goal = Goal("a", 100, "service_peak", "difference", against="b")
    (outcome,) = goal_outcomes([goal], [*samples("a", [1.0], peak=350), *samples("b", [1.0], peak=300)])
    assert outcome.reached.value == 50
    assert outcome.met


def test_a_case_is_warmed_up_before_its_runs_count(right: Path) -> None:
    hand, embedded = cases(right, right)
    begun = time.monotonic()
    samples = measure([hand, dataclasses.replace(embedded, warm_up=2.0)], 1, lambda text: None).samples
    assert time.monotonic() - begun > 2
    assert [(s.number, s.case) for s in samples] == [
        (0, "by hand"),
        (0, "embedded"),
        (1, "by hand"),
        (1, "embedded"),
    ]


def test_a_slow_first_run_is_no_warm_up(right: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    run = CaseProcess.run

    def noted(self: CaseProcess, number: int, *, first: bool = False) -> Sample:
        found = run(self, number, first=first)
        if first:
            time.sleep(0.2)
        ran.append(number)
        return found

    monkeypatch.setattr(CaseProcess, "run", noted)
    _, embedded = cases(right, right)
    measure([dataclasses.replace(embedded, warm_up=0.1)], 2, lambda text: None)
    assert (ran[0], ran[-2:]) == (0, [1, 2])
    assert ran[1:-2] == [*range(3, len(ran))], "at least one between"
    assert len(ran) > 3


def test_what_others_use_is_a_share_of_the_processors_that_are_for_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = []
    for own in ((0,), (0, 1)):
        monkeypatch.setattr(others, "processors", lambda own=own: own)
        found = Others()
        monkeypatch.setattr(found, "_before", {})
        monkeypatch.setattr(found, "_seconds", lambda: {psutil.Process(): 5.0})
        monkeypatch.setattr(found, "_clock", time.monotonic() - 10)
        shares.append(found.share())
    assert shares == pytest.approx([0.5, 0.25], rel=0.01)


# Longer than is waited for: the system tells in ticks, which may be less by some.
_BUSY = (
    "import time; until = time.process_time() + 0.7\nwhile time.process_time() < until: pass\ntime.sleep(60)"
)


def test_what_a_benchmark_starts_is_none_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    own = subprocess.Popen([sys.executable, "-c", _BUSY])
    # Its shell is gone at once, so that it belongs to nobody here.
    told = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" >/dev/null 2>&1 & echo $!', sys.executable, _BUSY],
        capture_output=True,
        text=True,
        check=True,
    )
    processes = [psutil.Process(own.pid), psutil.Process(int(told.stdout))]
    try:
        for process in processes:
            while sum(process.cpu_times()[:2]) < 0.5:
                time.sleep(0.05)
        shares = []
        for process in processes:
            monkeypatch.setattr(psutil, "process_iter", lambda process=process: [process])
            found = Others()
            monkeypatch.setattr(found, "_before", {})  # as if it had been started since
            shares.append(found.share())
        assert shares[0] == 0
        assert shares[1] > 0
    finally:
        for process in processes:
            process.kill()
        own.wait()


_WAITS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]])
child.wait()
time.sleep(60)
"""


def test_what_a_child_had_used_before_is_not_its_parents_use_when_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" "$2" >/dev/null 2>&1 & echo $!', sys.executable, _WAITS, _BUSY],
        capture_output=True,
        text=True,
        check=True,
    )
    parent = psutil.Process(int(told.stdout))
    try:
        while not (children := parent.children()):
            time.sleep(0.05)
        (child,) = children
        while sum(child.cpu_times()[:2]) < 0.5:
            time.sleep(0.05)
        monkeypatch.setattr(
            psutil, "process_iter", lambda: [one for one in (parent, child) if one.is_running()]
        )
        found = Others()
        child.kill()
        while sum(parent.cpu_times()[2:4]) < 0.5:  # it has been waited for
            time.sleep(0.05)
        monkeypatch.setattr(found, "_clock", time.monotonic() - 1)
        monkeypatch.setattr(others, "processors", lambda: (0,))
        assert found.share() < 0.2
    finally:
        parent.kill()


class _Ends(psutil.Process):
    def ppid(self) -> int:
        found = super().ppid()
        self.kill()
        self.wait()
        return found


def test_a_process_that_ends_while_it_is_looked_at_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"]) as ended:
        seen = _Ends(ended.pid)
        monkeypatch.setattr(psutil, "process_iter", lambda: [seen])
        assert Others().share() == 0
