"""What moves in reads: found, and put in again."""

from __future__ import annotations

import contextlib
import datetime as dt
import time

import pytest

from headrace.cache.moving import MICROS_PER_DAY, moving
from headrace.model.expression import Compare, Ref, Value
from headrace.model.query import Filter, Join, Query, Select, Source
from headrace.model.request import PointInTime, ReadRequest

DAY = (dt.date(2026, 8, 3) - dt.date(1970, 1, 1)).days


def read_of(*groups: str, value: Value | None = None, **options: object) -> ReadRequest:
    root, *others = groups
    steps: list[object] = [Select(("a",))]
    if value is not None:
        steps.append(Filter(Compare(">=", Ref("at"), value)))
    steps += [Join(Query(Source(other), (Select(("b",)),)), (("k", "k"),)) for other in others]
    query = Query(Source(root), tuple(steps))  # type: ignore[arg-type]
    return ReadRequest(kind="query", query=query, point_in_time=PointInTime(**options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "step", "after"),
    [
        ("sales20260803@v1", 1, "sales20260804@v1"),
        ("sales_2026_08_31@v2", 1, "sales_2026_09_01@v2"),
        ("d2026-12-31_x", 1, "d2027-01-01_x"),
        ("week_2026w53", 1, "week_2027w01"),
        ("week2026_W07", -7, "week2025_W52"),
        ("m_202612", 1, "m_202701"),
        ("m2026_01_eur", -1, "m2025_12_eur"),
        ("part_099", 1, "part_100"),
        ("part9", 1, "part10"),
    ],
)
def test_names(name: str, step: int, after: str) -> None:
    read = moving(read_of(name))
    assert read.request(read.values) == read_of(name)
    (value,) = read.values
    assert read.request([value + step]) == read_of(after)


@pytest.mark.parametrize("name", ["weather", "a1b", "x2026w54y", "y199_"])
def test_names_in_which_nothing_moves(name: str) -> None:
    assert moving(read_of(name)).values == ()


def test_times_and_names_together() -> None:
    monday = dt.datetime(2026, 8, 3, tzinfo=dt.UTC)
    given = read_of(
        "sales20260803@v1",
        "stock_2026_w31@v2",
        value=Value("timestamp", "2026-08-03T00:00:00+00:00"),
        start=monday,
        as_of=monday + dt.timedelta(hours=6),
    )
    read = moving(given)
    assert [hole.unit for hole in read.holes] == ["day", "time", "week", "time", "time"]
    assert read.request(read.values) == given
    day, literal, week, start, as_of = read.values
    assert (day, literal, start, as_of - start) == (
        DAY,
        DAY * MICROS_PER_DAY,
        DAY * MICROS_PER_DAY,
        MICROS_PER_DAY // 4,
    )
    later = read.request([day + 1, literal + MICROS_PER_DAY, week + 1, start + MICROS_PER_DAY, as_of])
    assert later == read_of(
        "sales20260804@v1",
        "stock_2026_w32@v2",
        value=Value("timestamp", "2026-08-04T00:00:00+00:00"),
        start=monday + dt.timedelta(days=1),
        as_of=monday + dt.timedelta(hours=6),
    )


def test_reads_that_differ_in_what_moves_have_one_template() -> None:
    one, other = moving(read_of("sales20260803")), moving(read_of("sales20260817"))
    assert (one.template, one.holes, one.tables) == (other.template, other.holes, other.tables)
    assert moving(read_of("sales2026_08_03")).holes != one.holes
    assert moving(read_of("stock20260803")).template != one.template
    assert moving(read_of("sales20260803", value=Value("int", "3"))).template != one.template


def test_dates_and_numbers_that_are_compared() -> None:
    date = moving(read_of("g", value=Value("date", "2026-08-03")))
    assert (date.holes[0].unit, date.values) == ("day", (DAY,))
    assert date.request([DAY + 1]) == read_of("g", value=Value("date", "2026-08-04"))
    assert moving(read_of("g", value=Value("int", "20260803"))).values == ()


@pytest.mark.parametrize("text", ["\x000\x00", "a\x00b", "\x009\x00", "\x00"])
def test_texts_that_look_like_holes_do_no_harm(text: str) -> None:
    read = moving(read_of("sales20260803", value=Value("str", text)))
    with contextlib.suppress(ValueError, IndexError):  # what cannot be told is not computed
        read.request(read.values)


def test_dates_that_there_are_not() -> None:
    read = moving(read_of("sales20260803"))
    with pytest.raises((OverflowError, ValueError)):
        read.request([10**9])


DAILY = """
SELECT d.id, "sales_2026-08-03".x AS x20260803 -- of 2026-08-03
FROM shop."sales_2026-08-03@v1" AS d JOIN stock42 ON d.id = stock42.id
WHERE d.at >= '2026-08-03 00:00:00' AND d.code = 't17' AND d.day = 20260803 AND d.n > 5"""


def test_sql() -> None:
    read = moving(ReadRequest(kind="query", sql=DAILY))
    assert read.request(read.values).sql == DAILY
    assert [(hole.unit, hole.of_group) for hole in read.holes] == [
        ("day", True),
        ("day", True),
        ("day", True),
        ("number", True),
        ("number", True),
        ("day", False),
        ("day", False),
    ]
    assert read.values == (DAY, DAY, DAY, 42, 42, DAY, DAY)
    later = read.request([value + 1 for value in read.values]).sql
    assert later == DAILY.replace("sales_2026-08-03", "sales_2026-08-04").replace(
        "x20260803", "x20260804"
    ).replace("42", "43").replace("'2026-08-03", "'2026-08-04").replace("= 20260803", "= 20260804")
    assert moving(ReadRequest(kind="query", sql=later)).template == read.template


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c1, max_2 FROM t AS a1",
        "SELECT 1 /* 20260803 */ FROM t -- '2026-08-03'",
        "SELECT $$2026-08-03$$ FROM t",
        "SELECT 'it''s 17' FROM t WHERE n = 120260803",
    ],
)
def test_sql_in_which_nothing_moves(sql: str) -> None:
    read = moving(ReadRequest(kind="query", sql=sql))
    assert read.values == ()
    assert read.request(()).sql == sql


@pytest.mark.parametrize("piece", ["/*a", "$$a", "$t$a", "'a", '"a', "E'\\\\'/*a*/"])
def test_sql_without_ends_is_gone_through_once(piece: str) -> None:
    sql = f"SELECT E'\\\\'' || '{piece * 15_000}"
    begun = time.monotonic()
    assert moving(ReadRequest(kind="query", sql=sql)).request(()).sql == sql
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("SELECT 1 FROM a JOIN shop.b ON true", ["a", "b"]),
        ('FROM headrace.shop."Odd name" SELECT x', ['"Odd name"']),
        ("SELECT x FROM (SELECT y FROM c7) JOIN d ON true", ["c\x000\x00", "d"]),
    ],
)
def test_tables_of_sql(sql: str, tables: list[str]) -> None:
    assert list(moving(ReadRequest(kind="query", sql=sql)).tables) == tables
