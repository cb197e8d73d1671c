"""Installing, and taking it back."""

from __future__ import annotations

from typing import Any

import headrace.spark
from spark_rows.program import succeed


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


def test_sessions_by_themselves(spark: Any) -> None:
    from headrace.spark.rows import is_installed

    other = spark.newSession()

    def strategies(session: Any) -> int:
        size: int = session._jsparkSession.experimental().extraStrategies().size()
        return size

    headrace.spark.install(spark)
    headrace.spark.install(other)
    assert (strategies(spark), strategies(other)) == (1, 1)
    headrace.spark.uninstall(spark)
    assert (strategies(spark), strategies(other)) == (0, 1)
    assert is_installed(spark.sparkContext)
    assert len(other.range(10).collect()) == 10
    headrace.spark.uninstall(spark)
    headrace.spark.uninstall(other)
    assert (strategies(spark), strategies(other)) == (0, 0)
    assert not is_installed(spark.sparkContext)
    headrace.spark.install(spark)
    headrace.spark.uninstall(spark.newSession())
    assert strategies(spark) == 1
    headrace.spark.uninstall(spark)
    assert not is_installed(spark.sparkContext)


def test_without_the_jar() -> None:
    program = """
        import headrace as hr, headrace.spark
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
        try:
            headrace.spark.install(spark)
        except hr.MissingDependency as error:
            assert "jar" in str(error)
            assert len(spark.range(3).collect()) == 3
        else:
            raise AssertionError("installed without its jar")
        spark.stop()
    """
    succeed(program)


def test_stats_count_rows(rows: Any) -> None:
    before = headrace.spark.codec_stats()
    rows.range(1000).collect()
    after = headrace.spark.codec_stats()
    assert after["rows_read"] - before["rows_read"] == 1000
    assert after["bytes_read"] > before["bytes_read"]
