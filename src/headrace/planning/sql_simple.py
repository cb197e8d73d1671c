"""Queries in SQL that are reads of one table: some of its columns, and the rows that have these values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headrace.model.expression import Compare, Ref, Value
from headrace.model.query import Filter, Query, Select, Source, Step

_PLACES = frozenset({"query_location", "query_location_length"})
_NODE = frozenset({"type", "cte_map", "select_list", "from_table", "where_clause", "aggregate_handling"})
_TABLE = frozenset({"type", "alias", "table_name", "qualified_name"})
_LARGEST = 2**63


@dataclasses.dataclass(frozen=True)
class SimpleSelect:
    """Columns as they are named, all if there are none, and of some the values that they have."""

    columns: tuple[str, ...]
    equals: tuple[tuple[str, Value], ...]

    def query(self, source: Source, schema: pa.Schema) -> Query | None:
        """The same of a table with these columns; None if SQL could mean something else by it."""
        names = {name.casefold(): name for name in schema.names}
        if len(names) < len(schema.names) or not {c.casefold() for c in self.named} <= names.keys():
            return None
        steps: list[Step] = []
        for column, value in self.equals:
            name = names[column.casefold()]
            if not _is_of(value, schema.field(name).type):
                return None
            steps.append(Filter(Compare("=", Ref(name), value)))
        chosen = tuple(names[column.casefold()] for column in self.columns) or tuple(schema.names)
        return Query(source, (*steps, Select(chosen)))

    @property
    def named(self) -> set[str]:
        return {*self.columns, *(column for column, _ in self.equals)}


def simple_select(tree: Mapping[str, Any]) -> SimpleSelect | None:
    """A checked query as one, if it is: what has anything that is not known here, is none."""
    node = tree["statements"][0]["node"]
    if node.get("type") != "SELECT_NODE" or not node.keys() <= _NODE or node.get("cte_map"):
        return None
    table = node.get("from_table") or {}
    if table.get("type") != "BASE_TABLE" or not table.keys() <= _TABLE | _PLACES:
        return None
    if node.get("aggregate_handling") != "STANDARD_HANDLING":
        return None
    selected = node.get("select_list") or []
    columns = [_column(item) for item in selected]
    if len(selected) == 1 and selected[0].keys() <= {"class", "type"} | _PLACES:
        columns = [] if selected[0].get("class") == "STAR" else [None]
    equals = _equals(node.get("where_clause"))
    if equals is None or None in columns:
        return None
    return SimpleSelect(tuple(name for name in columns if name is not None), equals)


def _column(part: Mapping[str, Any]) -> str | None:
    names = part.get("column_names")
    if part.get("class") != "COLUMN_REF" or not part.keys() <= {"class", "type", "column_names"} | _PLACES:
        return None
    return str(names[0]) if isinstance(names, list) and len(names) == 1 else None


def _equals(part: Mapping[str, Any] | None) -> tuple[tuple[str, Value], ...] | None:
    """Columns and their values, of which all are so; None if it says anything else."""
    if part is None:
        return ()
    if part.get("type") == "CONJUNCTION_AND" and part.keys() <= {"class", "type", "children"} | _PLACES:
        found = [_equals(child) for child in part.get("children") or [{}]]
        return None if None in found else tuple(pair for pairs in found for pair in pairs or ())
    if part.get("type") != "COMPARE_EQUAL" or not part.keys() <= {"class", "type", "left", "right"} | _PLACES:
        return None
    column, value = _column(part.get("left") or {}), _value(part.get("right") or {})
    return None if column is None or value is None else ((column, value),)


def _value(part: Mapping[str, Any]) -> Value | None:
    if part.get("class") != "CONSTANT" or not part.keys() <= {"class", "type", "literal"} | _PLACES:
        return None
    literal = part.get("literal") or {}
    text = str(literal.get("text", ""))
    match literal.get("kind"):
        case "INTEGER" if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20:
            return Value("int", text) if -_LARGEST <= int(text) < _LARGEST else None
        case "STRING":
            return Value("str", text)
    return None


def _is_of(value: Value, kind: pa.DataType) -> bool:
    """Whether SQL compares them as they are, and casts nothing."""
    if value.type == "int":
        return bool(pa.types.is_integer(kind))
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
