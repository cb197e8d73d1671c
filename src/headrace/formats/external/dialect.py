"""What a database is asked for, in its own SQL."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from headrace.formats.external.column import ExternalColumn
from headrace.model.expression import And, Compare, Condition, IsIn, IsNull, Not, Operator, Or, Value
from headrace.model.external import ExternalSource

_EVERY: frozenset[Operator] = frozenset({"=", "<>", "<", "<=", ">", ">="})
_MOST_EXACT = 1 << 53
"""Above it, not every whole number is a float."""


class Dialect:
    """Standard SQL, and where databases depart from it.

    A condition is passed on where the database keeps at least the rows for which it is true: they are looked at once
    more here, so that all databases agree on what is equal.
    """

    text_type: ClassVar[str] = "VARCHAR"
    """In which any value can be read."""
    time_operators: ClassVar[frozenset[Operator]] = _EVERY
    """By which times may be compared: where they have digits below a microsecond, fewer."""
    compares_decimals: ClassVar[bool] = True

    def name(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        return "'" + value.replace("'", "''") + "'"

    def truth(self, value: bool) -> str:
        return "TRUE" if value else "FALSE"

    def date(self, value: dt.date) -> str:
        return f"DATE '{value.isoformat()}'"

    def instant(self, value: dt.datetime) -> str:
        """`value` is in UTC."""
        return f"TIMESTAMP WITH TIME ZONE '{value.isoformat(sep=' ')}'"

    def time(self, value: dt.datetime) -> str:
        """`value` has no zone."""
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"

    def as_text(self, name: str) -> str:
        return f"CAST({self.name(name)} AS {self.text_type})"

    def relation(self, source: ExternalSource) -> str:
        """What stands after FROM."""
        if source.table is not None:
            return ".".join(map(self.name, source.table.split(".")))
        # On a line of its own, for a comment may end the query.
        return f"({(source.query or '').strip().removesuffix(';')}\n) AS headrace_query"

    def select(self, relation: str, columns: Sequence[ExternalColumn], conditions: Iterable[str]) -> str:
        """The rows for which the conditions are true."""
        names = [(column.value, self.name(column.name)) for column in columns]
        shown = ", ".join(name if value == name else f"{value} AS {name}" for value, name in names)
        where = " AND ".join(conditions)
        return f"SELECT {shown} FROM {relation}{' WHERE ' if where else ''}{where}"

    def conditions(self, conditions: Iterable[Condition], columns: Mapping[str, ExternalColumn]) -> list[str]:
        """Those that can be passed on, and of the others the parts that can."""
        return [sql for condition in conditions for sql, _ in self._told(condition, columns)]

    def _told(self, condition: Condition, columns: Mapping[str, ExternalColumn]) -> list[tuple[str, bool]]:
        """What must be true for the condition to be, each with whether it is true for no other rows."""
        match condition:
            case And(operands=operands):
                return [told for operand in operands for told in self._told(operand, columns)]
            case Or(operands=operands):
                parts = [self._told(operand, columns) for operand in operands]
                if not all(parts):
                    return []
                sql = " OR ".join(f"({' AND '.join(s for s, _ in part)})" for part in parts)
                return [(f"({sql})", self._is_whole(condition, columns))]
            case Not(operand=operand):
                told = self._told(operand, columns)
                if not told or not self._is_whole(operand, columns):
                    return []
                return [(f"(NOT ({' AND '.join(sql for sql, _ in told)}))", True)]
            case IsNull(column=ref):
                return [(f"({self.name(ref.name)} IS NULL)", True)]
            case IsIn(values=()):
                return [("(1 = 0)", True)]
            case IsIn(column=ref, values=values):
                column = columns[ref.name]
                literals = [self._literal(column, "=", value) for value in values]
                if any(one is None for one in literals):
                    return []
                listed = ", ".join(filter(None, literals))
                return [
                    self._or_odd(column, f"{self.name(ref.name)} IN ({listed})", column.compared != "text")
                ]
            case Compare(op=op, left=left, right=Value() as value):
                column = columns[left.name]
                literal = self._literal(column, op, value)
                if literal is None or (column.compared == "text" and op != "="):
                    return []
                exact = column.compared != "text" and not (
                    column.compared in ("instant", "time") and self.time_operators != _EVERY
                )
                return [self._or_odd(column, f"{self.name(left.name)} {op} {literal}", exact)]
        return []

    def odd(self, column: ExternalColumn) -> str:
        """SQL for whether a value is of no type that its column is compared in."""
        raise NotImplementedError

    def _or_odd(self, column: ExternalColumn, sql: str, exact: bool) -> tuple[str, bool]:
        return (f"({sql})", exact) if column.strict else (f"({sql} OR {self.odd(column)})", False)

    def _is_whole(self, condition: Condition, columns: Mapping[str, ExternalColumn]) -> bool:
        """Whether all of a condition is passed on, and means there what it means here."""
        match condition:
            case And(operands=operands) | Or(operands=operands):
                return all(self._is_whole(operand, columns) for operand in operands)
            case Not(operand=operand):
                return self._is_whole(operand, columns)
        told = self._told(condition, columns)
        return bool(told) and all(exact for _, exact in told)

    def _literal(self, column: ExternalColumn, op: Operator, value: Value) -> str | None:
        """The value as one that the database compares with the column; None if that is not for it to do."""
        match column.compared, value.type:
            case "integer", "int":
                return value.text
            case "float", "int":
                return value.text if abs(int(value.text)) <= _MOST_EXACT else None
            case "float", "float":
                return f"{float(value.text)!r}" if math.isfinite(float(value.text)) else None
            case "decimal", "int" | "decimal":
                return value.text if self.compares_decimals else None
            case "bool", "bool":
                return self.truth(value.text == "true") if op in ("=", "<>") else None
            case "date", "date":
                return self.date(dt.date.fromisoformat(value.text))
            case "text", "str":
                return self.text(value.text) if "\0" not in value.text else None
            case "instant" | "time", "timestamp":
                given = dt.datetime.fromisoformat(value.text)
                given = given.replace(tzinfo=given.tzinfo or dt.UTC).astimezone(dt.UTC)
                if op not in self.time_operators:
                    return None
                return (
                    self.instant(given)
                    if column.compared == "instant"
                    else self.time(given.replace(tzinfo=None))
                )
        return None
