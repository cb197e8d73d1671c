"""What a Delta table asks of those who read and write it.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#valid-feature-names-in-table-features.
"""

from __future__ import annotations

import pyarrow as pa
from deltalake import DeltaTable

from headrace.errors import Unsupported

_READABLE = frozenset(
    {
        "appendOnly",
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
# Those that the wheel keeps to.
_WRITABLE = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "invariants",
        "timestampNtz",
        "v2Checkpoint",
    }
)
# With any other, files may have columns in other types, under other names, or more of them.
_EXACT = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "checkpointProtection",
        "clustering",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",
        "inCommitTimestamp",
        "invariants",
        "timestampNtz",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
_IDENTITY_VERSION = 6
_HINT = "rewrite the table without that feature"


def check_readable(table: DeltaTable, uri: str) -> None:
    """Raises Unsupported."""
    strange = sorted(set(table.protocol().reader_features or ()) - _READABLE)
    mode = mapping_mode(table)
    if mode not in ("none", "name"):
        strange.append(f"columnMapping by {mode}")
    if strange:
        raise Unsupported(f"{uri} uses {', '.join(strange)}, which Headrace does not read", hint=_HINT)


def check_writable(table: DeltaTable, uri: str, *, removes: bool = False, restructures: bool = False) -> None:
    """Raises Unsupported.

    Args:
        removes: the write takes rows away, or replaces them.
        restructures: it changes the columns, or all files.
    """
    strange = sorted(_writer_features(table) - _WRITABLE)
    if strange:
        raise Unsupported(f"{uri} uses {', '.join(strange)}, which Headrace does not write", hint=_HINT)
    if removes and table.metadata().configuration.get("delta.appendOnly", "false").lower() == "true":
        raise Unsupported(f"{uri} is append-only: none of its rows may be replaced or deleted")
    if restructures and mapping_mode(table) != "none":
        raise Unsupported(
            f"{uri} uses columnMapping, with which Headrace neither changes columns nor compacts files"
        )


def check_partitions(table: DeltaTable, uri: str, *, adds: bool, removes: bool) -> None:
    """Raises Unsupported for partitions that the wheel would damage.

    Args:
        adds: the write makes files.
        removes: it takes files out.
    """
    partitions = table.metadata().partition_columns
    if not partitions:
        return
    schema = pa.schema(table.schema().to_arrow())
    for name in partitions if adds else ():
        kind = schema.field(name).type
        if pa.types.is_decimal(kind) or pa.types.is_floating(kind) or pa.types.is_binary(kind):
            raise Unsupported(
                f"{uri} is partitioned by {name!r}, which is {kind}: deltalake writes other values than it is given",
                hint="write it with what made it, or partition it by other columns",
            )
    if removes:
        # The wheel encodes the names of such files anew, and the log then does not know them for gone.
        paths = pa.table(table.get_add_actions())["path"].to_pylist()
        strange = next((path for path in paths if not path.isascii()), None)
        if strange is not None:
            raise Unsupported(
                f"{uri} has a file named {strange!r}, which deltalake cannot take out: rows may be added alone",
                hint="write it with what made it, or write the table anew",
            )


def check_vacuumable(table: DeltaTable, uri: str) -> None:
    """Raises Unsupported."""
    check_writable(table, uri)
    if may_mark_rows(table):
        # The wheel takes the files of deletion vectors for left-overs.
        raise Unsupported(f"{uri} uses deletionVectors, of which Headrace removes no files")


def may_mark_rows(table: DeltaTable) -> bool:
    """Whether rows may be deleted that are still in their files."""
    return "deletionVectors" in (table.protocol().reader_features or ())


def mapping_mode(table: DeltaTable) -> str:
    """How columns are found in files: by the `name` or the `id` that the schema tells, or by their own: `none`."""
    return str(table.metadata().configuration.get("delta.columnMapping.mode", "none"))


def has_exact_files(table: DeltaTable) -> bool:
    """Whether files have no columns but those of the table, under their names and in their types."""
    return _EXACT.issuperset(_writer_features(table)) and mapping_mode(table) == "none"


def _writer_features(table: DeltaTable) -> set[str]:
    protocol = table.protocol()
    if protocol.writer_features is None and protocol.min_writer_version == _IDENTITY_VERSION:
        return {"identityColumns"}
    return set(protocol.writer_features or ())
