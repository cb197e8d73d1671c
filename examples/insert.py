"""Writing: upsert, append, overwrite; every kind of frame; streams; writes that are safe to repeat."""

from collections.abc import Iterator

import pandas as pd
import polars as pl
import pyarrow as pa

import headrace as hr

SCHEMA = pa.schema({"origin": pa.string(), "observed_at": pa.timestamp("us", tz="UTC"), "temp": pa.float64()})
rows = [
    {"origin": "JFK", "observed_at": pd.Timestamp("2013-01-01T10:51Z"), "temp": 3.9},
    {"origin": "LGA", "observed_at": pd.Timestamp("2013-01-01T10:51Z"), "temp": 4.4},
]

with hr.connect("./lake", project="flights") as fs:
    weather = fs.create_feature_group("weather", primary_key=["origin"], event_time="observed_at")

    # A row is identified by primary key and event time: upsert, the default, replaces it.
    first: hr.Commit = weather.insert(rows)
    assert (first.rows_inserted, first.rows_updated) == (2, 0)
    corrected = weather.insert([{**rows[0], "temp": 3.5}])
    assert (corrected.rows_inserted, corrected.rows_updated) == (0, 1)
    assert corrected.snapshot > first.snapshot

    # Any frame will do, and anything else that speaks Arrow.
    table = pa.Table.from_pylist(rows, SCHEMA)
    for frame in (table, table.to_batches()[0], table.to_pandas(), pl.from_arrow(table), pl.LazyFrame(table)):
        weather.insert(frame)
    assert weather.read().to_arrow().num_rows == 2

    # A reader is streamed, in bounded memory: the whole is one commit, or none.
    def hours() -> Iterator[pa.RecordBatch]:
        for hour in pd.date_range("2013-01-02", periods=48, freq="h", tz="UTC"):
            yield pa.RecordBatch.from_pylist([{"origin": "EWR", "observed_at": hour, "temp": 1.0}], SCHEMA)

    reader = pa.RecordBatchReader.from_batches(SCHEMA, hours())
    assert weather.insert(reader, mode="append").rows_inserted == 48

    # A key for the write makes it safe to repeat, after a lost connection for instance.
    once = weather.insert(rows, mode="append", idempotency_key="backfill-2013")
    twice = weather.insert(rows, mode="append", idempotency_key="backfill-2013")
    assert once.snapshot == twice.snapshot

    weather.insert(rows, mode="overwrite")
    assert weather.read().to_arrow().num_rows == 2
