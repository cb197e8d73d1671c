import datetime as dt

import pytest

from headrace.formats.hudi_timeline import Timeline, instant_at, number, time_of

A, B, C = 20260101000000001, 20260101000000002, 20260101000000003


def completed(*instants: int, action: str = "commit") -> list[str]:
    return [
        f"{instant}{end}"
        for instant in instants
        for end in (f".{action}.requested", ".inflight", f".{action}")
    ]


def test_what_is_complete():
    timeline = Timeline.of(
        [*completed(A), f"{B}.commit.requested", f"{B}.inflight", "hoodie.properties", ".aux"]
    )
    assert (timeline.writes.keys(), timeline.pending, timeline.first, timeline.newest) == ({A}, {B}, A, A)
    assert [timeline.is_complete(at) for at in (A - 1, A, B, C)] == [True, True, False, False]


def test_completion_has_a_time_of_its_own():
    """B began after A, and was complete before it."""
    timeline = Timeline.of([f"{A}_{A + 9}.commit", f"{B}_{B + 1}.commit", f"{C}.replacecommit.inflight"])
    assert timeline.newest == A + 9
    assert [timeline.is_complete(at, until=B + 1) for at in (A, B, C)] == [False, True, False]
    assert [timeline.is_complete(at, until=A + 9) for at in (A, B, C)] == [True, True, False]


@pytest.mark.parametrize(
    "pending",
    [
        [f"{A}.inflight"],
        [f"{A}.commit.requested"],
        [f"{A}.replacecommit.inflight"],
        [f"{A}.clustering.requested"],
    ],
)
def test_what_is_pending_is_never_complete(pending):
    """However old it is."""
    timeline = Timeline.of([*pending, *completed(B)])
    assert not timeline.is_complete(A)
    assert timeline.is_complete(A - 1)


def test_a_savepoint_keeps_a_write_that_younger_ones_leave_behind():
    """B is archived: its files count."""
    timeline = Timeline.of([*completed(A, C), f"{A}.savepoint.inflight", f"{A}.savepoint"])
    assert (timeline.first, timeline.is_complete(B)) == (C, True)


def test_an_old_clean_tells_nothing_of_what_is_archived():
    timeline = Timeline.of([*completed(A, action="clean"), *completed(C)])
    assert timeline.is_complete(B)


def test_instants_of_whole_seconds():
    timeline = Timeline.of([*completed(20260101000000), *completed(20260101000001000)])
    assert list(timeline.writes) == [20260101000000999, 20260101000001000]
    assert number("20260101000000") == 20260101000000999


@pytest.mark.parametrize("in_utc", [True, False])
def test_times(in_utc, monkeypatch):
    time = dt.datetime(2026, 7, 1, 12, 30, 15, 123000, tzinfo=dt.UTC)
    assert time_of(instant_at(time, in_utc), in_utc) == time
    assert instant_at(time, in_utc=True) == 20260701123015123
