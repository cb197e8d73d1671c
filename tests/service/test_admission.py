"""Turns: so many at once, fair between callers, bounded, lent where nobody takes rows, and never lost."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import pytest

import headrace as hr
from headrace.service.admission import Admission, Turn


def nothing() -> None:
    pass


def waits(admission: Admission, caller: str, order: list[str]) -> threading.Thread:
    """A thread that waits for a turn, tells when it has it, and leaves."""

    def run() -> None:
        turn = admission.enter(caller, nothing)
        order.append(caller)
        turn.close()

    before = sum(map(len, admission._rows.values()))
    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: sum(map(len, admission._rows.values())) > before or not thread.is_alive())
    return thread


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_so_many_at_once() -> None:
    admission = Admission(2, 10, 0.2)
    turns = [admission.enter("anna", nothing) for _ in range(2)]
    with pytest.raises(hr.Busy, match="runs 2 at once") as caught:
        admission.enter("anna", nothing)
    assert 0 < caught.value.retry_after <= 60
    assert caught.value.retryable
    turns[0].close()
    turns[0].close()
    admission.enter("anna", nothing).close()
    turns[1].close()
    assert admission._free == 2


def test_one_caller_does_not_hold_up_the_others() -> None:
    admission = Admission(1, 20, 10)
    first = admission.enter("busy", nothing)
    order: list[str] = []
    threads = [waits(admission, caller, order) for caller in ("busy", "busy", "busy", "anna", "ben")]
    first.close()
    for thread in threads:
        thread.join(10)
    assert order == ["busy", "anna", "ben", "busy", "busy"]


def test_rows_are_bounded() -> None:
    admission = Admission(1, 4, 10)
    first = admission.enter("a", nothing)
    order: list[str] = []
    threads = [waits(admission, "a", order) for _ in range(2)]
    with pytest.raises(hr.Busy, match=r"^you have 2 queries waiting, the most for one caller") as caught:
        admission.enter("a", nothing)
    assert caught.value.retry_after > 0
    threads += [waits(admission, "b", order) for _ in range(2)]
    with pytest.raises(hr.Busy, match=r"^4 queries are waiting, the most for all .* runs 1 at once"):
        admission.enter("c", nothing)
    first.close()
    for thread in threads:
        thread.join(10)
    assert sorted(order) == ["a", "a", "b", "b"]
    assert admission._free == 1


def test_who_gives_up_leaves_no_gap() -> None:
    admission = Admission(1, 4, 10)
    first = admission.enter("a", nothing)

    def gone() -> None:
        raise hr.Cancelled("the caller has gone")

    with pytest.raises(hr.Cancelled):
        admission.enter("b", gone)
    first.close()
    admission.enter("c", nothing).close()
    assert (admission._free, admission._rows, admission._open) == (1, {}, set())


def test_a_turn_is_lent_while_nobody_takes_its_rows() -> None:
    admission = Admission(1, 4, 10)
    slow = admission.enter("slow", nothing)
    slow.pause()
    quick = admission.enter("quick", nothing)
    assert slow.lent
    back = threading.Thread(target=slow.go_on)
    back.start()
    time.sleep(0.1)
    assert back.is_alive()  # while the other works
    order: list[str] = []
    third = waits(admission, "third", order)
    quick.close()
    back.join(10)
    assert not slow.lent
    assert order == []  # who comes back goes before those who are new
    slow.close()
    third.join(10)
    assert admission._free == 1


def test_one_that_is_stopped_as_it_comes_back_keeps_no_turn() -> None:
    """Whether it hears first that it was stopped, or that it has its turn."""
    for hears_first in (True, False):
        admission, stopped = Admission(1, 4, 10), threading.Event()

        def check(stopped: threading.Event = stopped, hears_first: bool = hears_first) -> None:
            if stopped.is_set() and hears_first:
                raise hr.Cancelled("stopped")

        slow = admission.enter("slow", check)
        slow.pause()
        quick = admission.enter("quick", nothing)

        def come_back(turn: Turn = slow) -> None:
            with contextlib.suppress(hr.Cancelled):
                turn.go_on()

        back = threading.Thread(target=come_back)
        back.start()
        while not admission._coming_back:
            time.sleep(0.001)
        stopped.set()
        slow.close()
        quick.close()
        back.join(10)
        slow.close()
        assert (admission._free, admission.waiting, admission._open) == (1, 0, set())


def test_a_short_pause_lends_nothing() -> None:
    admission = Admission(1, 4, 0.1)
    turn = admission.enter("a", nothing)
    turn.pause()
    with pytest.raises(hr.Busy):
        admission.enter("b", nothing)
    turn.go_on()
    turn.close()
    assert admission._free == 1


def test_what_stands_still_is_bounded_too() -> None:
    admission = Admission(1, 2, 5)
    still: list[Turn] = []
    for caller, told in (("a", "you have 5 queries open"), ("b", "whose rows nobody takes")):
        for _ in range(5):
            still.append(admission.enter(caller, nothing))
            still[-1].pause()
            still[-1].still_since -= 1  # so long that it is lent at once
        with pytest.raises(hr.Busy, match=told):
            admission.enter(caller, nothing)
    for turn in still:
        turn.close()
    assert admission._free == 1


def test_a_storm() -> None:
    """Never more at once than may run, and in the end all turns are there again."""
    admission = Admission(3, 1_000, 30)
    working, most = [0], [0]
    lock = threading.Lock()

    def client(number: int) -> None:
        for step in range(30):
            turn = admission.enter(number % 5, nothing)
            for _ in range(3):
                with lock:
                    working[0] += 1
                    most[0] = max(most[0], working[0])
                time.sleep(0.0002)
                with lock:
                    working[0] -= 1
                turn.pause()
                if step % 10 == 0 and number % 4 == 0:
                    time.sleep(0.3)
                turn.go_on()
            turn.close()

    threads = [threading.Thread(target=client, args=[number]) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert 0 < most[0] <= 3
    assert (admission._free, admission._rows, admission._open) == (3, {}, set())
