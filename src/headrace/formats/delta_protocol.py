"""What a Delta table asks of those who read and write it.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#valid-feature-names-in-table-features.
"""

from __future__ import annotations

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
