"""Fits the literals of a condition to the types of the columns that they are compared with."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from headrace.errors import InvalidArgument
from headrace.model.duration import parse_time
from headrace.model.expression import (
    And,
    Compare,
    Condition,
    IsIn,
    IsNan,
    Like,
    Not,
    Operator,
    Or,
    Ref,
    Value,
)
from headrace.model.types import decoded_type, is_string, stored_type

_NUMBERS = ("int", "float", "decimal")
_DIGITS = 1_000
_MOST_DIGITS = 38
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}


def coerce(
    condition: Condition, type_of: Callable[[Ref], pa.DataType], *, negated: bool = False
) -> Condition:
    """The condition with every literal of its column's type, and with NaN, like null, comparing with nothing.

    Databases have a place for NaN in the order of numbers, and leave files and row groups out by statistics that
    do not tell of it: what they find then depends on which rows lie beside it.

    Args:
        negated: whether the condition is under a `Not`, where what is unknown must be true.

    Raises:
        InvalidArgument: a comparison between kinds that have no common order, such as a number with text, or of
            decimals whose common type has more digits than there are.
    """
    match condition:
        case Compare(op=op, left=left, right=Value() as right):
            return _compare(op, left, type_of(left), _fit(left, type_of(left), right), negated)
        case Compare(op=op, left=left, right=Ref() as right):
            if _kind(type_of(left)) != _kind(type_of(right)):
                raise InvalidArgument(
                    f"{left.name!r} ({type_of(left)}) cannot be compared with {right.name!r} ({type_of(right)})"
                )
            _check_common_type(left, type_of(left), right, type_of(right))
            floats = [ref for ref in (left, right) if pa.types.is_floating(decoded_type(type_of(ref)))]
            return _without_nan(condition, floats, negated)
        case IsIn(column=column, values=values):
            return _is_in(
                column, type_of(column), [_fit(column, type_of(column), v) for v in values], negated
            )
        case Like(column=column):
            if not is_string(decoded_type(type_of(column))):
                raise InvalidArgument(f"like() needs text, and {column.name!r} is {type_of(column)}")
            return condition
        case IsNan(column=column):
            if not pa.types.is_floating(decoded_type(type_of(column))):
                raise InvalidArgument(f"is_nan() needs floats, and {column.name!r} is {type_of(column)}")
            return condition
        case Not(operand=operand):
            return Not(coerce(operand, type_of, negated=not negated))
        case And(operands=operands):
            return And(tuple(coerce(o, type_of, negated=negated) for o in operands))
        case Or(operands=operands):
            return Or(tuple(coerce(o, type_of, negated=negated) for o in operands))
        case _:
            return condition


def _check_common_type(left: Ref, left_type: pa.DataType, right: Ref, right_type: pa.DataType) -> None:
    """Where the common type has too few digits, engines raise an error, or leave rows out, as values come; and not all
    of them take floats of 32 bits for what they compare exact numbers as.
    """
    left_type, right_type = decoded_type(left_type), decoded_type(right_type)
    for one, other in ((left_type, right_type), (right_type, left_type)):
        if pa.types.is_floating(one) and one.bit_width < 64 and not pa.types.is_floating(other):
            raise InvalidArgument(
                f"{left.name!r} ({left_type}) cannot be compared with {right.name!r} ({right_type}): engines differ in "
                "how many digits they look at",
                hint="compare them in a computed column, where both are doubles",
            )
    if not (pa.types.is_decimal(left_type) or pa.types.is_decimal(right_type)):
        return
    if pa.types.is_floating(left_type) or pa.types.is_floating(right_type):
        return
    (one, one_scale), (other, other_scale) = _digits(left_type), _digits(right_type)
    digits = max(one - one_scale, other - other_scale) + max(one_scale, other_scale)
    if digits > _MOST_DIGITS:
        raise InvalidArgument(
            f"{left.name!r} ({left_type}) cannot be compared with {right.name!r} ({right_type}): their common type has "
            f"{digits} digits, and {_MOST_DIGITS} is the most",
            hint="compare them in a computed column, where both are doubles",
        )


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """How many digits its numbers have, and how many of these are decimals."""
    return (kind.precision, kind.scale) if pa.types.is_decimal(kind) else (_INTEGER_DIGITS[kind.bit_width], 0)


def _compare(op: Operator, ref: Ref, column: pa.DataType, value: Value, negated: bool) -> Condition:
    if value.type == "float" and value.text == "nan":
        never: Condition = IsIn(ref, ())
        return Not(never) if negated else never
    if _is_exact(column) and value.type in _NUMBERS:
        return _exact(op, ref, column, value)
    if _kind(column) == "date" and value.type == "timestamp":
        return _of_day(op, ref, value)
    if pa.types.is_floating(column):
        return _without_nan(Compare(op, ref, _float(value, column)), [ref], negated)
    return Compare(op, ref, value)


def _is_in(ref: Ref, column: pa.DataType, values: list[Value], negated: bool) -> Condition:
    if not values:
        return IsIn(ref, ())
    numbers = [v for v in values if (v.type, v.text) != ("float", "nan")]
    if pa.types.is_floating(column):
        found = IsIn(ref, tuple(_float(v, column) for v in numbers))
        return _without_nan(found, [ref], negated)
    if _kind(column) == "date":
        fitted = [_of_day("=", ref, v) if v.type == "timestamp" else Compare("=", ref, v) for v in values]
    elif _is_exact(column):
        fitted = [_exact("=", ref, column, v) for v in numbers]
    else:
        return IsIn(ref, tuple(values))
    held = tuple(f.right for f in fitted if f.op == "=" and isinstance(f.right, Value))
    return IsIn(ref, held) if held or not fitted else fitted[0]


def _without_nan(condition: Condition, columns: list[Ref], negated: bool) -> Condition:
    """The condition, false where one of the columns is NaN; true, if what is said is that it does not hold."""
    if not columns:
        return condition
    if negated:
        return Or((condition, *(IsNan(ref) for ref in columns)))
    return And((condition, *(Not(IsNan(ref)) for ref in columns)))


def _is_exact(column: pa.DataType) -> bool:
    kind = decoded_type(column)
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _exact(op: Operator, ref: Ref, column: pa.DataType, value: Value) -> Compare:
    """The comparison with a number that the column can hold.

    Databases have no common type for every two numbers, and take a whole list for floats where one of it is. Below
    the least, and above the greatest, of the column's type, and between two neighbours, no value is; a null stays
    unknown. A float is the shortest number that is written like it: 0.1 is a tenth.
    """
    kind = decoded_type(column)
    with decimal.localcontext(prec=_DIGITS):
        if pa.types.is_decimal(kind):
            most = (decimal.Decimal(10) ** kind.precision - 1).scaleb(-kind.scale)
            least, unit = -most, decimal.Decimal(1).scaleb(-kind.scale)
        else:
            bits = kind.bit_width - (0 if pa.types.is_unsigned_integer(kind) else 1)
            most, unit = decimal.Decimal(2) ** bits - 1, decimal.Decimal(1)
            least = decimal.Decimal(0) if pa.types.is_unsigned_integer(kind) else -most - 1
        given = decimal.Decimal(value.text)
        floor = min(max(given, least), most).quantize(unit, decimal.ROUND_FLOOR)

        def compare(op: Operator, number: decimal.Decimal) -> Compare:
            return Compare(op, ref, Value("decimal" if unit < 1 else "int", format(number, "f")))

        if floor == given:
            return compare(op, floor)
        if op in ("=", "<>"):
            return compare("<", least) if op == "=" else compare(">=", least)
        if given < least:
            return compare(">=" if op in (">", ">=") else "<", least)
        return compare("<=" if op in ("<", "<=") else ">", floor)


def _of_day(op: Operator, ref: Ref, value: Value) -> Compare:
    """The comparison of a date, which is the start of its day in UTC, with a moment, as one with a date."""
    moment = parse_time(ref.name, value.text)
    day = Value("date", moment.date().isoformat())
    if moment.time() == dt.time():
        return Compare(op, ref, day)
    if op in ("=", "<>"):  # no date is of that moment; a null stays unknown
        return Compare("<" if op == "=" else ">=", ref, Value("date", dt.date.min.isoformat()))
    return Compare("<=" if op in ("<", "<=") else ">", ref, day)


def _float(value: Value, column: pa.DataType) -> Value:
    """A number as the float that it is compared as: of 32 bits, where those of the column are, unless it was a float.

    Databases take few digits for a number, and some make doubles of both.
    """
    if value.type == "float":
        return value
    if decoded_type(column).bit_width == 32 and len(value.text) <= _MOST_DIGITS:
        return Value("float", repr(float(np.float32(value.text))))
    return Value("float", repr(float(decimal.Decimal(value.text))))


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
