"""What threads and processes do with a store while it fails, and what they were told of it."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pyarrow as pa

import headrace as hr
from faults.place import Place, held, rows
from headrace.registry.registry import Registry
from headrace.storage.remote import RemoteStorage
from headrace.storage.remote_files import RemoteFiles

ROWS = 5
LARGE = 1_000_000
_PATIENCE = 300.0


@dataclasses.dataclass
class Told:
    """By one writer: the values whose rows it was told were written, and those whose rows it was told may not be."""

    written: list[int] = dataclasses.field(default_factory=list)
    failed: list[int] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)
    reads: int = 0

    @property
    def answers(self) -> int:
        return len(self.written) + len(self.failed) + self.reads


def append(group: hr.FeatureGroup, told: Told, value: int) -> None:
    """Rows that no other value has. Raises whatever a storage that fails is no reason for."""
    try:
        group.insert(rows(range(value * ROWS, (value + 1) * ROWS), value), mode="append")
    except (hr.Unavailable, hr.OutcomeUnknown) as error:
        told.failed.append(value)
        told.errors.append(f"{error.code}: {error} (of {error.__cause__!r})")
    else:
        told.written.append(value)


def check(found: Counter[tuple[int, int]], told: list[Told]) -> None:
    """Every row that was told to be written is there once, and what may not be, as a whole or not at all."""
    assert set(found.values()) <= {1}
    by_value = Counter(value for _, value in found)
    assert set(by_value.values()) <= {ROWS}
    written = {value for each in told for value in each.written}
    failed = {value for each in told for value in each.failed}
    assert written <= set(by_value) <= written | failed


def loops(
    line: Connection, there: Place, first: int, writers: int, readers: int, name: str = "numbers"
) -> list[Told]:
    """Threads append to, and read, the group until told to stop; on "more", tells once all were answered twice more.

    In a process of its own, since the Delta library may hold the interpreter while it waits for an answer.
    """
    with there.connect() as store:
        running = _Loops(store.get_feature_group(name), first, writers, readers)
        line.send("ready")
        while line.recv() == "more":
            running.wait_for_more()
            line.send("done")
        return running.stop()


class _Loops:
    def __init__(self, group: hr.FeatureGroup, first: int, writers: int, readers: int) -> None:
        acts = [*[self._write] * writers, *[self._read] * readers]
        self._first = first
        self._group = group
        self._stop = threading.Event()
        self._raised: list[BaseException] = []
        self._told = [Told() for _ in acts]
        self._threads = [threading.Thread(target=self._run, args=(act, n)) for n, act in enumerate(acts)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> list[Told]:
        self._stop.set()
        for thread in self._threads:
            thread.join(_PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads), "somebody hangs"
        if self._raised:
            raise self._raised[0]
        return self._told

    def wait_for_more(self) -> None:
        """Then one call of each at least was begun after now."""
        goals = [told.answers + 2 for told in self._told]
        deadline = time.monotonic() + _PATIENCE
        while any(told.answers < goal for told, goal in zip(self._told, goals, strict=True)):
            assert time.monotonic() < deadline, "somebody hangs"
            if self._raised:
                raise self._raised[0]
            time.sleep(0.05)

    def _run(self, act: Callable[[Told, int], None], number: int) -> None:
        try:
            act(self._told[number], self._first + number)
        except BaseException as error:
            self._raised.append(error)

    def _write(self, told: Told, number: int) -> None:
        value = number * 1000
        while not self._stop.is_set():
            append(self._group, told, value)
            value += 1

    def _read(self, told: Told, number: int) -> None:
        least: Counter[tuple[int, int]] = Counter()
        while not self._stop.is_set():
            try:
                found = held(self._group)
            except hr.Unavailable as error:
                told.errors.append(f"{error.code}: {error} (of {error.__cause__!r})")
            else:
                assert found >= least, "what was read once is there for ever"
                assert set(found.values()) <= {1}
                least = found
            told.reads += 1


def call(
    line: Connection, there: Place, name: str, arguments: tuple[object, ...], options: dict[str, str]
) -> None:
    """One of the functions below, with the group; tells what it came to, or the code of its error, and how long it took."""
    with there.connect(**options) as store:
        group = store.get_feature_group("numbers")
        act = CALLS[name]
        line.send("ready")
        while line.recv() == "go":
            begun = time.monotonic()
            try:
                came = act(group, *arguments)
            except hr.HeadraceError as error:
                came = error
            line.send((came, time.monotonic() - begun))


def ended(line: Connection, there: Place, ends: str, options: dict[str, str]) -> str:
    """A write is interrupted, or the store closed while another thread writes; tells the error's name."""
    store = there.connect(**options)
    group, came = store.get_feature_group("numbers"), []

    def write() -> None:
        try:
            CALLS["append"](group, 0)
        except BaseException as error:
            came.append(type(error).__name__)

    line.send("ready")
    line.recv()
    if ends == "interrupt":
        write()
        store.close()
    else:
        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(0.3)
        store.close()
        thread.join(_PATIENCE)
    return came[0] if came else "written"


def appends(line: Connection, there: Place, writer: int, commits: int) -> Told:
    """Each with rows of its own."""
    told = Told()
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        for number in range(commits):
            append(group, told, writer * 1000 + number)
    return told


def upserts(line: Connection, there: Place, writer: int, commits: int) -> list[tuple[int, range, int]]:
    """Of keys that others upsert, too: their snapshots, keys and values."""
    done = []
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        for number in range(commits):
            ids, value = range(-20 * number - 50, -20 * number), writer * 1000 + number
            done.append((group.insert(rows(ids, value)).snapshot, ids, value))
    return done


def compactions(line: Connection, there: Place, times: int) -> list[str]:
    """What each came to."""
    told = []
    with there.connect() as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        for _ in range(times):
            try:
                told.append(group.compact().operation)
            except hr.Conflict as error:
                told.append(error.code)
    return told


def large(seed: int) -> pa.Table:
    """Rows that hardly compress, in 16 MB."""
    chance = np.random.default_rng(seed)
    ids = np.arange(seed * LARGE, (seed + 1) * LARGE)
    return pa.table({"id": ids, "value": chance.integers(0, 2**62, LARGE)})


def read_on(line: Connection, there: Place) -> list[int]:
    """Reads a stream, of which it takes the most only when it is told to; the ids."""
    with there.connect() as store:
        reader = store.get_feature_group("numbers").read().to_reader()
        batches = [reader.read_next_batch()]
        line.send("begun")
        line.recv()
        batches += reader
    return pa.Table.from_batches(batches)["id"].to_pylist()


def dies(line: Connection, there: Place, act: str, step: str, when: str) -> None:
    """Acts, and is killed before or after a step, the first time."""
    owner, function = STEPS[step]
    run = getattr(owner, function)

    def dying(*arguments: Any, **options: Any) -> None:
        if when == "after":
            run(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    with there.connect() as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        setattr(owner, function, dying)
        if act == "dataset":
            store.get_feature_view("events").create_training_dataset(splits={"train": 0.5, "test": 0.5})
        else:
            CALLS[act](group, 1)


STEPS: dict[str, tuple[Any, str]] = {
    "a file": (RemoteFiles, "put"),
    "the move": (RemoteStorage, "move"),
    "the registration": (Registry, "create_dataset"),
}

CALLS: dict[str, Callable[..., object]] = {
    "read": held,
    "append": lambda group, value: group.insert(
        rows(range(value * ROWS, (value + 1) * ROWS), value), mode="append", idempotency_key=f"key {value}"
    ),
    "large": lambda group, seed: group.insert(large(seed), mode="append", idempotency_key=f"large {seed}"),
}
