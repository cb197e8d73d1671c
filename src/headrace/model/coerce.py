"""Fits the literals of a condition to the types of the columns that they are compared with."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pyarrow as pa

from headrace.errors import InvalidArgument
from headrace.model.duration import parse_time
from headrace.model.expression import And, Compare, Condition, IsIn, Like, Not, Or, Ref, Value
from headrace.model.types import is_string, stored_type

_NUMBERS = ("int", "float", "decimal")


def coerce(condition: Condition, type_of: Callable[[Ref], pa.DataType]) -> Condition:
    """The condition with every literal of its column's kind.

    Raises:
        InvalidArgument: a comparison between kinds that have no common order, such as a number with text.
    """
    match condition:
        case Compare(op=op, left=left, right=Value() as right):
            return Compare(op, left, _fit(left, type_of(left), right))
        case Compare(left=left, right=Ref() as right):
            if _kind(type_of(left)) != _kind(type_of(right)):
                raise InvalidArgument(
                    f"{left.name!r} ({type_of(left)}) cannot be compared with {right.name!r} ({type_of(right)})"
                )
            return condition
        case IsIn(column=column, values=values):
            return IsIn(column, tuple(_fit(column, type_of(column), value) for value in values))
        case Like(column=column):
            if not is_string(type_of(column)):
                raise InvalidArgument(f"like() needs text, and {column.name!r} is {type_of(column)}")
            return condition
        case Not(operand=operand):
            return Not(coerce(operand, type_of))
        case And(operands=operands):
            return And(tuple(coerce(o, type_of) for o in operands))
        case Or(operands=operands):
            return Or(tuple(coerce(o, type_of) for o in operands))
        case _:
            return condition


def _kind(column: pa.DataType) -> str | None:
    if pa.types.is_dictionary(column):
        return _kind(column.value_type)
    if pa.types.is_integer(column) or pa.types.is_floating(column) or pa.types.is_decimal(column):
        return "number"
    if is_string(column):
        return "text"
    if pa.types.is_boolean(column):
        return "bool"
    if pa.types.is_timestamp(column):
        return "time"
    if pa.types.is_date(column):
        return "date"
    return "bytes" if stored_type(column) == pa.binary() else None


def _fit(ref: Ref, column: pa.DataType, value: Value) -> Value:
    kind = _kind(column)
    if kind == "number" and value.type in _NUMBERS:
        return value
    if (kind, value.type) in {("text", "str"), ("bool", "bool"), ("bytes", "bytes"), ("date", "date")}:
        return value
    if kind == "time" and value.type in ("str", "date", "timestamp"):
        return Value("timestamp", parse_time(ref.name, value.text).isoformat())
    if kind == "date" and value.type == "timestamp":
        return value
    if kind == "date" and value.type == "str":
        try:
            return Value("date", dt.date.fromisoformat(value.text).isoformat())
        except ValueError:
            return Value("timestamp", parse_time(ref.name, value.text).isoformat())
    raise InvalidArgument(
        f"column {ref.name!r} is {column} and cannot be compared with {value.text!r} ({value.type})",
        details={"column": ref.name, "type": str(column)},
    )
