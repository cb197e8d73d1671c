"""Which files may hold rows for a condition, from the statistics in the table's log.

The answer is a mask that errs on the side of reading: true unless the statistics prove that no row matches.
"""

from __future__ import annotations

import datetime as dt
import decimal
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.model.expression import And, Compare, Condition, IsIn, IsNull, Not, Or, Ref, Value
from headrace.model.types import is_string

_EXACT_TEXT = 24
"""Statistics cut long text; a longest value shorter than this is whole."""


def may_hold(files: pa.Table, schema: pa.Schema, conditions: tuple[Condition, ...]) -> pa.ChunkedArray | None:
    """One boolean a file; None if every file may hold rows."""
    return _all([_mask(files, schema, condition) for condition in conditions])


def _all(masks: list[Any]) -> Any:
    known = [mask for mask in masks if mask is not None]
    return reduce(pc.and_, known) if known else None


def _mask(files: pa.Table, schema: pa.Schema, condition: Condition) -> Any:
    match condition:
        case And(operands=operands):
            return _all([_mask(files, schema, o) for o in operands])
        case Or(operands=operands):
            masks = [_mask(files, schema, o) for o in operands]
            return None if any(m is None for m in masks) else reduce(pc.or_, masks)
        case Compare(op=op, left=left, right=Value() as right):
            return _compare(files, schema, left, op, right)
        case IsIn(column=column, values=values) if values:
            return _is_in(files, schema, column, values)
        case IsNull(column=column):
            return _or_unknown(_nulls(files, schema, column, lambda nulls: pc.greater(nulls, 0)))
        case Not(operand=IsNull(column=column)):
            return _or_unknown(
                _nulls(files, schema, column, lambda nulls: pc.less(nulls, files["num_records"]))
            )
    return None


def _is_in(files: pa.Table, schema: pa.Schema, ref: Ref, values: tuple[Value, ...]) -> Any:
    low, high = f"min.{ref.name}", f"max.{ref.name}"
    kind = schema.field(ref.name).type
    if (
        not pa.types.is_integer(kind)
        or not {low, high} <= set(files.column_names)
        or _is_blurred(schema, ref)
    ):
        masks = [_compare(files, schema, ref, "=", value) for value in values]
        return None if any(m is None for m in masks) else reduce(pc.or_, masks)
    # One pass over the files for all values: the first value at or above the least must be in range.
    scalars = [_scalar(value, kind) for value in values]
    if not (files[low].type.equals(kind) and files[high].type.equals(kind)) or None in scalars:
        return None
    least, most = (pc.fill_null(files[c], 0).to_numpy() for c in (low, high))
    wanted = np.sort(np.array([s.as_py() for s in scalars if s is not None], least.dtype))
    inside = np.searchsorted(wanted, least) < np.searchsorted(wanted, most, "right")
    unknown = pc.or_(pc.is_null(files[low]), pc.is_null(files[high]))
    return pc.or_(unknown, pa.array(inside))


def _is_blurred(schema: pa.Schema, ref: Ref) -> bool:
    """True if a struct's field has the same name in the statistics as the column: `a.b` is either."""
    dots = [i for i, c in enumerate(ref.name) if c == "."]
    outer = [name for name in (ref.name[:i] for i in dots) if name in schema.names]
    return any(pa.types.is_struct(schema.field(name).type) for name in outer)


def _nulls(files: pa.Table, schema: pa.Schema, ref: Ref, test: Any) -> Any:
    if _is_blurred(schema, ref):
        return None
    if f"partition.{ref.name}" in files.column_names:
        nulls = pc.multiply(pc.is_null(files[f"partition.{ref.name}"]).cast(pa.int64()), files["num_records"])
        return test(nulls)
    name = f"null_count.{ref.name}"
    return test(files[name]) if name in files.column_names else None


def _or_unknown(mask: Any) -> Any:
    return None if mask is None else pc.fill_null(mask, True)


def _compare(files: pa.Table, schema: pa.Schema, ref: Ref, op: str, value: Value) -> Any:
    kind = schema.field(ref.name).type
    if _is_blurred(schema, ref):
        return None
    if pa.types.is_decimal(kind):
        return None  # the wheel keeps the least and the greatest as floats
    wanted = _scalar(value, kind)
    if wanted is None:
        return None
    if f"partition.{ref.name}" in files.column_names:
        column = files[f"partition.{ref.name}"]
        if not column.type.equals(kind):
            return None
        return pc.fill_null(_TESTS[op](column, wanted), False)
    low, high = f"min.{ref.name}", f"max.{ref.name}"
    if low not in files.column_names or high not in files.column_names:
        return None
    least, most = files[low], files[high]
    if not least.type.equals(kind) or not most.type.equals(kind):
        return None
    if pa.types.is_timestamp(kind):
        # Spark cuts the digits below a millisecond off.
        most = pc.add(most, pa.scalar(dt.timedelta(milliseconds=1), pa.duration("us")))
    above = pc.less_equal(least, wanted) if op != "<" else pc.less(least, wanted)
    below = pc.greater_equal(most, wanted) if op != ">" else pc.greater(most, wanted)
    if pa.types.is_floating(kind):
        # NaN stands in no statistics, and DuckDB sorts it above every number.
        below = None
    elif is_string(kind):
        below = pc.or_(below, pc.greater_equal(pc.binary_length(most), _EXACT_TEXT))
    match op:
        case "=":
            return _or_unknown(_all([above, below]))
        case "<" | "<=":
            return _or_unknown(above)
        case ">" | ">=":
            return _or_unknown(below)
    return None


_TESTS: dict[str, Any] = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def _scalar(value: Value, kind: pa.DataType) -> pa.Scalar | None:
    """The literal in the column's type; None if it has no exact counterpart there."""
    given: Any
    match value.type:
        case "int":
            given = int(value.text)
        case "float":
            given = float(value.text)
            if given != given:
                return None
        case "decimal":
            given = decimal.Decimal(value.text)
        case "bool":
            given = value.text == "true"
        case "date":
            given = dt.date.fromisoformat(value.text)
        case "timestamp":
            given = dt.datetime.fromisoformat(value.text)
        case "bytes":
            given = bytes.fromhex(value.text)
        case "str":
            given = value.text
    fits = {
        "int": pa.types.is_integer(kind) or pa.types.is_floating(kind),
        "float": pa.types.is_float64(kind),
        "decimal": pa.types.is_decimal(kind),
        "bool": pa.types.is_boolean(kind),
        "date": pa.types.is_date(kind),
        "timestamp": pa.types.is_timestamp(kind) and kind.tz is not None,
        "bytes": False,
        "str": is_string(kind),
    }[value.type]
    if not fits:
        return None
    try:
        scalar = pa.scalar(given, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return None
    return (
        scalar if value.type != "int" or not pa.types.is_floating(kind) or scalar.as_py() == given else None
    )
