"""Rows on their way in: checked, and cast to the types that are stored, batch by batch."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import BadData, DuplicateKeys, InvalidArgument, NullKeys, SchemaMismatch
from headrace.model.definition import GroupDefinition
from headrace.model.name import check_columns
from headrace.model.types import (
    TIMESTAMP,
    check_fields,
    decoded,
    extension,
    fits,
    is_list,
    is_string,
    key_family,
    stored_type,
)
from headrace.service.fitting import misfit, to_stored

_SHOWN = 20
_LONGEST_FOLDER = 255
_RETYPE = (
    "cast the column to the type that is stored (pandas makes integers with gaps float until .astype('Int64')); or "
    "make a version of the group whose schema= has room for it"
)
_TO_TIMES = "make the column a timestamp: texts, in pandas, by pd.to_datetime(…, utc=True)"
_ROUND = "times are stored in microseconds: round them first, in pandas with .dt.floor('us')"
_ALL_COLUMNS = (
    "each insert brings all columns of the group: add_features adds some, other ones are a new version"
)
_TIMES = (dt.datetime.min, dt.datetime.max)
_UNITS = {
    "s": dt.timedelta(seconds=1),
    "ms": dt.timedelta(milliseconds=1),
    "us": dt.timedelta(microseconds=1),
}
_LOST_PARTITIONS = ["", "__HIVE_DEFAULT_PARTITION__"]


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing wrong with a frame: its error, the column, and for rows how many and the first."""

    error: type[BadData]
    column: str
    message: str
    rows: int | None = None
    first_row: int | None = None
    hint: str | None = None

    def told(self) -> dict[str, Any]:
        told: dict[str, Any] = {"code": self.error.code, "column": self.column, "message": self.message}
        if self.rows is not None:
            told["rows"] = self.rows
        if self.first_row is not None:
            told["first_row"] = self.first_row
        return told


def refuse(ref: str, problems: list[Problem]) -> BadData:
    """One error that tells every problem: the common type if they have one, else BadData."""
    kinds = {p.error for p in problems}
    kind = kinds.pop() if len(kinds) == 1 else BadData
    told = "; ".join(p.message for p in problems[:_SHOWN])
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return kind(
        f"{ref}: {told}{more}",
        hint=next((p.hint for p in problems if p.hint), None),
        details={"problems": [p.told() for p in problems]},
    )


class Intake:
    """Fits frames with one schema to one feature group.

    Args:
        definition: of the group.
        stored: its schema; None if this insert sets it.
        given: the schema of the frame.
        now: what `created_time` is filled with where the frame lacks it.

    Raises:
        BadData: the schemas do not fit. InvalidName, NameClash: column names that cannot be stored.
    """

    def __init__(
        self, definition: GroupDefinition, stored: pa.Schema | None, given: pa.Schema, now: dt.datetime
    ) -> None:
        self._definition = definition
        self._now = now
        self._offset = 0
        self._given = given
        # By name, once: Arrow looks a name up by going through all fields.
        self._types = {field.name: field.type for field in given}
        check_columns(definition.ref, given.names)
        check_fields(definition.ref, given)
        self._identity = [c for c in definition.identity if c in self._types]
        self._problems = [
            *self._extension_problems(),
            *(self._new_schema_problems(given) if stored is None else self._schema_problems(stored)),
        ]
        self._schema = stored

    @property
    def schema(self) -> pa.Schema:
        """What is stored. Raises BadData if the frame's schema does not fit."""
        if self._problems:
            raise refuse(self._definition.ref, self._problems)
        return self._schema or self._new_schema(self._given)

    def _needed(self) -> list[str]:
        d = self._definition
        named = [*d.identity, *d.partition_by, *([d.tie_breaker] if d.tie_breaker else [])]
        return list(dict.fromkeys(named))

    def _new_schema(self, given: pa.Schema) -> pa.Schema:
        fields = [pa.field(f.name, stored_type(f.type)) for f in given]
        created = self._definition.created_time
        if created is not None and created not in self._types:
            fields.append(pa.field(created, TIMESTAMP))
        return pa.schema(fields)

    def _extension_problems(self) -> Iterator[Problem]:
        """Where the type is not known, as mostly in a service, there is only its name to tell it by."""
        for field in self._given:
            name = extension(field)
            if name is not None:
                yield Problem(
                    SchemaMismatch,
                    field.name,
                    f"column {field.name!r} is of the extension type {name}, which cannot be stored",
                    hint="cast the column to a type of Arrow's own",
                )

    def _new_schema_problems(self, given: pa.Schema) -> Iterator[Problem]:
        for name in self._needed():
            if name not in self._types:
                part = "by which the group is partitioned " if name in self._definition.partition_by else ""
                yield Problem(SchemaMismatch, name, f"column {name!r} {part}is missing")
        held = {*self._types, self._definition.created_time} - {None}
        if held <= set(self._definition.partition_by):
            name = self._definition.partition_by[0]
            yield Problem(
                SchemaMismatch, name, "every column is in partition_by: one must be left for the files"
            )
        for field in given:
            if extension(field) is not None:
                continue
            if pa.types.is_null(field.type):
                yield Problem(
                    SchemaMismatch,
                    field.name,
                    f"column {field.name!r} has no type: it holds nulls only",
                    hint="declare the group with schema=; or leave the column out, and for good",
                )
            elif stored_type(field.type) is None:
                yield Problem(
                    SchemaMismatch,
                    field.name,
                    f"column {field.name!r} is {field.type}, which cannot be stored",
                )
            else:
                yield from definition_problems(self._definition, field.name, field.type)

    def _schema_problems(self, stored: pa.Schema) -> Iterator[Problem]:
        for field in stored:
            kind = self._types.get(field.name)
            if kind is None:
                if field.name != self._definition.created_time:
                    yield Problem(
                        SchemaMismatch, field.name, f"column {field.name!r} is missing", hint=_ALL_COLUMNS
                    )
            elif not fits(kind, field.type) and extension(self._given.field(field.name)) is None:
                yield Problem(
                    SchemaMismatch,
                    field.name,
                    f"column {field.name!r} is {kind}, and {field.type} is stored",
                    hint=_TO_TIMES if pa.types.is_timestamp(field.type) else _RETYPE,
                )
        known = set(stored.names)
        for name in (name for name in self._types if name not in known):
            yield Problem(
                SchemaMismatch, name, f"column {name!r} is not in the feature group", hint=_ALL_COLUMNS
            )

    def fit(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch as it is stored. Raises BadData that names every problem in it, and in the schema."""
        if not batch.schema.equals(self._given):
            raise SchemaMismatch(
                f"{self._definition.ref}: the frame's columns change at row {self._offset}",
                details={"problems": []},
            )
        given, damaged = self._whole(batch)
        problems = [*self._problems, *damaged]
        if not damaged:
            problems += [*self._null_problems(given), *self._partition_problems(given)]
        if self._problems or damaged:
            raise refuse(self._definition.ref, problems)
        columns = []
        schema = self.schema
        for field in schema:
            if field.name not in given:
                columns.append(pa.repeat(pa.scalar(self._now, field.type), batch.num_rows))
                continue
            try:
                columns.append(to_stored(given[field.name], field.type))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                row, reason = misfit(given[field.name], field.type)
                row += self._offset
                problems.append(
                    Problem(
                        SchemaMismatch,
                        field.name,
                        f"column {field.name!r} does not fit {field.type} in row {row}: {reason}",
                        first_row=row,
                        hint=_ROUND if pa.types.is_timestamp(field.type) else _RETYPE,
                    )
                )
        if problems:
            raise refuse(self._definition.ref, problems)
        self._offset += batch.num_rows
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _whole(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], list[Problem]]:
        """The columns, dictionaries decoded, and those whose bytes are not what their type says."""
        given, damaged = {}, []
        for name, column in zip(self._types, batch.columns, strict=True):
            try:
                column.validate(full=True)
                given[name] = decoded(column)
                _check_times(given[name])
            except pa.ArrowInvalid as error:
                damaged.append(Problem(SchemaMismatch, name, f"column {name!r} cannot be read: {error}"))
        return given, damaged

    def _null_problems(self, given: dict[str, pa.Array]) -> Iterator[Problem]:
        for name in self._identity:
            column = given[name]
            if column.null_count:
                first = pc.index(pc.is_null(column), True).as_py() + self._offset
                message = f"{name!r} is null in {column.null_count} row(s), first in row {first}"
                yield Problem(NullKeys, name, message, column.null_count, first)

    def _partition_problems(self, given: dict[str, pa.Array]) -> Iterator[Problem]:
        for name in self._definition.partition_by:
            if name in self._types and is_string(self.schema.field(name).type):
                lost = pc.is_in(given[name].cast(pa.string()), pa.array(_LOST_PARTITIONS))
                if pc.any(lost).as_py():
                    message = f"{name!r} holds '' or __HIVE_DEFAULT_PARTITION__, which a partition reads back as null"
                    yield Problem(SchemaMismatch, name, message)
                values = (value for value in pc.unique(given[name]).to_pylist() if value is not None)
                if any(len(quote(f"{name}={value}", safe="")) > _LONGEST_FOLDER for value in values):
                    message = f"{name!r} holds a text that is too long to name a partition's folder"
                    yield Problem(SchemaMismatch, name, message)


def definition_problems(definition: GroupDefinition, name: str, kind: pa.DataType) -> Iterator[Problem]:
    """What is wrong with the type of a column for the part that it has in the definition."""
    if name in definition.primary_key and key_family(kind) is None:
        yield Problem(SchemaMismatch, name, f"{name!r} is {kind}, which cannot be a key")
    if name == definition.event_time:
        if pa.types.is_integer(kind):
            if definition.event_time_unit is None:
                yield Problem(
                    SchemaMismatch,
                    name,
                    f"event time {name!r} is {kind}: declare event_time_unit or make it a timestamp",
                )
        elif not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
            yield Problem(SchemaMismatch, name, f"event time {name!r} is {kind}: make it a timestamp")
        elif definition.event_time_unit is not None:
            yield Problem(
                SchemaMismatch, name, f"event time {name!r} is {kind}, and event_time_unit is for integers"
            )
    if name == definition.created_time and not pa.types.is_timestamp(kind):
        yield Problem(SchemaMismatch, name, f"created time {name!r} is {kind}: make it a timestamp")
    if name == definition.tie_breaker and key_family(kind) is None and not pa.types.is_floating(kind):
        yield Problem(SchemaMismatch, name, f"tie breaker {name!r} is {kind}, which has no order")
    if name in definition.partition_by and (
        key_family(kind) is None or pa.types.is_decimal(kind) or stored_type(kind) == pa.binary()
    ):
        yield Problem(SchemaMismatch, name, f"{name!r} is {kind}, by which a table cannot be partitioned")


def declared_schema(definition: GroupDefinition, given: pa.Schema) -> pa.Schema:
    """The schema to store for one given at creation. Raises as `Intake`."""
    return Intake(definition, None, given, dt.datetime.now(dt.UTC)).schema


def _check_times(column: pa.Array) -> None:
    """Raises ArrowInvalid for times outside the years 1 to 9999, which neither Python nor SQL texts can name."""
    kind = column.type
    if pa.types.is_struct(kind) or is_list(kind):
        for inner in column.flatten() if pa.types.is_struct(kind) else [column.flatten()]:
            _check_times(inner)
    elif pa.types.is_map(kind):
        _check_times(column.keys)
        _check_times(column.items)
    elif pa.types.is_dictionary(kind):
        _check_times(decoded(column))
    elif pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        unit = dt.timedelta(days=1) if pa.types.is_date32(kind) else _UNITS.get(getattr(kind, "unit", "ms"))
        numbers = column.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
        bounds = pc.min_max(numbers).as_py()
        least, most = ((t - dt.datetime(1970, 1, 1)) for t in _TIMES)
        if unit is None:  # nanoseconds reach from 1677 to 2262
            return
        if bounds["min"] is not None and not (
            least // unit <= bounds["min"] and bounds["max"] <= most // unit
        ):
            raise pa.ArrowInvalid("it holds a time outside the years 1 to 9999")


def duplicate_problem(
    columns: tuple[str, ...],
    examples: list[dict[str, Any]],
    what: str = "several rows have",
    hint: str | None = None,
) -> Problem:
    shown = "; ".join(", ".join(f"{c} = {row[c]}" for c in columns) for row in examples[:3])
    message = f"{what} the same {' and '.join(columns)}: {shown}"
    return Problem(DuplicateKeys, columns[0], message, hint=hint)


def check_key_frame(definition: GroupDefinition, schema: pa.Schema, keys: pa.Table) -> pa.Table:
    """The keys of rows to delete, in stored types: all of the primary key, and the event time if wanted.

    Raises:
        InvalidArgument: other columns. SchemaMismatch: types that do not fit. NullKeys.
    """
    allowed = [list(definition.primary_key), list(definition.identity)]
    if sorted(keys.column_names) not in [sorted(a) for a in allowed] or not keys.column_names:
        expected = " or ".join(dict.fromkeys(map(str, allowed)))
        raise InvalidArgument(f"{definition.ref}: keys has columns {keys.column_names}, expected {expected}")
    problems = []
    columns = []
    for name in keys.column_names:
        kind = schema.field(name).type
        column = keys.column(name).combine_chunks()
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            problems.append(Problem(SchemaMismatch, name, f"key {name!r} cannot be read: {error}"))
            continue
        column = pa.chunked_array([decoded(column)])
        if not fits(column.type, kind):
            problems.append(
                Problem(SchemaMismatch, name, f"key {name!r} is {column.type}, and {kind} is stored")
            )
            continue
        if column.null_count:
            problems.append(Problem(NullKeys, name, f"{name!r} is null in {column.null_count} row(s)"))
        try:
            columns.append(pa.chunked_array([to_stored(c, kind) for c in column.chunks], kind))
        except pa.ArrowInvalid as error:
            problems.append(Problem(SchemaMismatch, name, f"key {name!r} does not fit {kind}: {error}"))
    if problems:
        raise refuse(definition.ref, problems)
    return pa.table(columns, keys.column_names)
