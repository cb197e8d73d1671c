"""What processes do with a store of training datasets, and how a table of many small files is kept up.

Each gets the line to whoever started it first.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

import headrace as hr
from headrace.formats.delta_writer import DeltaWriter
from headrace.registry.registry import Registry
from headrace.service import dataset_writing
from headrace.storage.local import LocalStorage

ROWS = 3000
SPLITS = {"train": 0.6, "validation": 0.2, "test": 0.2}


def numbers(ids: range, value: int) -> pa.Table:
    """An event every minute."""
    times = pa.array([i * 60_000_000 for i in ids], pa.timestamp("us", "UTC"))
    return pa.table({"id": pa.array(ids, pa.int64()), "at": times, "value": pa.array([value] * len(ids))})


def build(root: Path) -> None:
    """Snapshots 0 to 5 append 500 rows each, 6 replaces the first 200; and a view of all."""
    with hr.connect(root) as store:
        group = store.create_feature_group("numbers", primary_key=["id"], event_time="at")
        for start in range(0, ROWS, 500):
            group.insert(numbers(range(start, start + 500), 0), mode="append")
        group.insert(numbers(range(200), 1))
        store.create_feature_view("view", group.select())


def spine() -> pa.Table:
    """Rows for the view, in another order than that of their times."""
    times = pa.array([(i * 37 % ROWS) * 60_000_000 for i in range(1000)], pa.timestamp("us", "UTC"))
    notes = pa.array([f"note {i}" for i in range(1000)]).dictionary_encode()
    return pa.table({"id": pa.array(range(1000), pa.int64()), "at": times, "note": notes})


def held(group: hr.FeatureGroup, snapshot: int | None = None) -> Counter[tuple[int, int]]:
    found = group.read(snapshot=snapshot).to_arrow()
    return Counter(zip(found["id"].to_pylist(), found["value"].to_pylist(), strict=True))


ACTS: dict[str, Callable[[hr.FeatureStore], Any]] = {
    "dataset": lambda store: store.get_feature_view("view").create_training_dataset(splits=SPLITS),
    "dataset of a spine": lambda store: store.get_feature_view("view").create_training_dataset(
        splits=SPLITS, spine=spine(), format="arrow"
    ),
    "large dataset": lambda store: store.get_feature_view("view").create_training_dataset(format="csv"),
    "deletion": lambda store: store.get_feature_view("view").delete_training_dataset(1),
    "deletion of the view": lambda store: store.delete_feature_view("view", 1, force=True),
    "compact": lambda store: store.get_feature_group("numbers").compact(),
    "zorder": lambda store: store.get_feature_group("numbers").compact(zorder=["value", "id"]),
    "vacuum": lambda store: store.get_feature_group("numbers").vacuum(retention_hours=0, dry_run=False),
    "restore": lambda store: store.get_feature_group("numbers").restore(3, idempotency_key="once"),
}
STEPS: dict[str, tuple[Any, str]] = {
    "a file": (dataset_writing, "write_file"),
    "the spine": (dataset_writing, "write_spine"),
    "the move": (LocalStorage, "move"),
    "the registration": (Registry, "create_dataset"),
    "the removal from the registry": (Registry, "delete_dataset"),
    "the removal of the view": (Registry, "delete_view"),
    "the removal of the files": (LocalStorage, "remove"),
    "the compaction": (DeltaWriter, "compact"),
    "the vacuum": (DeltaWriter, "vacuum"),
    "the restore": (DeltaWriter, "restore"),
}
"""Functions before and after which a process may be made to die."""


def act(line: Connection, target: Any, name: str) -> None:
    with hr.connect(target) as store:
        line.send("ready")
        line.recv()
        ACTS[name](store)


def make_datasets(line: Connection, target: Any, seed: int, seconds: float) -> Counter[str]:
    """Makes datasets of all kinds, one after the other, each of which is what it is recomputed as; tells what became."""
    chance, told = random.Random(seed), Counter[str]()
    with hr.connect(target) as store:
        view = store.get_feature_view("view")
        line.send("ready")
        line.recv()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            options: dict[str, Any] = {"format": chance.choice(["parquet", "arrow", "csv"])}
            if chance.random() < 0.4:
                options["spine"] = spine()
            if chance.random() < 0.5:
                options |= {"splits": SPLITS, "seed": chance.randrange(100)}
            try:
                made = view.create_training_dataset(**options)
            except (hr.Conflict, hr.SnapshotNotFound, hr.CorruptTable) as error:
                told[error.code] += 1
                continue
            assert same(made), made
            told["made"] += 1
    return told


def same(dataset: hr.TrainingDataset) -> bool:
    """Whether what is stored is what is recomputed."""
    stored = dataset.read().to_arrow()
    assert stored.num_rows == sum(dataset.rows.values())
    return bool(stored.equals(dataset.recompute().to_arrow()))


WRITES = ["upsert", "append", "overwrite", "compact", "restore"]


def change_always(line: Connection, target: Any, seed: int, acts: list[str]) -> Counter[str]:
    """Writes to the group, and with "vacuum" removes all that can be removed, until it is told to stop."""
    chance, told, fresh = random.Random(seed), Counter[str](), (seed + 1) * 10**6
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        while not line.poll():
            what = chance.choice(acts)
            start, value = chance.randrange(ROWS), chance.randrange(10**6)
            if what == "append":
                start = fresh = fresh + 1000
            try:
                if what == "compact":
                    group.compact(zorder=chance.choice([(), ("value",)]))
                elif what == "vacuum":
                    group.vacuum(retention_hours=0, dry_run=False)
                elif what == "restore":
                    group.restore(chance.choice(group.history(5)).snapshot)
                else:
                    ids = range(start, start + chance.choice([10, 400]))
                    group.insert(numbers(ids, value), mode=what)
                told[what] += 1
            except (hr.Conflict, hr.SnapshotNotFound) as error:
                told[f"{what}: {error.code}"] += 1
    return told


def die(line: Connection, target: Any, name: str, step: str, when: str) -> None:
    """Acts, and is killed before or after a step, the first time."""
    owner, function = STEPS[step]
    run = getattr(owner, function)

    def dying(*arguments: Any, **options: Any) -> None:
        if when == "after":
            run(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, function, dying)
    act(line, target, name)
