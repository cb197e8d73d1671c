"""What processes do with a store of training datasets, and how a table of many small files is kept up.

Each gets the line to whoever started it first.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

import headrace as hr
from headrace.formats.delta import DeltaLog
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
    "the spine": (dataset_writing, "_write_spine"),
    "the move": (LocalStorage, "move"),
    "the registration": (Registry, "create_dataset"),
    "the removal from the registry": (Registry, "delete_dataset"),
    "the removal of the view": (Registry, "delete_view"),
    "the removal of the files": (LocalStorage, "remove"),
    "the compaction": (DeltaLog, "compact"),
    "the vacuum": (DeltaLog, "vacuum"),
    "the restore": (DeltaLog, "restore"),
}
"""Functions before and after which a process may be made to die."""


def act(line: Connection, target: Any, name: str) -> None:
    with hr.connect(target) as store:
        line.send("ready")
        line.recv()
        ACTS[name](store)


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
