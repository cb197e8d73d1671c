"""Small random feature groups, queries and spines: few keys and few instants, so that rows meet, tie and miss."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import functools
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from reference.condition import Condition
from reference.point_in_time import Call, Join, Query
from reference.table import UNLIMITED, Table

TIME = pa.timestamp("us", tz="UTC")
NOON = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
INSTANTS = [
    NOON + dt.timedelta(minutes=m, microseconds=us) for m, us in ((0, 0), (1, 0), (1, 1), (2, 0), (5, 0))
]
LATER = [*INSTANTS, NOON + dt.timedelta(minutes=6), NOON + dt.timedelta(hours=13)]
DAYS = [dt.date(2024, 2, 29), dt.date(2024, 3, 1), dt.date(2024, 3, 2)]
AGES = [
    dt.timedelta(minutes=1),
    dt.timedelta(minutes=3),
    dt.timedelta(microseconds=1),
    dt.timedelta(hours=12),
    dt.timedelta(2),
]
NO_AGE = dt.timedelta(0)


def at_most(limit: Any, age: dt.timedelta | None) -> dt.timedelta | None:
    """The age, or the limit where that is less: a least age beyond the greatest is refused."""
    return min(limit, age) if isinstance(limit, dt.timedelta) and age is not None else age


# Logical names stand for what a column is; a naming says what it is called.
DOMAINS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.int64(), [1, 2, 3, 4, 5, 6]),
    "k": (pa.int64(), [1, 11]),
    "s": (pa.string(), ["1", "11"]),
    "s2": (pa.string(), ["11", "1"]),
    "d": (pa.date32(), DAYS[:2]),
    "b": (pa.bool_(), [True, False]),
    "v1": (pa.int64(), [0, 1, -(2**63), 2**63 - 1]),
    "v2": (pa.float64(), [0.5, -1.5, math.nan, math.inf]),
    "v3": (pa.string(), ["", "1", "é", "e\u0301", " 1"]),
    "v4": (pa.list_(pa.field("element", pa.int32())), [[], [1, None], [2]]),
    "v5": (pa.decimal128(9, 2), [decimal.Decimal("1.50"), decimal.Decimal("-0.01")]),
    "t": (TIME, INSTANTS),
    "day": (pa.date32(), DAYS),
    "c": (TIME, INSTANTS),
    "rank": (pa.int32(), [1, 2]),
    "part": (pa.string(), ["a", "b/c", "x=y", "é %"]),
    "y": (pa.float64(), [0.0, 1.0]),
}
KEYS = ["k", "s", "s2", "d", "b"]
FEATURES = ["v1", "v2", "v3", "v4", "v5"]
PLAIN_NAMES = {name: name for name in DOMAINS}
ODD_NAMES = dict(
    zip(
        DOMAINS,
        ["order by", "it's", 'say "hi"', "../d", "名前", "x; drop table t; --", "a.b", "{v}", "100%", "back\\slash",
         "select", "group", "the day", "created at", "$1", "par=t/1", "naïve"],
        strict=True,
    )
)  # fmt: skip


@dataclasses.dataclass
class Stored:
    """A feature group to be written: `table` already holds what each write leaves."""

    table: Table
    types: dict[str, pa.DataType]
    writes: list[tuple[str, list[dict[str, Any]]]]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(self.types)


@dataclasses.dataclass
class Case:
    groups: list[Stored]
    """The root first."""
    query: Query
    calls: list[tuple[str, Call]]
    """How to ask ("read", "training" or "batch") and what."""
    labels: list[str]

    @property
    def spine_types(self) -> dict[str, pa.DataType]:
        """Types of the columns that a spine may have."""
        return self.groups[0].types | {"asked at": TIME, "extra": pa.string()}


@functools.cache
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


class Chooser:
    """Draws by index from lists: many times faster than strategies made anew for each draw.

    What comes first in a list is what failures shrink to.
    """

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def one(self, options: Sequence[Any]) -> Any:
        return options[self._draw(_below(len(options)))]

    def rarely(self, one_in: int) -> bool:
        # Not the last index: Hypothesis favours the ends of a range.
        return bool(self._draw(_below(one_in)) == one_in // 2)

    def count(self, least: int, most: int) -> int:
        return least + int(self._draw(_below(most - least + 1)))

    def some(self, options: Sequence[Any], least: int, most: int) -> list[Any]:
        """Different ones, in any order."""
        left = list(options)
        return [
            left.pop(self._draw(_below(len(left)))) for _ in range(min(self.count(least, most), len(left)))
        ]

    def value(self, options: Sequence[Any], nulls: bool) -> Any:
        return None if nulls and self.rarely(7) else self.one(options)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    choose = Chooser(draw)
    odd = choose.rarely(2)
    names = ODD_NAMES if odd else PLAIN_NAMES
    root = group_of(choose, "root", names, root=True)
    groups = [root, *(group_of(choose, f"g{i}", names, root=False) for i in range(choose.count(1, 3)))]
    query = Query(root.table)
    if choose.rarely(2):
        query.columns = choose.some(root.table.columns, 1, 4)
    if choose.rarely(8):
        query.where = condition_on(choose, root.types)
    result = dict(root.types)  # what later joins and filters may name
    for number in range(choose.count(1, 5)):
        join, types = join_of(choose, groups, f"p{number}{' ' if odd else '_'}", result)
        query.joins.append(join)
        result |= {join.prefix + column: types[column] for column in join.selected}
    if choose.rarely(6):
        query.having = condition_on(choose, {name: result[name] for name in query.names})
    labels = [names["y"]] if names["y"] in query.names and choose.rarely(2) else []
    calls = [call_of(choose, query, names, labels) for _ in range(choose.count(2, 4))]
    return Case(groups, query, calls, labels)


def group_of(choose: Chooser, name: str, names: dict[str, str], *, root: bool) -> Stored:
    """A group with its writes. The root has every key column, nullable, beside its own key."""
    keys = (
        [["id"], ["id", "s"], ["k"], []] if root else [["k"], ["s", "s2"], ["k", "s"], ["d"], ["b", "k"], []]
    )
    key = choose.one(keys)
    timed = key == [] or not choose.rarely(9)  # without key and event time nothing would identify a row
    daily = timed and not root and choose.rarely(6)
    time = "day" if daily else "t"
    recorded, ranked, partitioned = choose.rarely(2), choose.rarely(4), choose.rarely(4)
    columns = [*dict.fromkeys([*key, *(KEYS if root else [])])]
    columns += [
        c
        for c, there in ((time, timed), ("c", recorded), ("rank", ranked), ("part", partitioned), ("y", root))
        if there
    ]
    columns += choose.some(FEATURES, 1, 3)
    table = Table(
        name,
        [names[column] for column in columns],
        [names[column] for column in key],
        event_time=names[time] if timed else None,
        created_time=names["c"] if recorded else None,
        partition_by=[names["part"]] if partitioned else [],
        tie_breaker=names["rank"] if ranked else None,
        ttl=choose.one([None, *AGES, UNLIMITED, None]) if timed else None,
    )
    if timed and choose.rarely(6):
        table.min_age = at_most(table.ttl, choose.one([NO_AGE, *AGES]))
    writes = []
    for _ in range(0 if choose.rarely(12) else choose.one([1, 2, 2, 3])):
        mode = choose.one(["append", "append", "append", "upsert", "upsert", "overwrite"])
        rows = rows_of(choose, columns, key, time if timed else None)
        rows = [{names[column]: value for column, value in row.items()} for row in rows]
        if mode != "append":
            rows = list({table.identity(row): row for row in rows}.values())
        table.write(mode, rows)
        writes.append((mode, rows))
    return Stored(table, {names[column]: DOMAINS[column][0] for column in columns}, writes)


def rows_of(choose: Chooser, columns: list[str], key: list[str], time: str | None) -> list[dict[str, Any]]:
    """Rows of a group. Some repeat the key of the one before, some its time as well, and so tie with it."""
    rows: list[dict[str, Any]] = []
    for _ in range(choose.count(2, 6)):
        row = {
            column: choose.value(DOMAINS[column][1], nulls=column not in (*key, time)) for column in columns
        }
        repeated = choose.one([[], key, [*key, *([time] if time else [])]])
        if rows:
            row |= {column: rows[-1][column] for column in repeated}
        rows.append(row)
    return rows


def condition_on(choose: Chooser, columns: dict[str, pa.DataType], depth: int = 0) -> Condition:
    """A condition on these columns."""
    if depth < 2 and choose.rarely(3):
        kind = choose.one(["not", "and", "or"])
        inner = [condition_on(choose, columns, depth + 1) for _ in range(1 if kind == "not" else 2)]
        return (kind, *inner)
    name, type_ = choose.one(list(columns.items()))
    values = _literals(type_)
    if not values or choose.rarely(6):
        return ("nan" if pa.types.is_floating(type_) and choose.rarely(2) else "null", name)
    if pa.types.is_string(type_) and choose.rarely(4):
        return ("like", name, choose.one(["1%", "%1", "_", "%", "%_1"]))
    if choose.rarely(4):
        return ("in", name, choose.some(values, 1, 3))
    return ("compare", choose.one(["=", "<>", "<", "<=", ">", ">="]), name, choose.one(values))


def _literals(type_: pa.DataType) -> list[Any]:
    if pa.types.is_integer(type_):
        return [0, 1, 5, 11, decimal.Decimal("1.5"), -(10**30)]
    if pa.types.is_string(type_):
        return ["1", "11", "é", "", "' OR 1=1 --"]
    if pa.types.is_timestamp(type_):
        return INSTANTS
    if pa.types.is_date(type_):
        return DAYS
    if pa.types.is_boolean(type_):
        return [True, False]
    if pa.types.is_floating(type_):
        return [0.5, -1.5, math.nan, math.inf]
    if pa.types.is_decimal(type_):
        return [decimal.Decimal("1.5"), decimal.Decimal(0), decimal.Decimal("1.4999"), 10**40]
    return []


def join_of(
    choose: Chooser, groups: list[Stored], prefix: str, left: dict[str, pa.DataType]
) -> tuple[Join, dict[str, pa.DataType]]:
    """A join with one of the groups, and its types; `left` are the names that `on` may use."""
    right = choose.one([*groups[1:], *groups])
    table, itself = right.table, right is groups[0]
    on = []
    for column in table.key:
        used = [name for name, _ in on]
        fitting = [name for name, kind in left.items() if kind == right.types[column] and name not in used]
        on.append((choose.one(([column] * 5 if column in fitting else []) + fitting), column))
    join = Join(table, prefix=prefix, on=on)
    if all(a == b for a, b in on) and not choose.rarely(3):
        join.on = None
    if itself or choose.rarely(2):
        join.columns = choose.some(table.columns, 1, 3)
    if choose.rarely(8):
        join.where = condition_on(choose, right.types)
    if choose.rarely(12):
        join.how = "inner"
    if table.event_time is not None and groups[0].table.event_time is not None:
        if choose.rarely(25):
            join.point_in_time = False
        else:
            join.max_age = choose.one([*AGES, None, None, None, UNLIMITED])
            join.min_age = at_most(join.max_age, choose.one([*([] if itself else [None] * 4), NO_AGE, *AGES]))
    if len(table.states) > 1 and choose.rarely(8):
        join.state = choose.count(1, len(table.states) - 1)
    return join, right.types


def call_of(choose: Chooser, query: Query, names: dict[str, str], labels: list[str]) -> tuple[str, Call]:
    """One way to ask. A view is not asked where its rules would refuse the query."""
    time = query.root.event_time
    call = Call()
    if choose.rarely(2):
        call.known_at = choose.one([*(["event_time"] * 6 if time else []), *LATER])
    ignores_time = any(join.point_in_time is False for join in query.joins)
    leaks_labels = any(label in join.selected for join in query.joins for label in labels)
    if time is None or ignores_time or leaks_labels or choose.rarely(6):
        return "read", call
    if choose.rarely(6):
        call.max_age = choose.one([UNLIMITED, *AGES])
    if choose.rarely(8):
        call.min_age = at_most(call.max_age, choose.one([NO_AGE, *AGES]))
    bounded = choose.rarely(5)
    if bounded:
        bounds = sorted(choose.some([*INSTANTS, *LATER[-2:]], 2, 2))
        call.start, call.end = (choose.one([bound, None]) for bound in bounds)
    kind = choose.one(["training", "training", "batch"])
    if kind == "batch":
        call.without = labels
    if choose.rarely(3):
        return kind, call
    asked = choose.one([time, "asked at"])
    call.event_time = None if asked == time else asked
    given = choose.some([column for column in query.root.columns if column != time], 0, 9)
    # Whatever the spine lacks is found by the root's key, which it then needs.
    columns = [*dict.fromkeys([*given, *query.root.key]), asked, "extra"]
    call.spine_columns = choose.some(columns, len(columns), len(columns))
    logical = {name: column for column, name in names.items()} | {"asked at": "t"}
    call.spine = []
    for _ in range(0 if choose.rarely(9) else choose.count(1, 6)):
        row = {name: spine_value(choose, logical.get(name, name), bounded) for name in call.spine_columns}
        if call.spine and choose.rarely(3):
            row = call.spine[-1] | {"extra": row["extra"]}  # the same question again
        call.spine.append(row)
    return kind, call


def spine_value(choose: Chooser, column: str, bounded: bool) -> Any:
    """Times are no nulls where start and end bound them, and mostly late, so that something has been seen."""
    if column == "t":
        return choose.value(LATER, nulls=not bounded)
    return choose.value(["x", "y"] if column == "extra" else DOMAINS[column][1], nulls=True)
