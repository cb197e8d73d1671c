"""Results that a service keeps: a join that is asked for again is not computed again, until a table changes."""

import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

import headrace as hr
from headrace.config import store_config
from headrace.wiring import Service

ROWS = 500_000
START = datetime(2026, 1, 1, tzinfo=UTC)
minutes = pa.array(np.datetime64("2026-01-01", "us") + np.arange(ROWS) * np.timedelta64(60, "s")).cast(
    pa.timestamp("us", "UTC")
)

# As `headrace serve --root ./lake --listen grpc://127.0.0.1:0 --cache 1GB`.
service = Service(store_config("./lake"), ["grpc://127.0.0.1:0"], cache_bytes=1_000_000_000)
with hr.connect(service.listening[0]) as fs:
    readings = fs.create_feature_group("readings", primary_key=["sensor"], event_time="at")
    readings.insert(pa.table({"sensor": np.arange(ROWS) % 100, "at": minutes, "value": np.arange(ROWS) / 8}))
    alarms = fs.create_feature_group("alarms", primary_key=["id"], event_time="at")
    alarms.insert(pa.table({"id": np.arange(ROWS), "at": minutes, "sensor": np.arange(ROWS) * 7 % 100}))
    query = alarms.select("id", "at").join(readings.select("value"), on="sensor")
    view = fs.create_feature_view("last_reading", query)

    first = view.training_data().to_arrow()
    while (
        not fs.cache.list()
    ):  # it is kept a moment after its last row; if it came quickly, once it is asked for again
        time.sleep(0.1)
        first = view.training_data().to_arrow()
    before = fs.cache.stats()
    again = view.training_data().to_arrow()
    assert again.sort_by("id").equals(first.sort_by("id"))
    print(view.explain().splitlines()[-1])

    # Fewer rows and columns are chosen from what is kept.
    late = view.training_data(START + timedelta(days=60)).to_arrow()
    assert late.num_rows == ROWS - 60 * 24 * 60
    told = fs.cache.stats()
    assert (told.hits - before.hits, told.misses - before.misses) == (2, 0)

    # After a commit it is another question.
    readings.insert([{"sensor": 0, "at": START, "value": -1.0}])
    changed = view.training_data().to_arrow()
    assert -1.0 in changed["value"].to_pylist()
    assert fs.cache.stats().misses == told.misses + 1
service.stop()
