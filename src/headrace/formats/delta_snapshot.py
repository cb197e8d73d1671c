"""A snapshot of a Delta table, as the wheel tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from headrace.formats.base import Numbers, Snapshot
from headrace.formats.delta_entry import data_path, uniqueness
from headrace.formats.delta_feed import keeps_changes
from headrace.formats.delta_protocol import check_readable, has_exact_files, mapping_mode, may_mark_rows
from headrace.formats.normal_schema import normal_schema
from headrace.formats.stored_name import StoredName, paths, stored_names

_PHYSICAL_NAME = b"delta.columnMapping.physicalName"
_STATISTICS = ("min", "max", "null_count")


def snapshot_of(table: DeltaTable, uri: str, entry: Mapping[str, Any]) -> Snapshot:
    """Raises Unsupported if the table needs to be read in a way that is not known here."""
    check_readable(table, uri)
    schema = pa.schema(table.schema().to_arrow())
    names = stored_names(schema, _PHYSICAL_NAME) if mapping_mode(table) == "name" else None
    files = _named(pa.table(table.get_add_actions(flatten=True)), names)
    found = [data_path(uri, path) for path in files["path"].to_pylist()]
    files = files.set_column(files.schema.get_field_index("path"), "path", pa.array(found, pa.string()))
    metadata = table.metadata()
    return Snapshot(
        version=table.version(),
        schema=normal_schema(schema),
        files=files,
        partition_by=tuple(metadata.partition_columns),
        unique=uniqueness(files, entry),
        exact=has_exact_files(table),
        names=names,
        deleted=_deleted(table, uri) if may_mark_rows(table) else {},
        keeps_changes=keeps_changes(metadata.configuration),
    )


def _named(files: pa.Table, names: Mapping[str, StoredName] | None) -> pa.Table:
    """The statistics under the names that columns have in the table, without those of columns that are gone."""
    if names is None:
        return files
    told = dict(paths(names))
    wanted: dict[str, str] = {}
    for name in files.column_names:
        kind, _, path = name.partition(".")
        if kind not in _STATISTICS:
            wanted[name] = name
        elif path in told:
            wanted[name] = f"{kind}.{told[path]}"
    return files.select(list(wanted)).rename_columns(list(wanted.values()))


def _deleted(table: DeltaTable, uri: str) -> dict[str, Numbers]:
    """The rows that deletion vectors take away, by the paths of their files."""
    root = table.table_uri.rstrip("/") + "/"
    found = {}
    for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
        for path, kept in zip(batch["filepath"], batch["selection_vector"], strict=True):
            name = path.as_py().removeprefix(root).removeprefix("file://")
            found[data_path(uri, name)] = np.flatnonzero(~kept.values.to_numpy(zero_copy_only=False))
    return found
