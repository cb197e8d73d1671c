"""Plain Python UDFs."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    made = spark.range(0, 1000, 1, 2).selectExpr(
        "id", "id / 4 AS x", "CASE WHEN id % 5 > 0 THEN concat('t', id) END AS text", "id % 2 = 0 AS even",
        "CAST(id AS DECIMAL(12, 2)) AS price", "DATE'2024-02-28' AS day",
    )  # fmt: skip
    return made.cache()


def plan(frame: Any) -> str:
    told: str = frame._jdf.queryExecution().executedPlan().toString()
    return told


def test_arguments_and_results(frame: Any, both: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    longer = F.udf(lambda text, n: None if text is None else f"{text} {n}", "string")
    half = F.udf(lambda x, n: x / 2 + n, "double")
    more = F.udf(lambda n: n + 1, "long")
    odd = F.udf(lambda even: not even, "boolean")
    cents = F.udf(lambda price: price * 100, "decimal(14, 2)")
    found = frame.select(
        longer("text", "id"), half("x", "id"), more("id"), odd("even"), cents("price"), more(more("id")), "id"
    )
    both(lambda: found.collect())
    both(lambda: frame.select(more("id").alias("n")).agg(F.sum("n")).collect())
    both(lambda: frame.where(odd("even")).count())
    both(lambda: frame.groupBy(more("id") % 10).count().orderBy("count").collect())


def test_they_are_planned_as_rows(frame: Any, rows: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    more = F.udf(lambda n: n + 1, "long")
    assert "RowEvalPython" in plan(frame.select(more("id")))
    import headrace.spark

    headrace.spark.uninstall(rows)
    assert "BatchEvalPython" in plan(frame.select(more("id")))


@pytest.mark.parametrize(
    ("of", "results"),
    [
        ("int", [1, None, 2**31 + 5, -(2**40), True, 1.5, "1", 10**30]),
        ("long", [1, None, 2**63, True, 1.0]),
        ("double", [1.5, 1, None, float("nan"), Decimal("1.5"), True]),
        ("float", [1.5, 0.1, None]),
        ("string", ["a", 1, 1.5, True, None, Decimal("1.50"), "\ud800", dt.date(2024, 1, 2), [1], {"a": 1}]),
        ("boolean", [True, 1, None, "true"]),
        ("decimal(10, 2)", [Decimal("1.255"), Decimal("1e20"), 1, 1.5, None, Decimal("NaN")]),
        ("binary", [b"ab", bytearray(b"c"), "text", None, 1]),
        ("date", [dt.date(2024, 1, 2), None]),
        ("timestamp", [dt.datetime(2024, 1, 2, 3, 4, 5, 6), None]),
        ("array<int>", [[1, None, 2], [], None, (1, 2)]),
        ("map<string, int>", [{"a": 1}, {}, None]),
        ("struct<a: int, b: string>", [(1, "x"), None, {"a": 1, "b": "y"}]),
    ],
)
def test_results_that_are_not_of_the_type(spark: Any, both: Any, of: str, results: list[Any]) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    def ask(frame: Any) -> Any:
        try:
            return frame.collect()
        except Exception as error:
            return str(error).splitlines()[-1:] and type_of(error)

    def type_of(error: Exception) -> str:
        return error.__class__.__name__

    for result in results:
        give = F.udf(lambda n, result=result: result, of)
        both(lambda give=give: ask(spark.range(0, 5, 1, 1).select(give("id"))))
    mixed = F.udf(lambda n: results[n % len(results)], of)
    both(lambda: ask(spark.range(0, 500, 1, 1).select(mixed("id"))))


def test_several_in_one_row_run_in_turn(spark: Any, both: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    def ask() -> Any:
        def note(name: str) -> Any:
            def call(n: int) -> str:
                import builtins

                log = builtins.__dict__.setdefault("_seen", [])
                log.append(name)
                return "".join(log[-4:])

            return F.udf(call, "string")

        frame = spark.range(0, 20, 1, 1).select(note("a")("id"), note("b")("id"))
        return [row[0][-1] + row[1][-2:] for row in frame.collect()]

    assert set(both(ask)) == {"aab"}


def test_errors_tell_the_same(spark: Any, both: Any) -> None:
    from pyspark.sql import Row
    from pyspark.sql import functions as F  # noqa: N812

    def stop(n: int) -> int:
        raise StopIteration(f"no {n}")

    def fail(n: int) -> int:
        if n == 700:
            raise ValueError(f"no {n}")
        return n

    def late(n: int) -> Any:
        return Row(a=n)

    def ask(function: Any, of: str = "long", *more: Any) -> Any:
        with pytest.raises(Exception) as raised:  # noqa: PT011
            spark.range(0, 1000, 1, 1).select(F.udf(function, of)("id"), *more).collect()
        return raised.type.__name__, str(raised.value)

    name, text = both(lambda: ask(fail))
    # Nothing but the line of the user's function.
    assert name == "PythonException"
    assert "no 700" in text
    assert text.count("File ") == 1
    assert "no 700" in str(both(lambda: ask(lambda n: (fail(n), None)[1], "date")))
    assert "no 700" in str(both(lambda: ask(fail, "long", F.udf(lambda n: None, "date")("id"))))

    # Where no line of the user's is left, all calls are told, which are others.
    def errors(*asked: Any) -> list[str]:
        lines = ask(*asked)[1].splitlines()
        return [line for line in lines if line.strip() and not line.startswith("  ")]

    assert "no 0" in str(both(lambda: errors(stop)))
    assert "toordinal" in str(both(lambda: errors(late, "date")))


def test_who_takes_a_few_rows_hears_of_no_later_error(spark: Any, both: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    def fail(n: int) -> int:
        if n == 110:
            raise ValueError("too far")
        return n

    both(lambda: spark.range(0, 5000, 1, 1).select(F.udf(fail, "long")("id")).take(10))


def test_large_results(spark: Any, both: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.range(0, 600, 1, 1)
    text = F.udf(lambda n: str(n % 10) * 200_000, "string")
    both(lambda: frame.select(F.sum(F.length(text("id")))).collect())
    numbers = F.udf(lambda n: [float(n)] * 2000, "array<double>")
    both(lambda: frame.select(F.sum(F.size(numbers("id")))).collect())


def test_worker_that_ends_is_an_error(spark: Any, both: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    def end(n: int) -> int:
        import os

        os._exit(3)

    def ask() -> Any:
        with pytest.raises(Exception) as raised:  # noqa: PT011
            spark.range(0, 10, 1, 1).select(F.udf(end, "long")("id")).collect()
        return raised.type.__name__

    both(ask)


def test_functions_of_sql_and_of_methods(spark: Any, both: Any) -> None:
    spark.udf.register("twice", lambda n: n * 2, "long")
    both(lambda: spark.sql("SELECT twice(id) AS n FROM range(10) WHERE twice(id) > 6").collect())
    both(lambda: spark.sql("SELECT twice(1) AS n").collect())


def test_arguments_of_other_types_go_pickled(frame: Any, both: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    year = F.udf(lambda day, n: day.year + n, "long")
    both(lambda: frame.select(year("day", "id")).collect())
    both(lambda: frame.select(F.udf(lambda: 7, "long")(), F.udf(lambda n: n, "long")("id")).collect())
