"""The form of a query in SQL: what it computes, however it was written.

Two queries of one form are the same but for the names of tables within them, the order of conditions of which all or
any must be true, the sides of an equality, and, where nothing hangs on it, the order and the names of their columns.
Where a name might mean something else as well, it stays as it is, and the form is that of fewer queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from headrace.model.name import folded
from headrace.model.sql_form import SqlForm
from headrace.planning.canonical import hash_of
from headrace.planning.sql_check import AGGREGATES, CheckedQuery

Part = dict[str, Any]

_PLACES = frozenset({"query_location", "query_location_length"})
_JUNCTIONS = frozenset({"CONJUNCTION_AND", "CONJUNCTION_OR"})
_JUNCTION = frozenset({"class", "type", "children"})
_ALIKE = frozenset({"COMPARE_EQUAL", "COMPARE_NOTEQUAL"})
_COMPUTING = frozenset({"JOIN", "SET_OPERATION_NODE", "SUBQUERY", "DISTINCT_MODIFIER"})
_TABLES = frozenset({"BASE_TABLE", "SUBQUERY", "JOIN", "EXPRESSION_LIST"})
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
# What DuckDB itself calls columns without a name, where that is plain; and `alias`, which may stand before the names of
# those of the result.
_GIVEN = re.compile(r"col\d+|key|value|unnest|element|alias")


def computes(query: CheckedQuery) -> bool:
    """Whether it does more than choose rows and columns of one table."""
    return len(query.tables) > 1 or any(
        part.get("type") in _COMPUTING
        or part.get("class") in ("SUBQUERY", "WINDOW")
        or "group_expressions" in part
        or _name(part) in AGGREGATES
        for part in _parts(query.tree)
    )


def sql_form(query: CheckedQuery, schemas: Iterable[pa.Schema]) -> SqlForm:
    """The form of a checked query.

    Args:
        schemas: of its tables.
    """
    tables = tuple((table.label, table.project) for table in query.tables)
    parts = list(_parts(query.tree))
    node = query.tree["statements"][0]["node"]
    tell = _Telling(_renamed(parts, {name for schema in schemas for name in _names(schema)}))
    if not _is_free(node):
        return SqlForm(tables, hash_of(tell.part(node)))
    mentioned = {folded(name) for part in parts for name in part.get("column_names", ())}
    columns = tuple(hash_of(tell.part(_nameless(column, mentioned))) for column in node["select_list"])
    rest = tell.part({key: value for key, value in node.items() if key != "select_list"})
    if not _is_of_each_row(node):  # which rows there are hangs on all columns
        rest = [rest, sorted({*columns})]
    return SqlForm(tables, hash_of(rest), columns)


class _Telling:
    """Tells parts of a query apart by what they mean."""

    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed

    def part(self, part: Any) -> Any:
        if isinstance(part, list):
            return [self.part(item) for item in part]
        if not isinstance(part, dict):
            return part
        kind = part.get("type")
        if kind in _JUNCTIONS:
            children = sorted(hash_of(self.part(child)) for child in _flat(part))
            return {**self._of(part, "children"), "children": children}
        if kind in _ALIKE:
            sides = sorted(hash_of(self.part(part[side])) for side in ("left", "right"))
            return {**self._of(part, "left", "right"), "sides": sides}
        told = self._of(part)
        if kind == "COLUMN_REF":
            told["column_names"] = self._column(part["column_names"])
        elif kind == "STAR" and "relation_name" in part:
            told["relation_name"] = self._table(part["relation_name"])
        elif _is_table(part):
            told["alias"] = self._table(part["alias"])
        return told

    def _of(self, part: Part, *without: str) -> Part:
        return {key: self.part(value) for key, value in part.items() if key not in _PLACES | {*without}}

    def _column(self, names: list[str]) -> list[str]:
        """With the case of what may be a field of a struct, whose name is a value once it is taken out."""
        if len(names) == 1:
            return [folded(names[0])]
        table, rest = self._table(names[0]), names[1:]
        return [table, folded(rest[0]), *rest[1:]] if folded(names[0]) in self._renamed else [table, *rest]

    def _table(self, alias: str) -> str:
        return self._renamed.get(folded(alias), alias)


def _renamed(parts: list[Part], columns: set[str]) -> dict[str, str]:
    """Numbers for the names that tables have within the query, if they can mean nothing else anywhere in it."""
    aliases = [folded(part["alias"]) for part in parts if _is_table(part)]
    others = columns | {folded(word) for part in parts for word in _words(part)}
    unique = [alias for alias in aliases if aliases.count(alias) == 1 and alias not in others]
    plain = [alias for alias in unique if _PLAIN.fullmatch(alias) and not _GIVEN.fullmatch(alias)]
    # No query holds a NUL, so that none of these names stands in one.
    return {alias: f"\0{number}" for number, alias in enumerate(plain)}


def _flat(part: Part) -> Iterator[Part]:
    """What must all, or any, be true, with what stands within others of the same kind."""
    for child in part["children"]:
        if child.get("type") == part["type"] and child.keys() - _PLACES == _JUNCTION:
            yield from _flat(child)
        else:
            yield child


def _words(part: Part) -> Iterator[str]:
    """Its texts, but for those that name a table of the query."""
    for key, value in part.items():
        if key == "alias" and _is_table(part):
            continue
        if key == "relation_name" and part.get("type") == "STAR":
            continue
        is_path = key == "column_names" and part.get("type") == "COLUMN_REF" and len(value) > 1
        yield from _texts(value[1:] if is_path else value)


def _texts(value: Any) -> Iterator[str]:
    """Those that stand in no other part."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _is_free(node: Part) -> bool:
    """Whether nothing hangs on the order of its columns."""
    return (
        node.get("type") == "SELECT_NODE"
        and not node.get("modifiers")
        and not any(part.get("class") == "CONSTANT" for part in node.get("group_expressions", ()))
        # One of these is as many columns as there are, or as a struct has fields.
        and not any(
            part.get("class") == "STAR" or _name(part) == "unnest"
            for part in _parts(node.get("select_list", []))
        )
    )


def _is_of_each_row(node: Part) -> bool:
    """Whether a row of what it reads gives one row at most, whatever its columns are."""
    return (
        node.get("aggregate_handling") == "STANDARD_HANDLING"
        and not node.keys() & {"group_expressions", "group_sets", "having", "qualify"}
        and not any(
            part.get("class") in ("WINDOW", "SUBQUERY") or _name(part) in (AGGREGATES | {"unnest"})
            for part in _parts(node["select_list"])
        )
    )


def _nameless(column: Part, mentioned: set[str]) -> Part:
    """Without the name that it gives to a column of the result, if nothing else in the query may mean it."""
    if folded(str(column.get("alias", ""))) in mentioned:
        return column
    return {key: value for key, value in column.items() if key != "alias"}


def _name(part: Part) -> str:
    return str(part.get("function_name", "")).lower() if part.get("class") == "FUNCTION" else ""


def _is_table(part: Part) -> bool:
    return "class" not in part and part.get("type") in _TABLES and "alias" in part


def _names(of: pa.Schema | pa.DataType) -> Iterator[str]:
    """Of its columns, and of all that is in them."""
    for i in range(0 if isinstance(of, pa.DataType) and not pa.types.is_nested(of) else _width(of)):
        field = of.field(i)
        yield folded(field.name)
        yield from _names(field.type)


def _width(of: pa.Schema | pa.DataType) -> int:
    return len(of) if isinstance(of, pa.Schema) else int(of.num_fields)


def _parts(root: object) -> Iterator[Part]:
    left = [root]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += part.values()
        elif isinstance(part, list):
            left += part
