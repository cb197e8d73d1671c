"""Snapshots as Spark reads them: the same tables, at the same snapshots, by Spark's own readers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.engine.spark_columns import fitted
from headrace.engine.spark_type import read_type, spark_type
from headrace.errors import CorruptTable, Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.folder.parquet import ParquetSnapshot
from headrace.formats.footers import FooterSnapshot
from headrace.formats.normal_schema import normal_schema
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.definition import GroupDefinition
from headrace.storage.failure import failure
from headrace.storage.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_MOST_PARTITIONS = 1_000
_OPTIONS = {
    # As they stand in the files, whoever wrote these.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
}
_SCHEMES = {"s3": "s3a"}
"""Names that Hadoop has for what has another name here."""


def table_of(
    session: SparkSession, definition: GroupDefinition, folder: Folder, snapshot: Snapshot, files: pa.Table
) -> DataFrame:
    """The rows of a snapshot, or of those of its `files` that may matter, in the columns of its schema.

    Raises:
        Unsupported: Spark does not read such a table, or has no such type.
    """
    if definition.external is not None or (
        isinstance(snapshot, StreamedSnapshot) and definition.format not in ("csv", "arrow")
    ):
        raise Unsupported(
            f"{definition.ref} is a table of another database, which Spark is not given",
            hint="take engine='duckdb', or insert its rows into a feature group",
        )
    if isinstance(snapshot, StreamedSnapshot):
        raise Unsupported(
            f"{definition.ref} is a folder of {definition.format} files, which Spark may read otherwise",
            hint="take engine='duckdb', or insert its rows into a feature group",
        )
    if definition.format == "delta":
        found = (
            session.read.format("delta").option("versionAsOf", snapshot.version).load(_address(folder.uri))
        )
        return fitted(found, definition, snapshot.schema, {})
    return _of_files(session, definition, snapshot, files)


def _of_files(
    session: SparkSession, definition: GroupDefinition, snapshot: Snapshot, files: pa.Table
) -> DataFrame:
    """Of Parquet files, which are listed: by what Spark would make of the folder, old files would be there, too."""
    if files.num_rows == 0:
        return fitted(session.range(0), definition, snapshot.schema, {})
    groups: dict[tuple[pa.Schema, tuple[object, ...]], list[str]] = {}
    paths = files["path"].to_pylist()
    for i, (path, schema) in enumerate(zip(paths, _schemas(snapshot, paths), strict=True)):
        if isinstance(snapshot, ParquetSnapshot) and path in snapshot.finer:
            raise Unsupported(
                f"{definition.ref}: {path} has times in nanoseconds, which Spark does not have",
                hint="take engine='duckdb', or write the file anew with microseconds",
            )
        if any(_has_half(field.type) for field in schema):
            raise Unsupported(
                f"{definition.ref}: {path} has floats of 16 bits, which Spark does not have",
                hint="take engine='duckdb', or write the file anew with floats of 32 bits",
            )
        values = tuple(files[f"partition.{c}"][i].as_py() for c in snapshot.partition_by)
        groups.setdefault((normal_schema(schema), values), []).append(_literal_path(_address(path)))
    if len(groups) > _MOST_PARTITIONS:
        raise Unsupported(
            f"{definition.ref} has files of {len(groups)} partitions or types, and Spark is given at most"
            f" {_MOST_PARTITIONS}",
            hint="filter it by a partition column, or take engine='duckdb'",
        )
    parts = []
    for (schema, values), alike in groups.items():
        found = session.read.options(**_OPTIONS).schema(_read_as(schema, snapshot.schema)).parquet(*alike)
        told = dict(zip(snapshot.partition_by, values, strict=True))
        parts.append(fitted(found, definition, snapshot.schema, told))
    whole, *others = parts
    for other in others:
        whole = whole.unionAll(other)
    return whole


def _has_half(kind: pa.DataType) -> bool:
    return pa.types.is_float16(kind) or any(_has_half(kind.field(i).type) for i in range(kind.num_fields))


def _schemas(snapshot: Snapshot, paths: list[str]) -> list[pa.Schema]:
    assert isinstance(snapshot, FooterSnapshot)
    assert snapshot.footers is not None
    try:
        return snapshot.footers.schemas(paths)
    except FileNotFoundError as error:
        raise CorruptTable(f"a file of a table cannot be read: {error}") from None
    except OSError as error:
        raise failure(str(error.filename), error.strerror or error, error.errno) from error


def _read_as(file: pa.Schema, table: pa.Schema) -> StructType:
    """The columns of a file in its own types. What Spark would find these to be hangs on settings."""
    from pyspark.sql import types

    fields = []
    for field in table:
        if field.name in file.names and not pa.types.is_null(file.field(field.name).type):
            kind, held = spark_type(field.type), spark_type(file.field(field.name).type)
            if kind is not None and held is not None:
                fields.append(types.StructField(field.name, read_type(kind, held)))
    return types.StructType(fields)


def _address(path: str) -> str:
    """By which Hadoop finds a file or folder. Raises Unsupported."""
    scheme, separator, rest = path.partition("://")
    if not separator:
        return path
    if scheme == "hopsfs":
        raise Unsupported("tables in HopsFS are not read by Spark from here", hint="take engine='duckdb'")
    return f"{_SCHEMES.get(scheme, scheme)}://{rest}"


def _literal_path(path: str) -> str:
    """Hadoop takes some letters for a pattern."""
    return re.sub(r"[*?\[\]{}\\]", r"\\\g<0>", path)
