"""What is asked is written down meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.config import store_config
from headrace.model.request import Prepared, ReadRequest
from headrace.service.asked import Asked
from headrace.service.store import Store


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    store = Store(store_config(str(tmp_path / "lake")), cache_bytes=1_000_000, remembers=True)
    assert store.cache is not None
    assert store.cache.asked is not None
    yield store.cache.asked
    store.close()


def test_flush_waits_for_what_another_thread_writes(asked, monkeypatch):
    writing, go_on = threading.Event(), threading.Event()
    add = asked._history.add

    def slow(found):
        writing.set()
        go_on.wait(10)
        add(found)

    monkeypatch.setattr(asked._history, "add", slow)
    request = ReadRequest(kind="query", sql="SELECT 1")
    asked.note("p", request, Prepared(request=request, schema_ipc=b"", features=(), labels=(), snapshots={}))
    assert writing.wait(10)
    flushing = threading.Thread(target=asked.flush)
    flushing.start()
    flushing.join(0.2)
    assert flushing.is_alive()
    go_on.set()
    flushing.join(10)
    written, _ = asked._history.since(0)
    assert [ask.request.sql for _, ask in written] == ["SELECT 1"]
