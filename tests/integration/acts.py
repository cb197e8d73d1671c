"""What processes do with a store. Each gets the line to whoever started it first."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow as pa

import headrace as hr
from headrace.config import store_config
from headrace.wiring import Service

SCHEMA = pa.schema({"id": pa.int64(), "value": pa.int64()})


def rows(ids: range, value: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "value": pa.array([value] * len(ids), pa.int64())})


def insert(line: Connection, target: Any, ids: range, value: int, options: dict[str, Any]) -> Any:
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        return group.insert(rows(ids, value), **options)


def insert_half(line: Connection, target: Any, ids: range, value: int, options: dict[str, Any]) -> Any:
    """Gives half of the rows, says so, and gives the others when it is told to."""
    given = rows(ids, value)

    def halves() -> Iterator[pa.RecordBatch]:
        first, second = given.slice(0, len(ids) // 2), given.slice(len(ids) // 2)
        yield from first.to_batches()
        line.send("half")
        line.recv()
        yield from second.to_batches()

    with hr.connect(target) as store:
        reader = pa.RecordBatchReader.from_batches(SCHEMA, halves())
        return store.get_feature_group("numbers").insert(reader, **options)


def several(line: Connection, target: Any, calls: list[tuple[str, range, int, str]]) -> list[tuple[str, int]]:
    """Each call is (mode, "delete" or "compact", ids, value, key), or ("restore", …, snapshot, key).

    Tells what became of each, and of which snapshot.
    """
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        told = []
        for mode, ids, value, key in calls:
            try:
                if mode == "delete":
                    commit = group.delete(keys=rows(ids, 0).select(["id"]))
                elif mode == "compact":
                    commit = group.compact(zorder=["value"] if value else [])
                elif mode == "restore":
                    commit = group.restore(value, idempotency_key=key)
                else:
                    commit = group.insert(rows(ids, value), mode=mode, idempotency_key=key)
                told.append((commit.operation, commit.snapshot))
            except hr.HeadraceError as error:
                told.append((error.code, -1))
        return told


def delete(line: Connection, target: Any, below: int) -> Any:
    with hr.connect(target) as store:
        group = store.get_feature_group("numbers")
        line.send("ready")
        line.recv()
        return group.delete(filter=group["id"] < below)


def create_group(line: Connection, target: Any) -> None:
    with hr.connect(target) as store:
        line.send("ready")
        line.recv()
        store.create_feature_group("numbers", primary_key=["id"], schema=SCHEMA)


def delete_group(line: Connection, target: Any) -> None:
    with hr.connect(target) as store:
        line.send("ready")
        line.recv()
        store.delete_feature_group("numbers", 1)


def serve(line: Connection, root: Path) -> None:
    """A service; tells its address, and ends when it is told to."""
    service = Service(store_config(str(root)), ["grpc://127.0.0.1:0"])
    line.send(service.listening[0])
    line.recv()
    service.stop()


def codes(line: Connection, target: Any) -> list[str]:
    """What a read, an insert and a look at the group come to, for a user whom the files' modes bind."""
    bind_to_modes()
    told = []
    with hr.connect(target) as store:
        for act in (
            lambda: store.get_feature_group("numbers"),
            lambda: store.get_feature_group("numbers").read().to_arrow(),
            lambda: store.get_feature_group("numbers").insert(rows(range(1), 1)),
        ):
            try:
                act()
                told.append("done")
            except hr.HeadraceError as error:
                told.append(error.code)
    return told


def bind_to_modes() -> None:
    """Root reads and writes whatever the modes of files say, until it gives that up."""
    capabilities = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert capabilities.capget(header, sets) == 0
    sets[0] &= ~0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
    assert capabilities.capset(header, sets) == 0
