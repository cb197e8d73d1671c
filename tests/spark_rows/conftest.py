"""A session of Spark, and what asks it twice: by PySpark's pickles, and by rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from spark.quick import CLASSPATH, classpath, java_options
from spark_rows.same import assert_same

# Run by the Python that has the PySpark; elsewhere there is none, and these tests are none to be skipped.
collect_ignore_glob = [] if os.environ.get("HEADRACE_ENGINE") else ["test_*.py"]

Ask = Callable[[], Any]


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    import headrace.spark

    # Of all sessions that tests start, too.
    os.environ |= {"SPARK_SUBMIT_OPTS": java_options(), CLASSPATH: classpath()}
    session = headrace.spark.session(
        master="local[2]",
        config={
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.memory": "1g",
        },
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def rows(spark: Any) -> Iterator[Any]:
    """The session, with the codec installed."""
    import headrace.spark

    headrace.spark.install(spark)
    yield spark
    headrace.spark.uninstall(spark)


@pytest.fixture
def both(spark: Any) -> Callable[[Ask], Any]:
    """Has something be done without the codec and with it, and gives what came of it, which must be the same."""
    import headrace.spark

    def run(ask: Ask) -> Any:
        headrace.spark.uninstall(spark)
        pickled = ask()
        headrace.spark.install(spark)
        try:
            before = headrace.spark.codec_stats()["driver"]["rows_read"]
            found = ask()
            run.read = headrace.spark.codec_stats()["driver"]["rows_read"] - before  # type: ignore[attr-defined]
        finally:
            headrace.spark.uninstall(spark)
        assert_same(found, pickled)
        return found

    return run
