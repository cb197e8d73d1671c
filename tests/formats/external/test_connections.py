from __future__ import annotations

import os

from headrace.formats.external import connections as module
from headrace.formats.external.connections import Connections

KEY = ("postgresql", "uri")


class Connection:
    closed = False

    def close(self) -> None:
        self.closed = True


def test_one_is_taken_by_one() -> None:
    kept, connection = Connections(), Connection()
    kept.put(KEY, connection)
    assert kept.take(("postgresql", "another")) is None
    assert kept.take(KEY) is connection
    assert kept.take(KEY) is None
    assert not connection.closed


def test_few_are_kept() -> None:
    kept, made = Connections(), [Connection() for _ in range(6)]
    for connection in made:
        kept.put(KEY, connection)
    assert [connection.closed for connection in made] == [True, True, False, False, False, False]
    kept.close()
    assert all(connection.closed for connection in made)


def test_old_ones_are_closed(monkeypatch) -> None:
    kept, connection = Connections(), Connection()
    kept.put(KEY, connection)
    monkeypatch.setattr(module, "_KEPT_S", -1.0)
    assert kept.take(KEY) is None
    assert connection.closed


def test_a_fork_takes_none_of_its_parents() -> None:
    kept, connection = Connections(), Connection()
    kept.put(KEY, connection)
    child = os.fork()
    if child == 0:
        os._exit(0 if kept.take(KEY) is None and not connection.closed else 1)
    assert os.waitpid(child, 0)[1] == 0
