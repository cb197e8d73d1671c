"""A snapshot of a Delta table, as the wheel tells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from headrace.errors import Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.delta_entry import data_path, uniqueness
from headrace.model.types import stored_type

_READABLE_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "appendOnly"})


def _check_readable(table: DeltaTable, uri: str) -> None:
    features = set(table.protocol().reader_features or ())
    strange = sorted(features - _READABLE_FEATURES)
    mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    if strange or mapped:
        raise Unsupported(
            f"{uri} uses {', '.join(strange) or 'columnMapping'}, which Headrace does not read",
            hint="rewrite the table without that feature",
        )


def snapshot_of(table: DeltaTable, uri: str, entry: Mapping[str, Any]) -> Snapshot:
    _check_readable(table, uri)
    actions = pa.table(table.get_add_actions(flatten=True))
    paths = [data_path(uri, path) for path in actions["path"].to_pylist()]
    files = actions.set_column(actions.schema.get_field_index("path"), "path", pa.array(paths, pa.string()))
    return Snapshot(
        version=table.version(),
        schema=_normal(pa.schema(table.schema().to_arrow())),
        files=files,
        partition_by=tuple(table.metadata().partition_columns),
        unique=uniqueness(files, entry),
    )


def _normal(schema: pa.Schema) -> pa.Schema:
    """The table's schema in the types that Headrace stores, nullability apart."""
    fields = []
    for field in schema:
        naive = pa.types.is_timestamp(field.type) and field.type.tz is None
        fields.append(pa.field(field.name, field.type if naive else stored_type(field.type) or field.type))
    return pa.schema(fields)
