"""Conditions as nested tuples, with SQL's three truth values: True, False and None for unknown.

("compare", "<", "temp", 3)      ("columns", "=", "a", "b")     ("in", "origin", ["JFK"])
("like", "name", "a%")           ("null", "temp")             ("nan", "temp")
("not", c)                       ("and", c, d)                  ("or", c, d)
"""

from __future__ import annotations

import operator
import re
from typing import Any

Row = dict[str, Any]
Condition = tuple[Any, ...]

_OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(condition: Condition | None, row: Row) -> bool:
    """True where there is no condition, or it is true; unknown is not true."""
    return condition is None or truth(condition, row) is True


def truth(condition: Condition, row: Row) -> bool | None:
    match condition:
        case ("compare", op, column, value):
            return _compare(op, row[column], value)
        case ("columns", op, left, right):
            return _compare(op, row[left], row[right])
        case ("in", column, values):
            value = row[column]
            return None if value is None or value != value else value in values
        case ("like", column, pattern):
            return None if row[column] is None else _like(row[column], pattern)
        case ("null", column):
            return row[column] is None
        case ("nan", column):
            return None if row[column] is None else row[column] != row[column]
        case ("not", inner):
            value = truth(inner, row)
            return None if value is None else not value
        case ("and", first, second):
            both = [truth(first, row), truth(second, row)]
            if False in both:
                return False
            return None if None in both else True
        case ("or", first, second):
            both = [truth(first, row), truth(second, row)]
            if True in both:
                return True
            return None if None in both else False
    raise ValueError(condition)


def columns_of(condition: Condition) -> set[str]:
    match condition:
        case ("columns", _, left, right):
            return {left, right}
        case ("compare", _, column, _) | ("in" | "like", column, _) | ("null" | "nan", column):
            return {column}
        case ("not", inner):
            return columns_of(inner)
        case ("and" | "or", first, second):
            return columns_of(first) | columns_of(second)
    raise ValueError(condition)


def _compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None or left != left or right != right:
        return None  # NaN compares with nothing, as null does
    return bool(_OPERATORS[op](left, right))


def _like(text: str, pattern: str) -> bool:
    regex = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None
