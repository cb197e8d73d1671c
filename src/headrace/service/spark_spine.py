"""The rows of a spine as Spark is given them: what it must see, as `c_…`, and what the result shows, as `g_…`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.engine.spark_columns import utc_sql
from headrace.errors import Unsupported
from headrace.model.duration import to_micros
from headrace.model.expression_sql import identifier, spark_name
from headrace.model.types import stored_type
from headrace.planning.plan import Plan
from headrace.planning.program import SPINE_ROW, SPINE_TIME, spine_columns
from headrace.planning.side_sql import spark_micros

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def spine_of(frame: DataFrame, plan: Plan) -> DataFrame:
    """Of a frame of Spark's, whose rows have numbers that rise with it."""
    assert plan.spine is not None
    given = frame.toDF(*map(spark_name, frame.columns))
    values = {f.name: _value(identifier(f.name, "spark"), f.dataType) for f in frame.schema.fields}
    time = plan.spine.time
    if time is None:
        assert plan.now is not None
        at = f"CAST({to_micros(plan.now)} AS BIGINT)"
    elif pa.types.is_null(plan.spine.schema.field(time).type):
        at = "CAST(NULL AS BIGINT)"
    else:
        at = spark_micros(values[time], plan.spine.schema.field(time).type)
    columns = {SPINE_ROW: "monotonically_increasing_id()", SPINE_TIME: at}
    columns |= {"c_" + c: values[c] for c in spine_columns(plan)}
    columns |= {"g_" + c: values[c] for c in frame.columns}
    return given.selectExpr(*(f"{value} AS {identifier(name, 'spark')}" for name, value in columns.items()))


def _value(name: str, kind: DataType) -> str:
    from pyspark.sql.types import StringType

    if kind.typeName() == "timestamp_ntz":
        return utc_sql(name, kind)
    # By a collation of its own, text would be compared otherwise than everywhere else.
    return f"CAST({name} AS STRING)" if isinstance(kind, StringType) else name


def plain_spine(columns: pa.Table, given: pa.Table | None) -> pa.Table:
    """Of rows in memory: `columns` are for the engine, `given` those that are shown."""
    sent = {
        name if name in (SPINE_ROW, SPINE_TIME) else f"c_{name}": _plain(name, column)
        for name, column in zip(columns.column_names, columns.columns, strict=True)
    }
    if given is not None:
        sent |= {
            f"g_{name}": _plain(name, column)
            for name, column in zip(given.column_names, given.columns, strict=True)
        }
    return pa.table(sent)


def _plain(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in the type of Spark's that holds all its values."""
    kind = pa.int32() if pa.types.is_null(column.type) else stored_type(column.type)
    if pa.types.is_uint64(column.type):
        kind = pa.decimal128(20)
    elif pa.types.is_duration(column.type):
        kind = pa.duration("us")
    try:
        if kind is not None:
            return column if column.type == kind else column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    raise Unsupported(
        f"spine: column {name!r} is {column.type}, of which Spark has not all values",
        hint="cast it, leave it out, or take engine='duckdb'",
    )
