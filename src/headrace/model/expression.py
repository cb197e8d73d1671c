"""Filter expressions: built with operators on `Column`, sent as data."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Iterable
from typing import Any, Literal, NoReturn

import msgspec
import numpy as np

from headrace.errors import InvalidArgument
from headrace.model.duration import parse_time
from headrace.model.text import check_text

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
ValueType = Literal["bool", "int", "float", "str", "bytes", "date", "timestamp", "decimal"]

# Digits are bounded, because no stored number has more, and Python refuses to read some thousands.
_MOST_BITS = 1328
_MOST_LEVELS = 150
_FORMS: dict[str, re.Pattern[str]] = {
    "bool": re.compile("true|false"),
    "int": re.compile("-?[0-9]{1,400}"),
    "float": re.compile(r"-?([0-9]+(\.[0-9]*)?(e[-+]?[0-9]{1,4})?|inf|nan)"),
    "decimal": re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?"),
    "bytes": re.compile("([0-9a-f]{2})*"),
    "date": re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    "timestamp": re.compile(r"[0-9-]{10}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{6})?)?([-+][0-9:.]{5,15})?"),
}


class Ref(msgspec.Struct, frozen=True, tag_field="node", tag="column"):
    """A column; `group` (`weather@v1`) says whose, None means by its name in the result."""

    name: str
    group: str | None = None


class Value(msgspec.Struct, frozen=True, tag_field="node", tag="value"):
    """A literal as exact text, so that it crosses any wire unchanged.

    Raises:
        InvalidArgument: the text is no value of the type. It becomes part of statements, so none other exists.
    """

    type: ValueType
    text: str

    def __post_init__(self) -> None:
        form = _FORMS.get(self.type)
        if form is not None and not form.fullmatch(self.text):
            raise InvalidArgument(f"{self.text[:100]!r} is no {self.type}")
        try:
            if self.type == "date":
                dt.date.fromisoformat(self.text)
            elif self.type == "timestamp":
                dt.datetime.fromisoformat(self.text)
        except ValueError:
            raise InvalidArgument(f"{self.text[:100]!r} is no {self.type}") from None


class Compare(msgspec.Struct, frozen=True, tag_field="node", tag="compare"):
    op: Operator
    left: Ref
    right: Ref | Value


class IsIn(msgspec.Struct, frozen=True, tag_field="node", tag="in"):
    column: Ref
    values: tuple[Value, ...]


class Like(msgspec.Struct, frozen=True, tag_field="node", tag="like"):
    column: Ref
    pattern: str


class IsNull(msgspec.Struct, frozen=True, tag_field="node", tag="null"):
    column: Ref


class IsNan(msgspec.Struct, frozen=True, tag_field="node", tag="nan"):
    column: Ref


class Not(msgspec.Struct, frozen=True, tag_field="node", tag="not"):
    operand: Condition


class And(msgspec.Struct, frozen=True, tag_field="node", tag="and"):
    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_some(self.operands)


class Or(msgspec.Struct, frozen=True, tag_field="node", tag="or"):
    operands: tuple[Condition, ...]

    def __post_init__(self) -> None:
        _check_some(self.operands)


Condition = Compare | IsIn | Like | IsNull | IsNan | Not | And | Or


def columns_of(condition: Condition) -> list[Ref]:
    """Every column that the condition reads. Raises InvalidArgument if it is nested too deeply to be walked."""
    found: list[Ref] = []
    level: list[Condition] = [condition]
    for _ in range(_MOST_LEVELS):
        below: list[Condition] = []
        for node in level:
            match node:
                case Compare(left=left, right=right):
                    found += [left, right] if isinstance(right, Ref) else [left]
                case Not(operand=operand):
                    below.append(operand)
                case And(operands=operands) | Or(operands=operands):
                    below += operands
                case _:
                    found.append(node.column)
        if not below:
            return list(dict.fromkeys(found))
        level = below
    raise InvalidArgument(
        f"a condition is nested in more than {_MOST_LEVELS} levels",
        hint="put alternatives into isin(), or join with a table of them",
    )


def to_value(given: Any) -> Value:
    """A Python or numpy scalar as a literal.

    Raises:
        InvalidArgument: None (which compares with nothing), or a type without a literal.
    """
    if given is None:
        raise InvalidArgument("a comparison with None is never true", hint="use is_null() or is_not_null()")
    if isinstance(given, np.generic) or (isinstance(given, np.ndarray) and given.ndim == 0):
        # Its times are whole numbers where their unit is finer than a microsecond.
        given = parse_time("a time", str(given)) if given.dtype.kind == "M" else given.item()
    if hasattr(given, "dtype"):
        raise InvalidArgument(
            f"a column is compared with one value, and not with a {type(given).__name__}",
            hint="isin() takes several values; a join compares with those of another group",
        )
    if isinstance(given, bool):
        return Value("bool", "true" if given else "false")
    if isinstance(given, int):
        if given.bit_length() > _MOST_BITS:
            raise InvalidArgument("a column cannot be compared with a number of more than 400 digits")
        return Value("int", str(given))
    if isinstance(given, float):
        return Value("float", repr(given))
    if isinstance(given, str):
        return Value("str", check_text("value", given))
    if isinstance(given, bytes):
        return Value("bytes", given.hex())
    if isinstance(given, dt.datetime):
        return Value("timestamp", parse_time("a time", given).isoformat())
    if isinstance(given, dt.date):
        return Value("date", given.isoformat())
    if isinstance(given, decimal.Decimal) and given.is_finite():
        return Value("decimal", format(given, "f"))
    raise InvalidArgument(
        f"a {type(given).__name__} is no value of a column: {given!r}",
        hint="give bool, int, float, Decimal, str, bytes, date or datetime",
    )


class Column:
    """A column, or a condition on columns: `(weather["origin"] == "JFK") & (weather["temp"] < 0)`.

    Naive times are UTC, and text is read as a time where the column is one. Null and NaN compare with nothing:
    rows whose condition is unknown are left out.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Ref | Condition) -> None:
        self._node = node

    def _ref(self) -> Ref:
        if not isinstance(self._node, Ref):
            raise InvalidArgument("a condition is not a column", hint="combine conditions with & | ~")
        return self._node

    def _compare(self, op: Operator, other: object) -> Column:
        right = other._ref() if isinstance(other, Column) else to_value(other)
        return Column(Compare(op, self._ref(), right))

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._compare("<>", other)

    def __lt__(self, other: object) -> Column:
        return self._compare("<", other)

    def __le__(self, other: object) -> Column:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Column:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Column:
        return self._compare(">=", other)

    def isin(self, values: Iterable[object]) -> Column:
        """True where the column equals one of `values`; of none, it is never true."""
        if isinstance(values, str | bytes):
            raise InvalidArgument("isin() takes several values", hint="put the value into a list")
        if not isinstance(values, Iterable):
            raise InvalidArgument(f"isin() takes several values, not {values!r}", hint="put it into a list")
        return Column(IsIn(self._ref(), tuple(to_value(v) for v in values)))

    def like(self, pattern: str) -> Column:
        """SQL LIKE: `%` is any text, `_` any character."""
        if not isinstance(pattern, str):
            raise InvalidArgument(f"like() takes a pattern as text, not {pattern!r}")
        return Column(Like(self._ref(), check_text("pattern", pattern)))

    def is_null(self) -> Column:
        """True where there is no value."""
        return Column(IsNull(self._ref()))

    def is_not_null(self) -> Column:
        """True where there is a value."""
        return Column(Not(IsNull(self._ref())))

    def is_nan(self) -> Column:
        """True where there is a value that is not a number, which compares with nothing."""
        return Column(IsNan(self._ref()))

    def __and__(self, other: Column) -> Column:
        return Column(And((*_operands(self, And), *_operands(other, And))))

    def __or__(self, other: Column) -> Column:
        return Column(Or((*_operands(self, Or), *_operands(other, Or))))

    # A number is on the left where the brackets are missing: `a > 1 & b > 2` asks for `1 & b` first.
    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Column:
        node = condition_of(self)
        return Column(node.operand if isinstance(node, Not) else Not(node))

    def __bool__(self) -> NoReturn:
        raise InvalidArgument(
            "a condition has no truth value before it is run",
            hint="combine conditions with & | ~ and brackets, not with and, or, not",
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Column({describe(self._node)})"


def _operands(column: Column, kind: type[And | Or]) -> tuple[Condition, ...]:
    """The operands of a chain of one kind, which stays flat however long it grows."""
    node = condition_of(column)
    return node.operands if isinstance(node, kind) else (node,)


def _check_some(operands: tuple[Condition, ...]) -> None:
    if not operands:
        raise InvalidArgument("a condition of no conditions is neither true nor false")


def condition_of(other: object) -> Condition:
    """The condition that a `Column` stands for. Raises InvalidArgument for anything else."""
    if not isinstance(other, Column):
        raise InvalidArgument(f"{other!r} is not a condition", hint="put brackets around each comparison")
    if isinstance(other._node, Ref):
        raise InvalidArgument(
            f"column {other._node.name!r} is not a condition",
            hint="compare it (a truth value with True), and put brackets around each comparison",
        )
    return other._node


def describe(node: Ref | Value | Condition) -> str:
    """A node as people read it."""
    match node:
        case Ref(name=name):
            return name
        case Value(type=kind, text=text):
            return text if kind in ("int", "float", "bool", "decimal") else repr(text)
        case Compare(op=op, left=left, right=right):
            return f"{left.name} {op} {describe(right)}"
        case IsIn(column=column, values=values):
            return f"{column.name} in ({', '.join(describe(v) for v in values[:5])}{', …' if len(values) > 5 else ''})"
        case Like(column=column, pattern=pattern):
            return f"{column.name} like {pattern!r}"
        case IsNull(column=column):
            return f"{column.name} is null"
        case IsNan(column=column):
            return f"{column.name} is nan"
        case Not(operand=IsNull(column=column)):
            return f"{column.name} is not null"
        case Not(operand=operand):
            return f"not ({describe(operand)})"
        case And(operands=operands):
            return " and ".join(f"({describe(o)})" for o in operands)
        case Or(operands=operands):
            return " or ".join(f"({describe(o)})" for o in operands)
