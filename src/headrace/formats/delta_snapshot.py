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
from headrace.formats.stored_name import StoredName, paths, stored_names
from headrace.model.types import is_list, stored_type

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
        schema=_normal(schema),
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


def _normal(schema: pa.Schema) -> pa.Schema:
    """The table's schema in the types that Headrace stores, nullability apart."""
    return pa.schema([pa.field(field.name, _normal_type(field.type)) for field in schema])


def _normal_type(kind: pa.DataType) -> pa.DataType:
    """Times of no zone stay what they are."""
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return kind
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _normal_type(f.type)) for f in kind])
    if is_list(kind):
        return pa.list_(pa.field("element", _normal_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_normal_type(kind.key_type), _normal_type(kind.item_type))
    return stored_type(kind) or kind
