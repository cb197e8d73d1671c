"""Whether a store keeps what Delta commits rest on, when many ask at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake

_SECONDS = 300


def winners(put_new: Callable[[str, bytes], bool], threads: int = 16, rounds: int = 100) -> list[list[int]]:
    """Which threads say, in each round, that it was they who made the key that all tried to make at once."""
    together = Barrier(threads)

    def run(thread: int) -> list[bool]:
        won = []
        for number in range(rounds):
            together.wait(60)
            won.append(put_new(f"race/{number}", b"%d" % thread))
        return won

    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(run, range(threads)))
    return [[thread for thread in range(threads) if answers[thread][number]] for number in range(rounds)]


def append_at_once(url: str, options: Mapping[str, str], writers: int = 4, commits: int = 6) -> list[str]:
    """The rows of a table that processes append to at once, each row as often as it is there."""
    write_deltalake(url, _row("first"), storage_options=dict(options))
    with multiprocessing.get_context("spawn").Pool(writers) as pool:
        appends = [(url, dict(options), writer, commits) for writer in range(writers)]
        # Of a process that dies the pool never hears.
        failed = pool.starmap_async(_append, appends).get(_SECONDS)
    assert failed == [None] * writers
    table = DeltaTable(url, storage_options=dict(options))
    assert table.version() == writers * commits
    return sorted(table.to_pyarrow_table()["name"].to_pylist())


def expected(writers: int = 4, commits: int = 6) -> list[str]:
    """What `append_at_once` must find."""
    return sorted(["first", *(f"{w}-{c}" for w in range(writers) for c in range(commits))])


def _append(url: str, options: dict[str, str], writer: int, commits: int) -> str | None:
    """What failed, as text: the errors of deltalake do not pass between processes."""
    many = CommitProperties(max_commit_retries=100)
    try:
        for commit in range(commits):
            row = _row(f"{writer}-{commit}")
            write_deltalake(url, row, mode="append", storage_options=options, commit_properties=many)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def _row(name: str) -> pa.Table:
    return pa.table({"name": [name]})
