"""Who computes: as many as there are processors, and one fewer while something short is done."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

import pytest

from headrace.errors import Cancelled
from headrace.service import lanes as of_lanes
from headrace.service.lanes import Lanes


@contextlib.contextmanager
def computing(lanes: Lanes, count: int) -> Iterator[list[int]]:
    """Threads that wait for a lane and keep it; gives the numbers of those that have one, in order."""
    have, done = [], threading.Event()

    def compute(number: int) -> None:
        with lanes.one(lambda: None):
            have.append(number)
            done.wait(30)

    threads = [threading.Thread(target=compute, args=[number]) for number in range(count)]
    for number, thread in enumerate(threads):
        thread.start()
        until = time.monotonic() + 10
        while number >= len(have) + len(lanes._row) and time.monotonic() < until:
            time.sleep(0.001)
    try:
        yield have
    finally:
        done.set()
        for thread in threads:
            thread.join(30)
    assert sorted(have) == list(range(count))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_lanes, "_LASTS_S", 60.0)


@pytest.mark.usefixtures("patient")
def test_as_many_compute_as_there_are_processors() -> None:
    with computing(Lanes(3), 5) as have:
        time.sleep(0.2)
        assert have == [0, 1, 2]


@pytest.mark.usefixtures("patient")
def test_what_is_short_has_a_processor_of_its_own() -> None:
    lanes = Lanes(3)
    with lanes.short(), computing(lanes, 5) as have:
        time.sleep(0.2)
        assert have == [0, 1]


@pytest.mark.usefixtures("patient")
def test_once_what_is_short_is_done_another_goes_on() -> None:
    lanes = Lanes(2)
    with contextlib.ExitStack() as both:
        with lanes.short():
            have = both.enter_context(computing(lanes, 3))
            time.sleep(0.2)
            assert have == [0]
        until = time.monotonic() + 10
        while len(have) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert have == [0, 1]


def test_who_computes_for_long_keeps_nobody_waiting() -> None:
    lanes = Lanes(1)
    with lanes.short(), computing(lanes, 3) as have:
        until = time.monotonic() + 10
        while len(have) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert have == [0, 1, 2]


@pytest.mark.usefixtures("patient")
def test_who_is_stopped_waits_no_longer_and_keeps_no_lane() -> None:
    lanes, stopped = Lanes(1), threading.Event()

    def check() -> None:
        stopped.set()
        raise Cancelled("the query was cancelled")

    with lanes.short(), lanes.one(lambda: None):
        with pytest.raises(Cancelled), lanes.one(check):
            pytest.fail("it had a lane")
        assert stopped.is_set()
    with lanes.short(), lanes.one(lambda: pytest.fail("it waited")):
        pass


@pytest.mark.usefixtures("patient")
def test_a_lane_is_given_back_by_what_fails() -> None:
    lanes = Lanes(1)
    for _ in range(3):
        with (
            lanes.short(),
            pytest.raises(ValueError, match="no"),
            lanes.one(lambda: pytest.fail("it waited")),
        ):
            raise ValueError("no")
