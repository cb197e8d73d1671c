"""What is kept of a log: every entry is read once, and none is missing or told twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.formats import delta_history
from headrace.formats.delta_history import DeltaHistory


class Log:
    """A log of which commits `first` to `last` are there; counts how many entries were read."""

    def __init__(self) -> None:
        self.first, self.last, self.read = 0, -1, 0

    def told(self, version):
        if not self.first <= version <= self.last:
            raise FileNotFoundError
        self.read += 1
        return {"version": version, "timestamp": version, "operation": "WRITE"}

    def ask(self, history, limit):
        return [entry.version for entry in history.newest(self.last, limit)]


@pytest.fixture(params=[True, False], ids=["near", "far"])
def near(request):
    return request.param


@pytest.fixture
def log():
    made = Log()
    made.last = 99
    return made


def test_every_entry_is_read_once(log, near):
    history = DeltaHistory(log.told, near=near)
    assert log.ask(history, None) == list(range(99, -1, -1))
    for _ in range(3):
        log.last += 1
        assert log.ask(history, 2) == [log.last, log.last - 1]
    assert log.ask(history, None) == list(range(102, -1, -1))
    assert log.read == 103


def test_a_larger_portion_is_asked_for(log, near):
    history = DeltaHistory(log.told, near=near)
    assert log.ask(history, 5) == list(range(99, 94, -1))
    assert log.ask(history, 10) == list(range(99, 89, -1))
    assert log.ask(history, 1_000) == list(range(99, -1, -1))
    assert log.read == 100
    assert log.ask(history, 5_000) == list(range(99, -1, -1))
    assert log.read == 100


def test_entries_that_went_before_they_were_seen(log, near):
    history = DeltaHistory(log.told, near=near)
    log.ask(history, None)
    log.first, log.last = 120, 130
    assert log.ask(history, None) == list(range(130, 119, -1))
    log.last = 132
    assert log.ask(history, 20) == list(range(132, 119, -1))


def test_a_log_that_was_set_back(log, near):
    history = DeltaHistory(log.told, near=near)
    log.ask(history, None)
    log.last = 40
    assert log.ask(history, None) == list(range(40, -1, -1))
    history.forget()
    assert log.ask(history, 1) == [40]


def test_little_is_kept_of_a_long_log(log, near, monkeypatch):
    monkeypatch.setattr(delta_history, "_MOST_KEPT", 10)
    history = DeltaHistory(log.told, near=near)
    assert len(log.ask(history, None)) == 100
    assert len(history._entries) == 10
    assert log.ask(history, None) == list(range(99, -1, -1))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.none() | st.integers(0, 12)), max_size=12))
def test_as_the_log_tells(steps):
    log = Log()
    history = DeltaHistory(log.told, near=len(steps) % 2 == 0)
    log.last = 3
    for more, fewer, limit in steps:
        log.last += more
        before, log.first = log.first, min(log.first + fewer, log.last)
        told = log.ask(history, limit)
        # Those that were seen are known, also once they are gone.
        whole = list(range(log.last, -1, -1))[:limit]
        assert told == whole[: len(told)]
        assert len(told) >= len([v for v in whole if v >= log.first])
        assert before <= log.first
