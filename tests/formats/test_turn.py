from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from headrace.errors import CorruptTable, HeadraceError, Timeout
from headrace.formats.turn import Turn


def run(turn: Turn, calls: list[HeadraceError | None]) -> tuple[list[HeadraceError | None], int]:
    """What each of several threads gets that come while the first is at it, and how many were let in."""
    entered = threading.Event()
    let_in = []

    def one(number: int) -> HeadraceError | None:
        try:
            with turn:
                let_in.append(number)
                entered.set()
                time.sleep(0.3)
                if calls[number] is not None:
                    raise calls[number]
        except HeadraceError as error:
            return error
        return None

    with ThreadPoolExecutor(len(calls)) as threads:
        first = threads.submit(one, 0)
        entered.wait()
        others = [threads.submit(one, number) for number in range(1, len(calls))]
        return [first.result(), *(other.result() for other in others)], len(let_in)


def test_who_waits_while_a_storage_is_away_is_told_with_the_first() -> None:
    away = Timeout("no answer", hint="look there")
    told, let_in = run(Turn(), [away, None, None, None])
    assert let_in == 1
    assert {(type(e), e.message, e.hint) for e in told if e} == {(Timeout, "no answer", "look there")}
    assert len(set(map(id, told))) == 4


def test_who_comes_later_asks_for_himself() -> None:
    turn = Turn()
    with pytest.raises(Timeout), turn:
        raise Timeout("no answer")
    assert run(turn, [None, None]) == ([None, None], 2)


def test_other_errors_are_the_own_ones() -> None:
    told, let_in = run(Turn(), [CorruptTable("broken"), None])
    assert (let_in, told[1]) == (2, None)
