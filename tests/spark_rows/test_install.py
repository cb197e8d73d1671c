"""Installing, and taking it back."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
import headrace.spark


def test_uninstall_leaves_what_was(spark: Any) -> None:
    from headrace.spark.frames import DataFrame

    headrace.spark.uninstall(spark)
    names = ("collect", "tail", "toLocalIterator", "rdd")
    before = [DataFrame.__dict__[name] for name in names]
    serializers = repr(spark.sparkContext.serializer), repr(spark.sparkContext._unbatched_serializer)
    strategies = spark._jsparkSession.experimental().extraStrategies().size()
    for _ in range(2):
        headrace.spark.install(spark)
        headrace.spark.install(spark)
        assert "RowSerializer" in repr(spark.sparkContext.serializer)
        headrace.spark.uninstall(spark)
        headrace.spark.uninstall(spark)
    assert [DataFrame.__dict__[name] for name in names] == before
    assert (
        repr(spark.sparkContext.serializer),
        repr(spark.sparkContext._unbatched_serializer),
    ) == serializers
    assert spark._jsparkSession.experimental().extraStrategies().size() == strategies
    assert (
        spark.sparkContext._jvm.org.apache.spark.SparkEnv.get().conf().get("spark.python.daemon.module", "")
        == ""
    )


def test_a_serializer_of_the_users_stays(spark: Any) -> None:
    from pyspark.serializers import BatchedSerializer, MarshalSerializer

    context = spark.sparkContext
    before = context._unbatched_serializer, context.serializer
    try:
        context._unbatched_serializer = MarshalSerializer()
        context.serializer = BatchedSerializer(context._unbatched_serializer, 10)
        headrace.spark.install(spark)
        assert isinstance(context._unbatched_serializer, MarshalSerializer)
        headrace.spark.uninstall(spark)
        assert isinstance(context._unbatched_serializer, MarshalSerializer)
    finally:
        context._unbatched_serializer, context.serializer = before


def test_stats_count_rows(rows: Any) -> None:
    before = headrace.spark.codec_stats()
    rows.range(1000).collect()
    after = headrace.spark.codec_stats()
    assert after["rows_read"] - before["rows_read"] == 1000
    assert after["bytes_read"] > before["bytes_read"]


def test_connect_is_refused() -> None:
    class Remote:
        """As a session of Spark Connect is: without a context."""

        _sc = None

    with pytest.raises(hr.Unsupported, match="Spark Connect"):
        headrace.spark.install(Remote())  # type: ignore[arg-type]
    with pytest.raises(hr.Unsupported, match="Spark Connect"):
        headrace.spark.uninstall(Remote())  # type: ignore[arg-type]
