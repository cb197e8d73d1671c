"""A store that goes away under its users: closed, with the program, or left behind by a fork."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh

READS: dict[str, Callable[[Any], object]] = {
    "to_arrow": lambda group: group.read().to_arrow(),
    "to_pandas": lambda group: group.read().to_pandas(),
    "read_all": lambda group: group.read().to_reader().read_all(),
    "batches": lambda group: list(group.read().to_reader(1000)),
}
ENDING = """
import sys, threading, time
import headrace as hr
group = hr.connect(sys.argv[1], project=sys.argv[2]).get_feature_group("long")
calls = [
    lambda: group.read().to_arrow(),
    lambda: group.read().to_pandas(),
    lambda: group.read().to_reader().read_all(),
    lambda: group.insert([{"id": -1, "text": ""}]),
]
def go_on(call):
    try:
        while True:
            call()
    except (hr.Cancelled, hr.OutcomeUnknown):
        pass
for call in calls:
    threading.Thread(target=go_on, args=[call], daemon=True).start()
time.sleep(0.3)
"""
FORKED = """
import os, signal, sys
import headrace as hr
store = hr.connect(sys.argv[1], project=sys.argv[2])
group = store.get_feature_group("long")
result, reader = group.read(), group.read().to_reader()
calls = [
    result.to_arrow, result.to_pandas, result.explain, lambda: result.to_reader().read_all(), reader.read_all,
    group.read, lambda: group.insert([{"id": -1}]), store.list_feature_groups,
]
child = os.fork()
if not child:
    signal.alarm(20)
    told = set()
    for call in calls:
        try:
            told.add(str(call()))
        except Exception as error:
            told.add(f"{error.code}: {error.message}")
    store.close()
    print(*told, sep="; ", flush=True)
    os._exit(0)
print(os.waitpid(child, 0)[1], result.to_arrow().num_rows, reader.read_all().num_rows)
"""


def long(store: hr.FeatureStore) -> Any:
    group = store.create_feature_group("long", primary_key=["id"])
    ids = pa.array(range(200_000), pa.int64())
    group.insert(pa.table({"id": ids, "text": ids.cast(pa.string())}))
    return group


def run(program: str, *arguments: str) -> tuple[int, str, str]:
    ran = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_a_program_ends_quietly_beside_threads_that_go_on(target: Path | str) -> None:
    project = fresh("project")
    with hr.connect(target, project=project) as store:
        long(store)
    assert run(ENDING, str(target), project) == (0, "", "")


def test_a_store_that_nobody_closes_is_closed_by_the_end_of_the_program(tmp_path: Path) -> None:
    run("import sys, headrace as hr; hr.connect(sys.argv[1]).list_feature_groups()", str(tmp_path))
    assert not list((tmp_path / ".headrace").glob("scratch-*"))


@pytest.mark.parametrize("read", READS)
def test_closing_ends_the_reads_of_other_threads(target: Path | str, read: str) -> None:
    told: list[BaseException] = []
    store = hr.connect(target, project=fresh("project"))
    group = long(store)
    result, begun = group.read(), group.read().to_reader()
    begun.read_next_batch()

    def go_on() -> None:
        try:
            while True:
                READS[read](group)
        except BaseException as error:
            told.append(error)

    threads = [threading.Thread(target=go_on, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    store.close()
    store.close()
    for thread in threads:
        thread.join(20)
    assert len(told) == 2
    assert all(isinstance(error, hr.Cancelled | hr.InvalidArgument) for error in told), told
    for later in (result.to_arrow, result.to_pandas, begun.read_all, group.read, group.history):
        with pytest.raises(hr.InvalidArgument, match="the store is closed"):
            later()
    if isinstance(target, Path):
        assert not list((target / ".headrace").glob("scratch-*"))


def test_closing_stops_a_query_and_does_not_wait_for_its_end(tmp_path: Path) -> None:
    told: list[BaseException] = []
    begun = threading.Event()
    store = hr.connect(tmp_path)
    engine = store._backend._store.engine  # type: ignore[attr-defined]

    def count() -> None:
        try:
            with store._backend.calls.one(), engine.session() as session:
                begun.set()
                session.rows("SELECT count(*) FROM range(1000000000) AS a, range(1000) AS b")
        except BaseException as error:
            told.append(error)

    thread = threading.Thread(target=count, daemon=True)
    thread.start()
    assert begun.wait(20)
    time.sleep(0.2)
    store.close()
    thread.join(20)
    assert [type(error) for error in told] == [hr.Cancelled]


def test_closing_within_a_call_does_not_wait_for_it(tmp_path: Path) -> None:
    store = hr.connect(tmp_path)
    group = long(store)

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"id": [-1], "text": ["a"]})
        store.close()

    begun = time.monotonic()
    with pytest.raises(hr.InvalidArgument, match="the store is closed"):
        group.insert(pa.RecordBatchReader.from_batches(group.schema, rows()))
    assert time.monotonic() - begun < 3


def test_every_part_is_closed_even_if_another_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = hr.connect(tmp_path)

    def fail() -> None:
        raise hr.Unavailable("the registry does not answer")

    monkeypatch.setattr(store._backend._store._registry._database, "close", fail)  # type: ignore[attr-defined]
    with pytest.raises(hr.Unavailable):
        store.close()
    store.close()
    assert not list((tmp_path / ".headrace").glob("scratch-*"))


def test_a_fork_is_refused_and_leaves_the_store_to_its_parent(target: Path | str) -> None:
    project = fresh("project")
    with hr.connect(target, project=project) as store:
        long(store)
    ended, told, noise = run(FORKED, str(target), project)
    assert (ended, noise) == (0, "")
    assert told == "UNSUPPORTED: the store was opened in another process\n0 200000 200000\n"
