"""What a user's query asks of nulls, put in the forms of which DuckDB foresees nothing (see `isnull_sql`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Part = dict[str, Any]

# All others are null or false where a column is null, or DuckDB does not look through them.
_ASKING = {
    "OPERATOR_IS_NULL",
    "OPERATOR_IS_NOT_NULL",
    "OPERATOR_COALESCE",
    "COMPARE_DISTINCT_FROM",
    "COMPARE_NOT_DISTINCT_FROM",
}


def put_unforeseen(tree: Part, named: Callable[[Mapping[str, Any]], str]) -> None:
    """Change a query, as DuckDB's `json_serialize_sql` gives it, to one of the same rows and names.

    Args:
        named: the name that DuckDB gives to a column of a result that is such an expression.
    """
    parts = list(_parts(tree))
    for part in parts:
        if part.get("type") == "SELECT_NODE":
            for column in part.get("select_list", ()):
                _keep_name(column, named)
    for part in parts:
        match part.get("type"):
            case "OPERATOR_IS_NULL":
                _compare(part, True)
            case "OPERATOR_IS_NOT_NULL":
                _compare(part, False)
            case "OPERATOR_COALESCE":
                part["children"] = [_unforeseen(value) for value in part["children"]]
            case "COMPARE_DISTINCT_FROM" | "COMPARE_NOT_DISTINCT_FROM":
                part["left"], part["right"] = _unforeseen(part["left"]), _unforeseen(part["right"])


def _parts(root: object) -> Iterator[Part]:
    left = [root]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part


def _keep_name(column: Part, named: Callable[[Mapping[str, Any]], str]) -> None:
    if "alias" in column:
        return
    within = list(_parts(column))
    # With a star in it there are several columns, which bear the names of those that it stands for.
    if any(p.get("type") in _ASKING for p in within) and not any(p.get("class") == "STAR" for p in within):
        column["alias"] = named(column)


def _compare(part: Part, asked: bool) -> None:
    test = {key: value for key, value in part.items() if key != "alias"} | {"type": "OPERATOR_IS_NULL"}
    alias = {"alias": part["alias"]} if "alias" in part else {}
    right = {
        "class": "CONSTANT",
        "type": "VALUE_CONSTANT",
        "literal": {"kind": "BOOLEAN", "text": str(asked).lower()},
    }
    part.clear()
    part.update({"class": "COMPARISON", "type": "COMPARE_EQUAL", "left": test, "right": right, **alias})


def _unforeseen(value: Part) -> Part:
    if value.get("class") == "CONSTANT":
        return value
    return {
        "class": "FUNCTION",
        "type": "FUNCTION",
        "function_name": "greatest",
        "qualified_name": {"path": ["greatest"]},
        "order_bys": {"type": "ORDER_MODIFIER"},
        "arguments": [{"expression": value}],
    }
