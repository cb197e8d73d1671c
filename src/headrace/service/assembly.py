"""Between the caller's spine, the engine's columns and the rows of the result.

The engine sees of a spine only row number, time, keys and what filters read; the spine's columns come back
as they were given, whatever their types, because they never pass through it.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import InvalidArgument, KeyMismatch, SchemaMismatch, Unsupported
from headrace.model.duration import to_micros
from headrace.model.types import decoded, decoded_type, without_views
from headrace.planning.plan import Plan
from headrace.planning.program import SPINE_ROW, SPINE_TIME, Program, spine_columns

_FIRST = to_micros(dt.datetime.min.replace(tzinfo=dt.UTC))
_LAST = to_micros(dt.datetime.max.replace(tzinfo=dt.UTC))


def engine_spine(plan: Plan, spine: pa.Table) -> tuple[pa.Table, bool]:
    """The columns of a spine that the engine needs, and whether its times are in nanoseconds."""
    assert plan.spine is not None
    columns: dict[str, pa.ChunkedArray | pa.Array] = {SPINE_ROW: pa.array(np.arange(spine.num_rows))}
    nanos = False
    if plan.spine.time is None:
        assert plan.now is not None
        columns[SPINE_TIME] = pa.repeat(pa.scalar(to_micros(plan.now), pa.int64()), spine.num_rows)
    else:
        columns[SPINE_TIME], nanos = _instants(plan.spine.time, spine.column(plan.spine.time))
    kinds = {
        left.column: plan.resolved.sides[lookup.side].type_of(key)
        for lookup in plan.lookups
        for left, key in lookup.on
        if plan.from_spine(left)
    }
    for name in spine_columns(plan):
        columns[name] = _comparable(name, spine.column(name), kinds.get(name))
    return pa.table(columns), nanos


def _instants(name: str, column: pa.ChunkedArray) -> tuple[pa.ChunkedArray, bool]:
    """Integers since 1970: microseconds, or nanoseconds where digits below a microsecond are used."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.int64()), False
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        ticks = column.cast(pa.int64())
        micros = pc.divide(ticks, 1000)
        if pc.all(pc.equal(pc.multiply(micros, 1000), ticks)).as_py() is not False:
            return micros, False
        return ticks, True
    try:
        if pa.types.is_date(kind):
            column = column.cast(pa.date32()).cast(pa.timestamp("us"))
        micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
        found = pc.min_max(micros).as_py()
        near = found["min"] is None or _FIRST <= found["min"] <= found["max"] <= _LAST
    except pa.ArrowInvalid:
        near = False
    if not near:
        raise InvalidArgument(f"spine: event time {name!r} holds a time outside the years 1 to 9999")
    return micros, False


def _comparable(name: str, column: pa.ChunkedArray, key: pa.DataType | None) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = pa.chunked_array([decoded(chunk) for chunk in column.chunks], decoded_type(column.type))
    if pa.types.is_float16(column.type):
        column = column.cast(pa.float32())
    if pa.types.is_decimal256(column.type):
        try:
            return column.cast(pa.decimal128(38, column.type.scale))
        except pa.ArrowInvalid:
            raise KeyMismatch(
                f"spine: {name!r} has more than 38 digits, which no stored decimal has"
            ) from None
    if pa.types.is_null(column.type) and key is not None:
        return column.cast(key)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        try:
            return column.cast(pa.timestamp("us", column.type.tz))
        except pa.ArrowInvalid:
            raise KeyMismatch(
                f"spine: {name!r} has digits below a microsecond, which no stored time has"
            ) from None
    return column


class Assembly:
    """Turns the engine's batches into batches of the result."""

    def __init__(self, plan: Plan, program: Program, spine: pa.Table | None) -> None:
        self._schema = plan.schema
        self._now = plan.now
        self._call_times = {i for i, o in enumerate(plan.outputs) if o.call_time}
        self._ambiguous = program.ambiguous
        self._spine = spine
        self._rising = not plan.ordered and len(plan.parts) < 2
        self._places = {output: i + (spine is not None) for i, output in enumerate(program.outputs)}
        self._flags = len(self._places) + (spine is not None)

    def ambiguous_side(self, batch: pa.RecordBatch) -> int | None:
        """The first side in which a row of the batch found several rows at once; None if there is none."""
        for i, side in enumerate(self._ambiguous):
            if pc.any(batch.column(self._flags + i)).as_py():
                return side
        return None

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        given = None if self._spine is None else _rows(self._spine, batch.column(0), self._rising)
        columns = []
        for i, field in enumerate(self._schema):
            if i in self._places:
                columns.append(_as(batch.column(self._places[i]), field.type))
            elif i in self._call_times:
                columns.append(pa.repeat(pa.scalar(self._now, field.type), batch.num_rows))
            else:
                assert given is not None
                columns.append(_whole(given.column(field.name)))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _rows(spine: pa.Table, rows: pa.Array, rising: bool) -> pa.Table:
    """The spine's rows with these numbers; of those that rise, a run without gaps is only sliced."""
    if len(rows) == 0:
        return spine.slice(0, 0)
    first, last = rows[0].as_py(), rows[-1].as_py()
    if rising and last - first + 1 == len(rows):
        return spine.slice(first, len(rows))
    columns = [_take(field, column, rows) for field, column in zip(spine.schema, spine.columns, strict=True)]
    return pa.table(columns, schema=spine.schema)


def _take(field: pa.Field, column: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    plain = without_views(field.type)
    try:
        return column.take(rows) if plain == field.type else column.cast(plain).take(rows).cast(field.type)
    except pa.ArrowNotImplementedError:
        raise Unsupported(
            f"spine: column {field.name!r} is {field.type}, whose rows Arrow cannot pick",
            hint="cast it to a plain type, or leave it out",
        ) from None


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pa.array([], column.type)
    joined = column.combine_chunks()
    if isinstance(joined, pa.ChunkedArray):
        raise SchemaMismatch(
            "one batch of a spine column is larger than Arrow can hold", hint="use smaller batches"
        )
    return joined


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type.equals(kind) else column.cast(kind)
