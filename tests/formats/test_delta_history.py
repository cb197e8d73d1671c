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
        self.moved = False

    def entries(self, limit):
        if self.moved:
            self.moved = False
            self.last += 1
            return None
        found = [
            {"version": v, "timestamp": v, "operation": "WRITE", "headrace.write": f"w{v}"}
            for v in range(self.last, self.first - 1, -1)
        ][:limit]
        self.read += len(found)
        return found

    def ask(self, history, limit):
        found = None
        while found is None:
            found = history.newest(self.last, limit, self.entries)
        return [entry.version for entry in found]


@pytest.fixture
def log():
    made = Log()
    made.last = 99
    return made


def test_every_entry_is_read_once(log):
    history = DeltaHistory()
    assert log.ask(history, None) == list(range(99, -1, -1))
    for _ in range(3):
        log.last += 1
        assert log.ask(history, 2) == [log.last, log.last - 1]
    assert log.ask(history, None) == list(range(102, -1, -1))
    assert log.read == 103


def test_a_larger_portion_is_asked_for(log):
    history = DeltaHistory()
    assert log.ask(history, 5) == list(range(99, 94, -1))
    assert log.ask(history, 10) == list(range(99, 89, -1))
    assert log.ask(history, 1_000) == list(range(99, -1, -1))
    assert log.read == 115
    assert log.ask(history, 5_000) == list(range(99, -1, -1))
    assert log.read == 115


def test_a_log_that_moves_on_while_it_is_read(log):
    history = DeltaHistory()
    log.ask(history, 3)
    log.last += 1
    log.moved = True
    assert log.ask(history, 4) == [101, 100, 99, 98]


def test_a_log_that_was_set_back(log):
    history = DeltaHistory()
    log.ask(history, None)
    log.last = 40
    assert log.ask(history, None) == list(range(40, -1, -1))
    history.forget()
    assert log.ask(history, 1) == [40]


def test_little_is_kept_of_a_long_log(log, monkeypatch):
    monkeypatch.setattr(delta_history, "_MOST_KEPT", 10)
    history = DeltaHistory()
    assert len(log.ask(history, None)) == 100
    assert len(history._entries) == 10
    assert log.ask(history, None) == list(range(99, -1, -1))


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.one_of(st.none(), st.integers(0, 12)), st.booleans()), max_size=12
    )
)
def test_as_the_log_tells(steps):
    log, history = Log(), DeltaHistory()
    log.first = 3
    log.last = 3
    for more, limit, moved in steps:
        log.last += more
        log.moved = moved
        told = log.ask(history, limit)
        assert told == list(range(log.last, 2, -1))[:limit]
