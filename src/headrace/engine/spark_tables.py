"""Snapshots as Spark reads them: the same tables, at the same snapshots, by Spark's own readers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import Unsupported
from headrace.formats.base import Snapshot
from headrace.formats.streamed import StreamedSnapshot
from headrace.model.definition import GroupDefinition
from headrace.model.expression_sql import identifier, text
from headrace.storage.folder import Folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_PARTITIONS = 1_000
_SCHEMES = {"s3": "s3a"}
"""Names that Hadoop has for what has another name here."""
_TYPES = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
}


def spark_type(kind: pa.DataType) -> str | None:
    """The type of Spark's that holds all values of a type; None if there is none.

    Naive times are UTC, and become instants.
    """
    if kind in _TYPES:
        return _TYPES[kind]
    if pa.types.is_timestamp(kind):
        return None if kind.unit == "ns" else "TIMESTAMP"
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})" if kind.scale >= 0 else None
    if pa.types.is_list(kind):
        value = spark_type(kind.value_type)
        return value and f"ARRAY<{value}>"
    if pa.types.is_map(kind):
        key, value = spark_type(kind.key_type), spark_type(kind.item_type)
        return f"MAP<{key}, {value}>" if key and value else None
    if pa.types.is_struct(kind):
        fields = [(identifier(f.name, "spark"), spark_type(f.type)) for f in kind]
        return (
            f"STRUCT<{', '.join(f'{n}: {t}' for n, t in fields)}>"
            if fields and all(t for _, t in fields)
            else None
        )
    return None


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
        return _fitted(found, definition, snapshot.schema, {})
    return _of_files(session, definition, snapshot, files)


def _of_files(
    session: SparkSession, definition: GroupDefinition, snapshot: Snapshot, files: pa.Table
) -> DataFrame:
    """Of Parquet files, which are listed: by what Spark would make of the folder, old files would be there, too."""
    if files.num_rows == 0:
        return _fitted(session.range(0), definition, snapshot.schema, {})
    groups: dict[tuple[object, ...], list[str]] = {}
    for i, path in enumerate(files["path"].to_pylist()):
        values = tuple(files[f"partition.{c}"][i].as_py() for c in snapshot.partition_by)
        groups.setdefault(values, []).append(_address(path))
    if len(groups) > _MOST_PARTITIONS:
        raise Unsupported(
            f"{definition.ref} has files of {len(groups)} partitions, and Spark is given {_MOST_PARTITIONS} at most",
            hint="filter it by a partition column, or take engine='duckdb'",
        )
    parts = []
    for values, paths in groups.items():
        found = session.read.option("mergeSchema", "true").parquet(*map(_literal_path, paths))
        told = dict(zip(snapshot.partition_by, values, strict=True))
        parts.append(_fitted(found, definition, snapshot.schema, told))
    whole, *others = parts
    for other in others:
        whole = whole.unionAll(other)
    return whole


def _fitted(
    found: DataFrame, definition: GroupDefinition, schema: pa.Schema, told: dict[str, object]
) -> DataFrame:
    """The columns in the types of the schema. What the table does not have is null."""
    held = {field.name: field.dataType.typeName() for field in found.schema.fields}
    columns = []
    for field in schema:
        name = identifier(field.name, "spark")
        kind = spark_type(field.type)
        if kind is None:
            raise Unsupported(
                f"{definition.ref}: column {field.name!r} is {field.type}, which Spark does not have",
                hint="take engine='duckdb'",
            )
        if field.name in told:
            value = told[field.name]
            given = "NULL" if value is None else text(str(value), "spark")
            columns.append(f"CAST({given} AS {kind}) AS {name}")
        elif field.name not in held:
            columns.append(f"CAST(NULL AS {kind}) AS {name}")
        elif held[field.name] == "timestamp_ntz":
            columns.append(f"{instant_sql(name)} AS {name}")
        else:
            columns.append(f"CAST({name} AS {kind}) AS {name}")
    return found.selectExpr(*columns)


def instant_sql(name: str) -> str:
    """A time of no zone, which is UTC: of no session's zone, that a cast would take."""
    days = f"CAST(unix_date(CAST({name} AS DATE)) AS BIGINT) * 86400000000"
    clock = f"CAST((hour({name}) * 3600 + minute({name}) * 60) AS BIGINT) * 1000000"
    return f"timestamp_micros({days} + {clock} + CAST(extract(SECOND FROM {name}) * 1000000 AS BIGINT))"


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
