"""The serializer by itself."""

from __future__ import annotations

import pickle
import uuid
from decimal import Decimal
from typing import Any

import pytest

import headrace as hr
import headrace.spark
from headrace import rowcodec
from headrace.spark.serializer import RowSerializer, rows_in
from spark_rows.program import succeed

ROWS = [(n, f"name {n}") for n in range(100)]


def test_rows_are_a_pickle_that_others_read() -> None:
    written = RowSerializer().dumps(ROWS)
    assert rows_in(written) is not None
    assert RowSerializer().loads(written) == ROWS
    assert pickle.loads(written) == ROWS
    assert RowSerializer().loads(pickle.dumps(ROWS)) == ROWS


@pytest.mark.parametrize(
    "given",
    [
        [],
        ROWS[:3],
        tuple(ROWS),
        "text",
        None,
        {"a": 1},
        [object] * 20,
        [(n, {n}) for n in range(20)],
        [(n if n % 2 else "odd", n) for n in range(20)],
    ],
)
def test_all_else_is_pickled(given: Any) -> None:
    written = RowSerializer().dumps(given)
    assert rows_in(written) is None
    assert RowSerializer().loads(written) == given


def test_what_rows_share_is_written_once() -> None:
    shared = list(range(100_000))
    for rows in ([(n, shared) for n in range(50)], [shared] * 50):
        assert len(RowSerializer().dumps(rows)) < 1_000_000


def test_odd_rows_go_with_the_others() -> None:
    rows = [(n, 10**30 if n == 50 else n) for n in range(100)]
    written = RowSerializer().dumps(rows)
    assert rows_in(written) is not None
    assert RowSerializer().loads(written) == rows


def test_lists_that_are_refused_again_and_again_are_tried_less() -> None:
    serializer = RowSerializer()
    sets = [(n, {n}) for n in range(100)]
    before, pickled = rowcodec.stats(), headrace.spark.codec_stats()["driver"]["lists_pickled"]
    for _ in range(1000):
        serializer.dumps(sets)
    assert rowcodec.stats()["refused"] - before["refused"] < 25
    assert rowcodec.stats()["rows_written"] == before["rows_written"]
    assert headrace.spark.codec_stats()["driver"]["lists_pickled"] - pickled == 1000
    # Those of another data set are not of these.
    assert rows_in(serializer.dumps(ROWS)) is not None
    for _ in range(64):
        last = serializer.dumps(ROWS)
    assert rows_in(last) is not None


def test_lists_of_many_looks_are_tried_less_too() -> None:
    serializer = RowSerializer()
    # The first value of a list is of one type or another, as where a column has several.
    values = [1, 1.5, "a", b"a", None, True, (1,), [1], {1: 1}, Decimal(1), uuid.UUID(int=1)]
    lists = [[(values[(n + k) % len(values)], {n}) for n in range(100)] for k in range(len(values))]
    before = rowcodec.stats()["refused"]
    for turn in range(1000):
        serializer.dumps(lists[turn % len(lists)])
    assert rowcodec.stats()["refused"] - before < 40
    # One data set that is refused has no part of another one tried less, nor the other way round.
    serializer, before = RowSerializer(), rowcodec.stats()["refused"]
    for _ in range(500):
        serializer.dumps(lists[0])
        assert rows_in(serializer.dumps(ROWS)) is not None
    assert rowcodec.stats()["refused"] - before < 20


def test_without_pickle() -> None:
    strict = RowSerializer(allow_pickle=False)
    assert strict.loads(strict.dumps(ROWS)) == ROWS
    assert strict.loads(strict.dumps(ROWS[:2])) == ROWS[:2]
    with pytest.raises(hr.Unsupported, match="several types"):
        strict.dumps([(n, n if n % 2 else str(n)) for n in range(20)])
    with pytest.raises(hr.Unsupported, match="row 7 holds a value of the class set"):
        strict.dumps([(n, {n} if n >= 7 else n) for n in range(20)])
    with pytest.raises(hr.InvalidArgument, match="allow_pickle"):
        strict.loads(pickle.dumps(ROWS))


def test_serializers_are_equal_that_write_the_same() -> None:
    used = RowSerializer()
    used.dumps([(n, {n}) for n in range(20)])
    assert used == RowSerializer() == pickle.loads(pickle.dumps(used))
    assert hash(used) == hash(RowSerializer())
    assert RowSerializer() != RowSerializer(allow_pickle=False)
    assert RowSerializer() != RowSerializer.plain()
    assert repr(RowSerializer(allow_pickle=False)) == "RowSerializer(allow_pickle=False)"


def test_plain_rows_are_of_what_sql_has() -> None:
    plain = RowSerializer.plain()
    assert rows_in(plain.dumps([(1, "a", None, b"x", [1, 2])] * 20)) is not None
    for other in (uuid.UUID(int=1), ("tuple",), {"a": 1}):
        rows = [(n, other) for n in range(20)]
        assert rows_in(plain.dumps(rows)) is None
        assert plain.loads(plain.dumps(rows)) == rows


def test_a_context_takes_it() -> None:
    program = """
        from pyspark import SparkContext
        from headrace.spark import RowSerializer, codec_stats

        context = SparkContext("local[2]", serializer=RowSerializer())
        pairs = context.parallelize([(1, "a"), (2, None)] * 100, 2).map(lambda r: (r[0], r)).groupByKey()
        assert sorted((k, len(list(v))) for k, v in pairs.collect()) == [(1, 100), (2, 100)]
        assert codec_stats()["driver"]["rows_written"] == 200
        context.stop()
    """
    succeed(program)
