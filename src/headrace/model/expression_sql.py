"""Conditions, names and literals as SQL text. What users write gets into no statement otherwise."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Literal

from headrace.errors import InvalidArgument
from headrace.model.duration import to_micros
from headrace.model.expression import (
    And,
    Compare,
    Condition,
    IsIn,
    IsNan,
    IsNull,
    Like,
    Not,
    Or,
    Ref,
    Value,
)

Dialect = Literal["duckdb", "datafusion", "spark"]

# In a text of Spark's a backslash may have a meaning, and so may a dollar: both hang on settings.
_PLAIN_IN_SPARK = re.compile(r"[^'\\$\0-\x1f]*")
_EPOCH = dt.date(1970, 1, 1)
_NO_PLAIN_NAME = re.compile("[^a-z0-9]")


def identifier(name: str, dialect: Dialect = "duckdb") -> str:
    if dialect == "spark":
        return f"`{spark_name(name)}`"
    return '"' + name.replace('"', '""') + '"'


def spark_name(name: str) -> str:
    """The name that a column has within statements of Spark's: small letters, digits and `_`, another for each name.

    Whether names are equal that differ by case, and what in a quoted one is replaced, or is a pattern, hangs on
    settings of the session.
    """
    return _NO_PLAIN_NAME.sub(lambda found: "__" if found[0] == "_" else f"_{ord(found[0]):x}_", name)


def literal(value: Value, dialect: Dialect = "duckdb") -> str:
    match value.type:
        case "str":
            return text(value.text, dialect)
        case "bytes":
            return f"unhex('{value.text}')" if dialect == "duckdb" else f"X'{value.text}'"
        case "date" if dialect == "spark":
            return (
                f"date_from_unix_date({dt.date.fromisoformat(value.text).toordinal() - _EPOCH.toordinal()})"
            )
        case "date":
            return f"DATE '{value.text}'"
        case "timestamp" if dialect == "duckdb":
            return f"TIMESTAMPTZ '{value.text}'"
        case "timestamp" if dialect == "spark":
            # Which type TIMESTAMP is, and of which zone, hangs on settings.
            time = dt.datetime.fromisoformat(value.text)
            return f"timestamp_micros({to_micros(time if time.tzinfo else time.replace(tzinfo=dt.UTC))})"
        case "timestamp":
            return f"arrow_cast('{value.text}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
        case "float":
            return f"CAST('{value.text}' AS DOUBLE)"
        case "decimal" if dialect == "duckdb" and value.text.removeprefix("-").startswith("0."):
            # The zero counts as a digit, and what has more than 38 is taken for a float.
            return value.text.replace("0.", ".", 1)
        case _:
            return value.text


def text(value: str, dialect: Dialect = "duckdb") -> str:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(f"{value!r} holds a lone surrogate, which no stored text does") from None
    if b"\0" in data and dialect == "duckdb":
        return f"decode(unhex('{data.hex()}'))"
    if dialect == "spark" and not _PLAIN_IN_SPARK.fullmatch(value):
        return f"CAST(X'{data.hex()}' AS STRING)"
    return "'" + value.replace("'", "''") + "'"


def isnan_sql(value: str, dialect: Dialect = "duckdb") -> str:
    """In DuckDB 2.0, which believes statistics of files, that leave NaN out, wherever it can foresee a value.

    In Spark, which says of null that it is no NaN.
    """
    if dialect == "duckdb":
        return f"isnan({value} + 0 * random())"
    return f"isnan({value})" if dialect == "datafusion" else f"if({value} IS NULL, NULL, isnan({value}))"


def isnull_sql(value: str, dialect: Dialect = "duckdb") -> str:
    """In DuckDB 2.0, which passes over pages of Parquet files for whose only text a condition is false, and gives null
    for all their rows: where null fulfils the condition, it gives rows that do not. It foresees `v IS NULL`, but not
    this.
    """
    return f"(({value} IS NULL) = true)" if dialect == "duckdb" else f"({value} IS NULL)"


def unforeseen_sql(value: str) -> str:
    """The value, of which DuckDB foresees nothing: for what else turns null into a value. See `isnull_sql`."""
    return f"greatest({value})"


def like_sql(value: str, pattern: str, dialect: Dialect = "duckdb") -> str:
    if dialect == "duckdb":
        return f"({value} LIKE {pattern})"
    # Spark's backslash stands for what follows it.
    one, two = (text("\\" * times, dialect) for times in (1, 2))
    return f"({value} LIKE replace({pattern}, {one}, {two}))"


def _compared(column: str, values: Sequence[Value], dialect: Dialect) -> str:
    """A column as it is compared with values. Spark's reader of Parquet looks into dictionaries for 0.0, which it does
    not find in one of -0.0; for sums it does not.
    """
    zero = dialect == "spark" and any(v.type == "float" and float(v.text) == 0 for v in values)
    return f"({column} + 0D)" if zero else column


def condition_sql(condition: Condition, column: Callable[[Ref], str], dialect: Dialect = "duckdb") -> str:
    """The condition as an SQL expression; `column` gives the SQL of each column."""

    def sql(node: Condition) -> str:
        match node:
            case Compare(op=op, left=left, right=Ref() as right):
                return f"({column(left)} {op} {column(right)})"
            case Compare(op=op, left=left, right=Value() as right):
                return f"({_compared(column(left), [right], dialect)} {op} {literal(right, dialect)})"
            case IsIn(values=()):
                return "false"
            case IsIn(column=ref, values=values):
                given = ", ".join(literal(v, dialect) for v in values)
                return f"({_compared(column(ref), values, dialect)} IN ({given}))"
            case Like(column=ref, pattern=pattern):
                return like_sql(column(ref), text(pattern, dialect), dialect)
            case IsNull(column=ref):
                return isnull_sql(column(ref), dialect)
            case IsNan(column=ref):
                return isnan_sql(column(ref), dialect)
            case Not(operand=operand):
                return f"(NOT {sql(operand)})"
            case And(operands=operands):
                return "(" + " AND ".join(map(sql, operands)) + ")"
            case Or(operands=operands):
                return "(" + " OR ".join(map(sql, operands)) + ")"
        raise TypeError(f"{node!r} is no condition")

    return sql(condition)
