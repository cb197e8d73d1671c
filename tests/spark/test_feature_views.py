"""Feature views on sessions of `headrace.spark`, in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark.spark import PROFILES
from spark.test_session import run

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_rows_that_no_driver_holds(tmp_path: Path) -> None:
    """More than 600 MB are joined, sorted and written by executors, all in one JVM of 512 MB."""
    program = """
        import json, sys
        import numpy as np, pyarrow as pa
        import headrace as hr, headrace.spark

        settings = {"spark.driver.memory": "512m", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "16"}
        spark = headrace.spark.session(master="local[2]", config=settings)
        time, step, steps = pa.timestamp("us", "UTC"), 100_000, 25
        rng = np.random.default_rng(1)
        pool = pa.array([f"{n:0256}" for n in range(1_000)])

        def batches():
            for i in range(steps):
                ids = np.arange(i * step, (i + 1) * step)
                texts = pool.take(pa.array(rng.integers(0, 1_000, step)))
                yield pa.record_batch({"id": ids, "at": pa.array(ids * 1_000_000, time), "k": ids % 999, "text": texts})

        with hr.connect(sys.argv[1], spark=spark) as fs:
            schema = pa.schema({"id": pa.int64(), "at": time, "k": pa.int64(), "text": pool.type})
            rows = fs.create_feature_group("rows", primary_key=["id"], event_time="at", schema=schema)
            rows.insert(pa.RecordBatchReader.from_batches(schema, batches()), mode="append")
            facts = fs.create_feature_group("facts", primary_key=["k"], event_time="seen")
            facts.insert(pa.table({"k": np.arange(999), "seen": pa.array(np.zeros(999, int), time), "f": np.arange(999)}))
            view = fs.create_feature_view("view", rows.select().join(facts, on="k"))
            made = view.create_training_dataset(engine="spark")
            ids, found, size = 0, 0, 0
            for batch in made.read().to_reader():
                ids += int(batch["id"].to_numpy().sum())
                found += batch.num_rows - batch["f"].null_count
                size += batch.nbytes
            spark.stop()
            try:
                view.training_data(engine="spark").to_arrow()
            except hr.HeadraceError as error:
                code = error.code
            print(json.dumps([made.rows["all"], ids, found, size > 600_000_000, code]))
    """
    rows = 2_500_000
    assert run("3.5", program, tmp_path / "lake") == [rows, rows * (rows - 1) // 2, rows, True, "UNAVAILABLE"]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_session_that_lacks_what_a_table_needs(profile: str, tmp_path: Path) -> None:
    program = """
        import json, sys
        import datetime as dt
        from pyspark.sql import SparkSession
        import headrace as hr

        spark = (
            SparkSession.builder.master("local[1]").config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false").getOrCreate()
        )
        with hr.connect(sys.argv[1], spark=spark) as fs:
            rows = fs.create_feature_group("rows", primary_key=["id"], event_time="at")
            rows.insert([{"id": 1, "at": dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)}])
            told = []
            for act in (lambda: rows.select().read(engine="spark").to_arrow(), lambda: rows.read().to_spark()):
                try:
                    act()
                except hr.HeadraceError as error:
                    told.append([error.code, error.hint])
            print(json.dumps(told))
        spark.stop()
    """
    lacking, also = run(profile, program, tmp_path / "lake")
    assert lacking == also
    assert lacking[0] == "MISSING_DEPENDENCY"
    assert "headrace.spark.session(delta=True)" in lacking[1]
