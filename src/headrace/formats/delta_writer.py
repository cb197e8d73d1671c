"""What changes a Delta table: atomic commits, and the removal of files, through the stock `deltalake` wheel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, WriterProperties, write_deltalake
from deltalake import Schema as DeltaSchema

from headrace.errors import Conflict, Unsupported
from headrace.formats.delta_failure import translated
from headrace.formats.delta_protocol import check_partitions, check_vacuumable, check_writable
from headrace.formats.delta_sync import sync_commit
from headrace.formats.delta_write import Write, properties
from headrace.formats.log_folder import LogFolder
from headrace.model.expression_sql import identifier
from headrace.storage.folder import Folder

COMPACTED_BYTES = 100 << 20
"""The size of the files that a compaction makes."""
# Training datasets are recomputed from snapshots however old, so that no entry of the log may expire.
_PROPERTIES = {
    "delta.setTransactionRetentionDuration": "interval 7 days",
    "delta.enableExpiredLogCleanup": "false",
}
# A reader holds a row group for each of its threads: those of the wheel's own size, a million rows, take hundreds of
# megabytes, and leave threads without work where a table has few of them. A dictionary of values that hardly repeat
# costs more to make and to read than it saves, and whoever wants one row decodes a page.
_FILES = WriterProperties(
    max_row_group_size=131_072,
    data_page_row_count_limit=4_096,
    dictionary_page_size_limit=128 << 10,
    compression="SNAPPY",
)


class DeltaWriter:
    """Changes one Delta table. It keeps nothing: each write opens the table at the snapshot on which it rests."""

    def __init__(self, table: Folder) -> None:
        self.table = table
        self._options = dict(table.options)

    def create(self, schema: pa.Schema, partition_by: Iterable[str], change_feed: bool) -> None:
        """Make an empty table; no error if one is there already."""
        with translated(self.table):
            DeltaTable.create(
                self.table.uri,
                schema,
                mode="ignore",
                partition_by=list(partition_by) or None,
                configuration=_configuration(change_feed),
                storage_options=self._options,
            )
            sync_commit(LogFolder(self.table), 0)

    def start(self, rows: Any, write: Write, partition_by: Iterable[str], change_feed: bool) -> None:
        """Make the table with its first rows, in one commit; fails if it is there already."""
        write.begun = True
        write_deltalake(
            self.table.uri,
            _unsliced(rows),
            mode="error",
            partition_by=list(partition_by) or None,
            configuration=_configuration(change_feed),
            storage_options=self._options,
            commit_properties=properties(write, first=True),
            writer_properties=_FILES,
        )

    def append(self, rows: Any, write: Write) -> None:
        """Add rows. With `write.base`, only if nothing was committed since that snapshot."""
        write_deltalake(
            self._base(write, removes=False),
            _unsliced(rows),
            mode="append",
            commit_properties=properties(write),
            writer_properties=_FILES,
        )

    def overwrite(self, rows: Any, write: Write) -> None:
        """Replace all rows."""
        write_deltalake(
            self._base(write),
            _unsliced(rows),
            mode="overwrite",
            commit_properties=properties(write),
            writer_properties=_FILES,
        )

    def exchange(self, rows: Any, write: Write, out: str, file_bytes: int | None = None) -> None:
        """Take out the rows for which the SQL condition `out` is true, and put `rows` in, which it must fit, too.

        Other than by a merge, which writes what it touches as one file, files stay of `file_bytes` where that is given.
        """
        write_deltalake(
            self._base(write),
            _unsliced(rows),
            mode="overwrite",
            predicate=out,
            target_file_size=file_bytes,
            commit_properties=properties(write),
            writer_properties=_FILES,
        )

    def merge(self, rows: Any, write: Write, scope: str | None) -> None:
        """Replace the rows whose identity is in `rows`, add the others. `scope` bounds the rows to replace."""
        self._merger(
            rows, write, write.keys, scope
        ).when_matched_update_all().when_not_matched_insert_all().execute()

    def replace(
        self, rows: Any, write: Write, scope: str | None, mark: str, exact: Sequence[str] = ()
    ) -> None:
        """Delete the rows of the identities that are marked true in `rows`, and insert those that are marked false.

        So several rows of one identity give way to one. Deleted are only those that are alike in the `exact` columns,
        nulls alike, which parts of an identity may be among.
        """
        columns = {identifier(c): f"s.{identifier(c)}" for c in rows.schema.names if c != mark}
        alike = [_alike(rows.schema.field(c)) for c in exact]
        deletes = " AND ".join([f"s.{identifier(mark)}", *([scope] if scope else []), *alike])
        merger = self._merger(rows, write, [k for k in write.keys if k not in exact], deletes)
        merger.when_matched_delete().when_not_matched_insert(columns, f"NOT s.{identifier(mark)}").execute()

    def remove(self, rows: Any, write: Write, exact: Sequence[str]) -> None:
        """Delete the rows that equal one of `rows` in the keys and, nulls alike, in the `exact` columns, which parts of
        an identity may be among.
        """
        alike = " AND ".join(_alike(rows.schema.field(c)) for c in exact)
        keys = [k for k in write.keys if k not in exact]
        self._merger(rows, write, keys, alike or None).when_matched_delete().execute()

    def add_columns(self, fields: pa.Schema, write: Write) -> None:
        """Add columns, which are null in every row that there is."""
        self._base(write, adds=False, removes=False, restructures=True).alter.add_columns(
            list(DeltaSchema.from_arrow(fields).fields), commit_properties=properties(write)
        )

    def rewrite(self, rows: Any, write: Write, partition_by: Iterable[str]) -> None:
        """Replace all rows, and the columns by those of `rows`.

        Raises:
            Unsupported: what the table says of its columns besides their types would be lost.
        """
        base = self._base(write, restructures=True)
        told = [field.name for field in base.schema().fields if not field.nullable or field.metadata]
        if told:
            raise Unsupported(
                f"{self.table.shown}: to widen a column all of them are declared anew, which would drop what is "
                f"required of {', '.join(map(repr, told))}: NOT NULL, how it is generated, or a comment",
                hint="widen it where the table was made",
            )
        write_deltalake(
            base,
            _unsliced(rows),
            mode="overwrite",
            schema_mode="overwrite",
            partition_by=list(partition_by) or None,
            commit_properties=properties(write),
            writer_properties=_FILES,
        )

    def restore(self, snapshot: int, write: Write) -> None:
        """Make the table what it was at a snapshot."""
        self._base(write).restore(snapshot, commit_properties=properties(write))

    def compact(self, zorder: Sequence[str], write: Write) -> bool:
        """Put the rows of small files into large ones. False if there are none.

        The wheel keeps the write's name in the entry alone, so that `committed` does not know it.
        """
        table = self._base(write, adds=False, removes=False, restructures=True)
        # Files go, but no rows, which an append-only table allows.
        check_partitions(table, self.table.shown, adds=True, removes=True)
        optimizer = table.optimize
        options = {
            "target_size": COMPACTED_BYTES,
            "writer_properties": _FILES,
            "commit_properties": properties(write),
        }
        done = optimizer.z_order(zorder, **options) if zorder else optimizer.compact(**options)
        return bool(done["numFilesRemoved"])

    def vacuum(self, retention_hours: int, dry_run: bool, keep: Sequence[int], full: bool) -> list[str]:
        """Remove files that no snapshot of the last hours needs; those of the snapshots to `keep` stay.

        With `full`, all files that the log does not name go as well, such as those of writes that were never committed.
        """
        with translated(self.table):
            table = DeltaTable(self.table.uri, storage_options=self._options)
            check_vacuumable(table, self.table.shown)
            gone: list[str] = table.vacuum(
                retention_hours,
                dry_run,
                enforce_retention_duration=False,
                full=full,
                keep_versions=list(keep) or None,
            )
            # Of files that an earlier vacuum has removed it tells again, and by whole paths where it misses them.
            return sorted(p for p in gone if (self._is_there(p) if dry_run else p[:1] != "/"))

    def _is_there(self, path: str) -> bool:
        return self.table.files.fact(f"{self.table.uri}/{path}") is not None

    def _merger(self, rows: Any, write: Write, keys: Iterable[str], extra: str | None) -> Any:
        tests = [f"t.{identifier(k)} = s.{identifier(k)}" for k in keys]
        return self._base(write).merge(
            _unsliced(rows),
            " AND ".join([*tests, *([extra] if extra else [])]) or "true",
            source_alias="s",
            target_alias="t",
            commit_properties=properties(write),
            writer_properties=_FILES,
        )

    def _base(
        self, write: Write, *, adds: bool = True, removes: bool = True, restructures: bool = False
    ) -> DeltaTable:
        # A handle of its own: a failed write may leave one between two versions.
        table = DeltaTable(self.table.uri, version=write.base, storage_options=self._options)
        if table.transaction_version(str(write.write_id)) is not None:
            # The wheel refuses a second commit only beside the first, not after it.
            raise Conflict(
                f"write {write.write_id} is in the log of {self.table.shown} already, which no longer tells what it did"
            )
        check_writable(table, self.table.shown, removes=removes, restructures=restructures)
        check_partitions(table, self.table.shown, adds=adds, removes=removes)
        write.begun = True
        return table


def _configuration(change_feed: bool) -> dict[str, str]:
    return _PROPERTIES | {"delta.enableChangeDataFeed": str(change_feed).lower()}


def _unsliced(rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The rows without slices of structs in structs, which end the process in the wheel.

    Source: an assertion of arrow-data 59 when it takes such a slice over from C.
    """
    if not any(_has_struct_in_struct(field.type) for field in rows.schema):
        return rows
    whole = (pa.ipc.read_record_batch(batch.serialize(), rows.schema) for batch in rows)
    return pa.RecordBatchReader.from_batches(rows.schema, whole)


def _has_struct_in_struct(kind: pa.DataType) -> bool:
    inner = [kind.field(i).type for i in range(kind.num_fields)]
    if pa.types.is_struct(kind) and any(map(pa.types.is_struct, inner)):
        return True
    return any(map(_has_struct_in_struct, inner))


def _alike(field: pa.Field) -> str:
    """The wheel tells 0.0 from -0.0, and NaN from NaN of other bits, where a filter and DISTINCT do not."""
    t, s = (f"{side}.{identifier(field.name)}" for side in "ts")
    if not pa.types.is_floating(field.type):
        return f"({t} IS NOT DISTINCT FROM {s})"
    return f"(({t} + 0.0 IS NOT DISTINCT FROM {s} + 0.0) OR (isnan({t}) AND isnan({s})))"
