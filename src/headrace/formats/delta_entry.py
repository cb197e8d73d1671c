"""The log's newest entries, read from their own files.

The wheel takes ten milliseconds to take in one entry, whatever is in it. Most entries only add and remove files,
and what those say is soon read. Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#actions.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.delta_write import UNIQUE
from headrace.formats.log_folder import LogFolder

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_PLACE = re.compile(r"[a-z0-9]+://[^/]*/")
_LOCAL = re.compile(r"(?:file:(?://)?)?/")
_STATISTICS = {"minValues": "min", "maxValues": "max", "nullCount": "null_count"}


class _Add(msgspec.Struct, rename="camel"):
    path: str
    size: int
    modification_time: int
    partition_values: dict[str, str | None]
    stats: str | None = None
    data_change: bool = True
    deletion_vector: Any = None


class _Remove(msgspec.Struct, rename="camel"):
    path: str
    data_change: bool = True
    deletion_vector: Any = None


class _Action(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """One line. An action that is not here may change the table's schema or protocol."""

    add: _Add | None = None
    remove: _Remove | None = None
    commit_info: dict[str, Any] | None = None
    txn: Any = None
    cdc: Any = None


_ACTION = msgspec.json.Decoder(_Action)
_COLUMNS = msgspec.json.Decoder(tuple[str, ...])


def follow(snapshot: Snapshot, folder: LogFolder) -> Snapshot | None:
    """`snapshot` brought up to the newest entry of its log; None where only the wheel can tell."""
    if snapshot.names is not None or snapshot.deleted:
        return None
    try:
        while True:
            try:
                lines = folder.entry(snapshot.version + 1).splitlines()
            except FileNotFoundError:
                break
            actions = [_ACTION.decode(line) for line in lines if line]
            followed = _apply(snapshot, actions, folder.table.uri) if actions else None
            if followed is None:
                return None
            snapshot = followed
        # Entries are only ever removed behind a checkpoint: without a later one, none is missing.
        return None if folder.checkpoint() > snapshot.version else snapshot
    except (OSError, msgspec.MsgspecError, pa.ArrowException, ValueError, TypeError, OverflowError):
        return None


def data_path(uri: str, path: str) -> str:
    """Where a file of the log lies, whose path there is relative and quoted, or of another folder.

    A log that others may write could name files that they may not read. So one elsewhere names files of its own bucket
    or cluster, and one on this machine those of this machine. Raises Unsupported.
    """
    name = unquote(path)
    if not name.startswith("/") and not _SCHEME.match(name):
        return f"{uri}/{name}"
    place = _PLACE.match(uri)
    if place is None and (found := _LOCAL.match(name)) is not None:
        return name[found.end() - 1 :]
    if place is not None and name.startswith(place.group()):
        return name
    raise Unsupported(f"the log of {uri} names a file that is in another storage: {name}")


def uniqueness(files: pa.Table, entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The columns in which no two rows are alike, as an entry says of the table that it made."""
    if files.num_rows == 0:
        return ()
    try:
        return _COLUMNS.decode(str(entry.get(UNIQUE)))
    except msgspec.MsgspecError:
        return None


def _apply(snapshot: Snapshot, actions: Sequence[_Action], uri: str) -> Snapshot | None:
    adds = [a.add for a in actions if a.add]
    removes = [a.remove for a in actions if a.remove]
    touched: list[_Add | _Remove] = [*adds, *removes]
    if any(x.deletion_vector is not None for x in touched):
        return None
    files = snapshot.files
    gone = [data_path(uri, x.path) for x in touched]
    if removes or files.num_rows:
        files = files.filter(pc.invert(pc.is_in(files["path"], pa.array(gone, pa.string()))))
    if adds:
        made = _files([_facts(add, uri) for add in adds], files.schema)
        if made is None:
            return None
        files = pa.concat_tables([files, made]).combine_chunks()
    entry = next((a.commit_info for a in actions if a.commit_info), {})
    same = not any(x.data_change for x in touched)
    unique = snapshot.unique if same else uniqueness(files, entry)
    return dataclasses.replace(snapshot, version=snapshot.version + 1, files=files, unique=unique)


def _facts(add: _Add, uri: str) -> dict[str, Any]:
    """What an entry says of a file, by the name of the column that holds it."""
    stats = msgspec.json.decode(add.stats) if add.stats else {}
    facts = {
        "path": data_path(uri, add.path),
        "size_bytes": add.size,
        "modification_time": add.modification_time,
        "num_records": stats.get("numRecords"),
    }
    named = [(f"partition.{name}", value or None) for name, value in add.partition_values.items()]
    for kind, prefix in _STATISTICS.items():
        named += _flat(prefix, stats.get(kind) or {})
    for name, value in named:
        if name in facts:
            raise ValueError(f"{name} is the name of two columns")
        facts[name] = value
    return facts


def _flat(prefix: str, values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}.{name}", value)
        else:
            yield f"{prefix}.{name}", value


def _files(facts: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table | None:
    """The rows of `Snapshot.files`; None where there is no column for something."""
    if not set().union(*facts) <= set(schema.names):
        return None
    return pa.table([_column([f.get(x.name) for f in facts], x.type) for x in schema], schema=schema)


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    told = [v for v in values if v is not None]
    if pa.types.is_decimal(kind) and not all(isinstance(v, str) for v in told):
        return pa.nulls(len(values), kind)  # statistics are floats, by which no file may be left out
    if told and all(isinstance(v, str) for v in told):
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            # Those of partitions are of UTC and do not say so.
            values = [v if v is None or v.endswith("Z") else f"{v}Z" for v in values]
        return pa.array(values, pa.string()).cast(kind)
    return pa.array(values, kind)
