"""The change feed of a Delta table, from the entries of its log.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#change-data-files. A commit that has `cdc` files is
told by them alone; in any other one, each file added is inserted rows, and each file removed deleted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import pyarrow as pa

from headrace.errors import CorruptTable, SnapshotNotFound, Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.delta_entry import data_path
from headrace.formats.delta_write import UPDATED, WIDENED
from headrace.formats.feed import Feed
from headrace.formats.log_folder import LogFolder
from headrace.storage.files import lost

_ENABLED = "delta.enableChangeDataFeed"


class _File(msgspec.Struct, rename="camel"):
    path: str
    data_change: bool = True
    partition_values: dict[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    deletion_vector: Any = None


class _Metadata(msgspec.Struct):
    configuration: dict[str, str] = {}


class _Action(msgspec.Struct, rename="camel"):
    add: _File | None = None
    remove: _File | None = None
    cdc: _File | None = None
    commit_info: dict[str, Any] | None = None
    meta_data: _Metadata | None = None


_ACTION = msgspec.json.Decoder(_Action)


def keeps_changes(configuration: Mapping[str, str | None]) -> bool:
    """Whether commits to a table of these properties keep what they change."""
    return str(configuration.get(_ENABLED)).lower() == "true"


def feed(
    folder: LogFolder,
    since: int,
    until: Snapshot,
    identity: tuple[str, ...],
    kept_at: Callable[[int], bool],
) -> Feed:
    """The changes of the commits after `since`, up to the snapshot `until`.

    Args:
        kept_at: tells of a snapshot whether the table kept a change feed then.

    Raises:
        SnapshotNotFound: a commit, or a file of it, is no longer there.
        Unsupported: a commit kept no change feed, or marked rows as deleted in their file.
    """
    rows: list[dict[str, Any]] = []
    kept = None
    for version in range(since + 1, until.version + 1):
        actions = _actions(folder, version)
        properties = next((a.meta_data.configuration for a in actions if a.meta_data), None)
        if properties is not None:
            kept = keeps_changes(properties)
        elif kept is None:
            kept = kept_at(version)
        if not kept and any(f and f.data_change for a in actions for f in (a.add, a.remove)):
            raise Unsupported(
                f"snapshot {version} of {folder.table.shown} kept no change feed",
                hint="read changes since that snapshot, or a later one",
            )
        rows += _changes(folder, version, actions, until)
    schema = pa.schema(
        [
            ("path", pa.string()),
            ("num_records", pa.int64()),
            ("size_bytes", pa.int64()),
            ("change", pa.string()),
            ("commit", pa.int64()),
            ("time", pa.int64()),
            ("paired", pa.bool_()),
            *((f"partition.{name}", pa.string()) for name in until.partition_by),
        ]
    )
    files = pa.Table.from_pylist(rows, schema)
    gone = lost(folder.files, files["path"].to_pylist())
    if gone is not None:
        raise SnapshotNotFound(
            f"changes since snapshot {since} are no longer there: {gone} is missing",
            hint="read changes since a later snapshot; a vacuum removes old ones",
        )
    return Feed(
        version=until.version,
        schema=until.schema,
        files=files,
        partition_by=until.partition_by,
        identity=identity,
        exact=until.exact,
        names=until.names,
    )


def _actions(folder: LogFolder, version: int) -> list[_Action]:
    try:
        return [_ACTION.decode(line) for line in folder.entry(version).splitlines() if line]
    except FileNotFoundError:
        raise SnapshotNotFound(
            f"the commit of snapshot {version} is no longer in the log of {folder.table.shown}",
            hint="read changes since a later snapshot",
        ) from None
    except msgspec.MsgspecError as error:
        raise CorruptTable(
            f"entry {version} of the log of {folder.table.shown} cannot be read: {error}"
        ) from None


def _changes(
    folder: LogFolder, version: int, actions: list[_Action], until: Snapshot
) -> Iterator[dict[str, Any]]:
    table = folder.table
    info = next((a.commit_info for a in actions if a.commit_info), {})
    if WIDENED in info:
        return
    told = [a.cdc for a in actions if a.cdc]
    added = [a.add for a in actions if a.add and a.add.data_change]
    removed = [a.remove for a in actions if a.remove and a.remove.data_change]
    columns = {stored.name: name for name, stored in (until.names or {}).items()}
    changed: list[tuple[str | None, _File]] = [(None, f) for f in told]
    if not told:
        changed = [*(("delete", f) for f in removed), *(("insert", f) for f in added)]
    for change, file in changed:
        if file.deletion_vector is not None:
            raise Unsupported(
                f"snapshot {version} of {table.shown} marks rows as deleted in their file, which is not read"
            )
        if file.partition_values is None and until.partition_by:
            raise Unsupported(
                f"snapshot {version} of {table.shown} does not tell the partition of {file.path}"
            )
        try:
            stats = msgspec.json.decode(file.stats, type=dict) if file.stats else {}
        except msgspec.MsgspecError as error:
            raise CorruptTable(
                f"snapshot {version} of {table.shown} tells what cannot be read of {file.path}: {error}"
            ) from None
        yield {
            "path": data_path(table.uri, file.path),
            "num_records": stats.get("numRecords"),
            "size_bytes": file.size or 0,
            "change": change,
            "commit": version,
            "time": folder.time(version, info) * 1000,
            "paired": UPDATED in info,
            **{f"partition.{columns.get(k, k)}": v or None for k, v in (file.partition_values or {}).items()},
        }
