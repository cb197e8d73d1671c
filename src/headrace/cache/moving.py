"""What moves from one read to the next: days, weeks, months and numbers in names of groups, and times.

Of a read a template is left, with a hole for each of them, and the values that stood there as whole numbers, so that
the next ones can be reckoned and put in.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from headrace.model.request import ReadRequest

Unit = Literal["day", "week", "month", "number", "time"]
Data = Any
"""What msgspec makes of a read, or reads it from."""

MICROS_PER_DAY = 86_400_000_000
_EPOCH = dt.date(1970, 1, 1)
_FIRST_MONDAY = dt.date(1970, 1, 5)
_INSTANTS = frozenset({"timestamp", "start", "end", "as_of", "known_at"})
# Not within other digits, or what looks like a day may be a part of a number.
_IN_NAMES: tuple[tuple[Unit, re.Pattern[str]], ...] = (
    ("day", re.compile(r"(?<!\d)((?:19|20)\d\d)([_-]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")),
    ("week", re.compile(r"(?<!\d)((?:19|20)\d\d)([_-]?[wW])(0[1-9]|[1-4]\d|5[0-3])(?!\d)")),
    ("month", re.compile(r"(?<!\d)((?:19|20)\d\d)([_-]?)(0[1-9]|1[0-2])(?!\d)")),
    ("number", re.compile(r"(?<!\d)(\d{1,9})$")),
)


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
    holes: list[Hole] = []
    values: list[int] = []

    def hole(found: Hole, value: int) -> str:
        holes.append(found)
        values.append(value)
        return f"\0{len(holes) - 1}\0"

    data = _holed(msgspec.to_builtins(request), hole)
    template = msgspec.json.encode(data).decode()
    return Moving(template, tuple(holes), tuple(values), tuple(_tables(data)))


Put = Callable[[Hole, int], str]


def _holed(node: Data, put: Put, key: str = "") -> Data:
    if isinstance(node, dict):
        if node.get("node") == "value":
            return node | {"text": _literal(node, put)}
        return {k: _holed(v, put, k) for k, v in node.items()}
    if isinstance(node, list | tuple):
        return [_holed(part, put, key) for part in node]
    if not isinstance(node, str):
        return node
    if key == "group":
        return _name(node, put)
    return _instant(node, put) if key in _INSTANTS else node


def _name(name: str, put: Put) -> str:
    """A name, or a reference such as `sales_20260803@v1`, with a hole for what moves in it."""
    base, at, version = name.partition("@")
    for unit, pattern in _IN_NAMES:
        found = next(_dated(pattern, unit, base), None)
        if found is not None:
            match, made, value = found
            return f"{base[: match.start()]}{put(made, value)}{base[match.end() :]}{at}{version}"
    return name


def _dated(pattern: re.Pattern[str], unit: Unit, text: str) -> Iterator[tuple[re.Match[str], Hole, int]]:
    for match in pattern.finditer(text):
        parts = match.groups()
        try:
            match unit:
                case "day":
                    value = (dt.date(int(parts[0]), int(parts[2]), int(parts[3])) - _EPOCH).days
                    yield match, Hole(unit, True, parts[1]), value
                case "week":
                    monday = dt.date.fromisocalendar(int(parts[0]), int(parts[2]), 1)
                    yield match, Hole(unit, True, parts[1]), (monday - _FIRST_MONDAY).days // 7
                case "month":
                    yield match, Hole(unit, True, parts[1]), int(parts[0]) * 12 + int(parts[2]) - 1
                case "number":
                    yield match, Hole(unit, True, width=len(parts[0])), int(parts[0])
        except ValueError:
            continue


def _literal(node: Data, put: Put) -> str:
    kind, text = node["type"], str(node["text"])
    if kind == "timestamp":
        return _instant(text, put)
    if kind == "date":
        return put(Hole("day", False, "-"), (dt.date.fromisoformat(text) - _EPOCH).days)
    return text


def _instant(text: str, put: Put) -> str:
    time = dt.datetime.fromisoformat(text)
    time = time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)
    micros = (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
    return put(Hole("time", False), micros)


def _tables(node: Data) -> Iterator[str]:
    """In the order in which they stand there."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("group", "view") and isinstance(value, str):
                yield value
            else:
                yield from _tables(value)
    elif isinstance(node, list):
        for part in node:
            yield from _tables(part)


def _filled(node: Data, texts: Sequence[str]) -> Data:
    if isinstance(node, dict):
        return {k: _filled(v, texts) for k, v in node.items()}
    if isinstance(node, list):
        return [_filled(part, texts) for part in node]
    if isinstance(node, str) and "\0" in node:
        before, number, after = node.split("\0")
        return f"{before}{texts[int(number)]}{after}"
    return node
