"""Writes to a store on a disk that is full but for a few pages: run as a program, on a disk that is mounted for it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.config import store_config
from headrace.wiring import Service
from integration import acts, dataset_acts

_PAGE = 4096
_ROOM = 15
"""Pages that a result surely finds room in, and its index."""
_OLD = dict.fromkeys(range(1000), 0)

Write = Callable[[Any], Any]
WRITES: dict[str, tuple[Write, dict[int, int]]] = {
    "append": (
        lambda group: group.insert(acts.rows(range(1000, 3000), 1), mode="append", idempotency_key="k"),
        _OLD | dict.fromkeys(range(1000, 3000), 1),
    ),
    "upsert": (
        lambda group: group.insert(acts.rows(range(500, 1500), 1), idempotency_key="k"),
        _OLD | dict.fromkeys(range(500, 1500), 1),
    ),
    "upsert of few rows": (
        lambda group: group.insert(acts.rows(range(990, 1010), 1), idempotency_key="k"),
        _OLD | dict.fromkeys(range(990, 1010), 1),
    ),
    "overwrite": (
        lambda group: group.insert(acts.rows(range(2000), 1), mode="overwrite", idempotency_key="k"),
        dict.fromkeys(range(2000), 1),
    ),
    "delete": (
        lambda group: group.delete(filter=group["id"] >= 100, idempotency_key="k"),
        dict.fromkeys(range(100), 0),
    ),
}


UPKEEP: dict[str, Callable[[Any], Any]] = {
    "dataset": lambda store: store.get_feature_view("events").create_training_dataset(
        splits={"train": 0.5, "test": 0.5}
    ),
    "dataset of a spine": lambda store: store.get_feature_view("events").create_training_dataset(
        spine=dataset_acts.spine().slice(0, 300), format="arrow"
    ),
    "compact": lambda store: store.get_feature_group("events").compact(),
    "restore": lambda store: store.get_feature_group("events").restore(0, idempotency_key="k"),
    "vacuum": lambda store: store.get_feature_group("events").vacuum(retention_hours=0, dry_run=False),
}


def main(disk: Path, pages: range) -> list[tuple[str, str, int, str]]:
    """Of each write, by folder and by service: what became of it with so many pages left."""
    told = []
    service = Service(store_config(str(disk / "lake")), ["grpc://127.0.0.1:0"], cache_bytes=10_000_000)
    assert service._store.cache is not None
    service._store.cache.least_seconds = 0
    try:
        with hr.connect(disk / "lake") as embedded, hr.connect(service.listening[0]) as remote:
            for way, store in (("embedded", embedded), ("remote", remote)):
                for name in WRITES:
                    told += [(way, name, left, attempt(store, disk, name, left)) for left in pages]
                for name in UPKEEP:
                    told += [
                        (way, name, left, attempt_upkeep(store, disk, name, left)) for left in pages[::5]
                    ]
            told += [("remote", "join", left, attempt_join(remote, disk, left)) for left in pages]
    finally:
        service.stop()
    return told


def attempt(store: hr.FeatureStore, disk: Path, name: str, left: int) -> str:
    write, new = WRITES[name]
    group = store.create_feature_group("numbers", primary_key=["id"], schema=acts.SCHEMA)
    group.insert(acts.rows(range(1000), 0))
    with full(disk, left):
        try:
            write(group)
            told = "written"
        except hr.LimitExceeded as error:
            told = "refused" if "no space is left" in error.message else error.message
        assert content(group) == (new if told == "written" else _OLD), (name, left, told)
    if told != "written":
        assert list(disk.glob("lake/.headrace/scratch-*/*.arrow")) == []
        write(group)
        assert content(group) == new, (name, left)
    store.delete_feature_group("numbers", group.version)
    return told


def attempt_join(store: hr.FeatureStore, disk: Path, left: int) -> str:
    """What became of the result of a join, which its caller gets whatever becomes of it."""
    made = [store.create_feature_group(name, primary_key=["id"], schema=acts.SCHEMA) for name in ("a", "b")]
    for group in made:
        group.insert(acts.rows(range(1000), 1))
    joined = made[0].select("id").join(made[1].select("value"), on="id")
    with full(disk, left):
        for _ in range(2):
            assert joined.read().to_arrow().sort_by("id")["value"].to_pylist() == [1] * 1000
        told = "kept" if kept(store, 1 if left > _ROOM else 0) else "not kept"
    assert list(disk.glob("lake/.headrace/results/*.draft")) == []
    joined.read().to_arrow()
    assert kept(store, 1)
    assert joined.read().to_arrow().num_rows == 1000
    store.cache.clear()
    for group in made:
        store.delete_feature_group(group.name, group.version)
    return told


def kept(store: hr.FeatureStore, expected: int) -> int:
    """How many results are kept, once it is as many as expected, or after a moment."""
    until = time.monotonic() + 5
    while len(store.cache.list()) < expected and time.monotonic() < until:
        time.sleep(0.01)
    return len(store.cache.list())


def attempt_upkeep(store: hr.FeatureStore, disk: Path, name: str, left: int) -> str:
    group = store.create_feature_group("events", primary_key=["id"], event_time="at")
    group.insert(dataset_acts.numbers(range(500), 0))
    group.insert(dataset_acts.numbers(range(500, 1000), 0), mode="append")
    group.insert(dataset_acts.numbers(range(5), 1))
    view = store.create_feature_view("events", group.select())
    old, restored = dataset_acts.held(group), dataset_acts.held(group, 0)
    with full(disk, left):
        try:
            UPKEEP[name](store)
            told = "written"
        except hr.LimitExceeded as error:
            told = "refused" if "space" in str(error) else error.message
        assert dataset_acts.held(group) == (restored if (name, told) == ("restore", "written") else old)
        check_datasets(view, disk, int(name.startswith("dataset") and told == "written"))
    if told != "written":
        UPKEEP[name](store)
        assert dataset_acts.held(group) == (restored if name == "restore" else old)
        check_datasets(view, disk, int(name.startswith("dataset")))
        group.vacuum(retention_hours=0, dry_run=False)
        check_datasets(view, disk, int(name.startswith("dataset")))
    store.delete_feature_view("events", view.version, force=True)
    store.delete_feature_group("events", group.version)
    return told


def check_datasets(view: hr.FeatureView, disk: Path, number: int) -> None:
    """So many, all of them whole, and nothing else that is left of any."""
    datasets = view.list_training_datasets()
    assert len(datasets) == number
    assert all(map(dataset_acts.same, datasets))
    assert len(list(disk.glob("lake/default/events_*"))) == number
    left = {path.name.partition("-")[0] for path in disk.glob("lake/.headrace/scratch-*/*")}
    assert left <= {"held", "spill"}


@contextlib.contextmanager
def full(disk: Path, left: int) -> Iterator[None]:
    """Meanwhile so many pages are left."""
    room = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(room.f_bavail * room.f_frsize - left * _PAGE))
    try:
        yield
    finally:
        ballast.unlink()


def content(group: hr.FeatureGroup) -> dict[int, int]:
    rows = group.read().to_arrow().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["value"] for row in rows}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), range(int(sys.argv[2])))))
