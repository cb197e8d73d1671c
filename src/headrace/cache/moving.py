"""What moves from one read to the next: days, weeks, months and numbers in names of groups, and times.

Of a read a template is left, with a hole for each of them, and the values that stood there as whole numbers, so that
the next ones can be reckoned and put in.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from headrace.cache.moving_sql import replaced
from headrace.model.request import ReadRequest

Unit = Literal["day", "week", "month", "number", "time"]
Data = Any
"""What msgspec makes of a read, or reads it from."""

MICROS_PER_DAY = 86_400_000_000
_EPOCH = dt.date(1970, 1, 1)
_FIRST_MONDAY = dt.date(1970, 1, 5)
_INSTANTS = frozenset({"timestamp", "start", "end", "as_of", "known_at"})
# Not within other digits, or what looks like a day may be a part of a number.
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([_-]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_DATES: tuple[tuple[Unit, re.Pattern[str]], ...] = (
    ("day", _DAY),
    ("week", re.compile(r"(?<!\d)((?:19|20)\d\d)([_-]?[wW])(0[1-9]|[1-4]\d|5[0-3])(?!\d)")),
    ("month", re.compile(r"(?<!\d)((?:19|20)\d\d)([_-]?)(0[1-9]|1[0-2])(?!\d)")),
)
_IN_NAMES = (*_DATES, ("number", re.compile(r"(?<!\d)(\d{1,9})$")))


@dataclasses.dataclass(frozen=True)
class Hole:
    """Where something moves.

    Args:
        of_group: in the name of a feature group, and not in a time that is compared.
        between: what stands between the parts of a date, or the form of a time.
        width: digits of a number.
    """

    unit: Unit
    of_group: bool
    between: str = ""
    width: int = 0

    def text(self, value: int) -> str:
        """What stands there for a value. Raises OverflowError, ValueError: there is no such date."""
        match self.unit:
            case "day":
                day = _EPOCH + dt.timedelta(days=value)
                return f"{day.year:04}{self.between}{day.month:02}{self.between}{day.day:02}"
            case "week":
                year, week, _ = (_FIRST_MONDAY + dt.timedelta(weeks=value)).isocalendar()
                return f"{year:04}{self.between}{week:02}"
            case "month":
                return f"{value // 12:04}{self.between}{value % 12 + 1:02}"
            case "number":
                return f"{value:0{self.width}}"
        time = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=value)
        return time.isoformat()


@dataclasses.dataclass(frozen=True)
class Moving:
    """A read as a template, and what stands in its holes.

    Args:
        template: equal for reads that differ in that alone.
        tables: what is read, with holes in its names.
    """

    template: str
    holes: tuple[Hole, ...]
    values: tuple[int, ...]
    tables: tuple[str, ...]

    def request(self, values: Sequence[int]) -> ReadRequest:
        """The read with these values. Raises OverflowError, ValueError: there is no such date."""
        texts = [hole.text(value) for hole, value in zip(self.holes, values, strict=True)]
        data = msgspec.json.decode(self.template)
        return msgspec.convert(_filled(data, texts), ReadRequest, strict=False)


def moving(request: ReadRequest) -> Moving:
    """What may move in a read that is not pinned."""
    made = _Template()
    template = msgspec.json.encode(made.part(msgspec.to_builtins(request))).decode()
    return Moving(template, tuple(made.holes), tuple(made.values), tuple(made.tables))


class _Template:
    """A template while it is made of a read."""

    def __init__(self) -> None:
        self.holes: list[Hole] = []
        self.values: list[int] = []
        self.tables: list[str] = []

    def part(self, node: Data, key: str = "") -> Data:
        if isinstance(node, dict):
            if node.get("node") == "value":
                return node | {"text": self._literal(node)}
            return {k: self.part(v, k) for k, v in node.items()}
        if isinstance(node, list | tuple):
            return [self.part(part, key) for part in node]
        if not isinstance(node, str):
            return node
        match key:
            case "group":
                return self._table(node)
            case "view":
                self.tables.append(node)
            case "sql":
                return replaced(node, table=self._table, name=self._named, text=self._dates)
        return self._instant(node) if key in _INSTANTS else node

    def _hole(self, found: Hole, value: int) -> str:
        self.holes.append(found)
        self.values.append(value)
        return f"\0{len(self.holes) - 1}\0"

    def _table(self, name: str) -> str:
        """A name, or a reference such as `sales_20260803@v1`, with a hole for what moves in it."""
        # Where SQL quotes it, the quotes are no part of it.
        quote = name[:1] if name[:1] == '"' else ""
        base, at, version = name.strip('"').partition("@")
        told = f"{quote}{self._name(base, _IN_NAMES)}{at}{version}{quote}"
        self.tables.append(told)
        return told

    def _named(self, name: str) -> str:
        """As `_table`, of what is no table: a number in it may be any."""
        return self._name(name, _DATES)

    def _name(self, name: str, patterns: Sequence[tuple[Unit, re.Pattern[str]]]) -> str:
        for unit, pattern in patterns:
            found = next(_dated(pattern, unit, name, of_group=True), None)
            if found is not None:
                match, hole, value = found
                return f"{name[: match.start()]}{self._hole(hole, value)}{name[match.end() :]}"
        return name

    def _dates(self, text: str) -> str:
        """A text, or a number, in SQL, with holes for the days that stand there."""
        told, end = [], 0
        for match, hole, value in _dated(_DAY, "day", text, of_group=False):
            told += [text[end : match.start()], self._hole(hole, value)]
            end = match.end()
        return "".join([*told, text[end:]])

    def _literal(self, node: Data) -> str:
        kind, text = node["type"], str(node["text"])
        if kind == "timestamp":
            return self._instant(text)
        if kind == "date":
            return self._hole(Hole("day", False, "-"), (dt.date.fromisoformat(text) - _EPOCH).days)
        return text

    def _instant(self, text: str) -> str:
        time = dt.datetime.fromisoformat(text)
        time = time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)
        micros = (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
        return self._hole(Hole("time", False), micros)


def _dated(
    pattern: re.Pattern[str], unit: Unit, text: str, *, of_group: bool
) -> Iterator[tuple[re.Match[str], Hole, int]]:
    for match in pattern.finditer(text):
        parts = match.groups()
        try:
            match unit:
                case "day":
                    value = (dt.date(int(parts[0]), int(parts[2]), int(parts[3])) - _EPOCH).days
                    yield match, Hole(unit, of_group, parts[1]), value
                case "week":
                    monday = dt.date.fromisocalendar(int(parts[0]), int(parts[2]), 1)
                    yield match, Hole(unit, of_group, parts[1]), (monday - _FIRST_MONDAY).days // 7
                case "month":
                    yield match, Hole(unit, of_group, parts[1]), int(parts[0]) * 12 + int(parts[2]) - 1
                case "number":
                    yield match, Hole(unit, of_group, width=len(parts[0])), int(parts[0])
        except ValueError:
            continue


def _filled(node: Data, texts: Sequence[str]) -> Data:
    if isinstance(node, dict):
        return {k: _filled(v, texts) for k, v in node.items()}
    if isinstance(node, list):
        return [_filled(part, texts) for part in node]
    if isinstance(node, str) and "\0" in node:
        pieces = node.split("\0")
        pieces[1::2] = [texts[int(number)] for number in pieces[1::2]]
        return "".join(pieces)
    return node
