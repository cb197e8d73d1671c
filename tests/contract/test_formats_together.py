"""One query over groups of every format: Delta, Hudi, folders of files, and tables of other databases."""

from __future__ import annotations

import datetime as dt
import sqlite3
import zipfile
from pathlib import Path

import adbc_driver_postgresql.dbapi as adbc
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import headrace as hr
from contract.helpers import rows
from postgres import postgres_database, postgres_url

__all__ = ["postgres_database", "postgres_url"]

pytestmark = pytest.mark.local_files
HUDI = Path(__file__).parent.parent.parent / "testdata" / "hudi" / "v9" / "partitioned.zip"
TIME = pa.timestamp("us", "UTC")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def hour(number: int) -> dt.datetime:
    return START + dt.timedelta(hours=number)


@pytest.fixture
def hudi(tmp_path: Path) -> Path:
    with zipfile.ZipFile(HUDI) as packed:
        packed.extractall(tmp_path / "hudi")
    return tmp_path / "hudi"


def events(name: str) -> pa.Table:
    """Two values of each of the ids 1 and 2: of 00:00 and 04:00."""
    times = [hour(0), hour(4), hour(0), hour(4)]
    values = [f"{name} {i}" for i in range(4)]
    return pa.table({"id": [1, 1, 2, 2], "seen": pa.array(times, TIME), name: values})


def test_one_query(store, hudi, postgres_database, tmp_path):
    labels = store.create_feature_group("labels", primary_key=["row"], event_time="at")
    labels.insert(
        pa.table({"row": [1, 2, 3], "at": pa.array([hour(1), hour(5), hour(5)], TIME), "id": [1, 2, 99]})
    )
    delta = store.create_feature_group("in_delta", primary_key=["id"], event_time="seen")
    delta.insert(events("delta"))
    names = store.register_feature_group("in_hudi", str(hudi / "table"), format="hudi", primary_key=["id"])
    expected = {
        row["id"]: row["name"] for row in pq.read_table(hudi / "expected" / "now.parquet").to_pylist()
    }
    times = {"primary_key": ["id"], "event_time": "seen"}
    (tmp_path / "parquet").mkdir()
    pq.write_table(events("parquet"), tmp_path / "parquet" / "a.parquet")
    parquet = store.register_feature_group("in_parquet", str(tmp_path / "parquet"), format="parquet", **times)
    pyarrow.csv.write_csv(events("csv"), tmp_path / "a.csv")
    csv = store.register_feature_group("in_csv", str(tmp_path / "a.csv"), format="csv", **times)

    with sqlite3.connect(tmp_path / "theirs.db") as connection:
        connection.execute("CREATE TABLE events (id INTEGER, seen TIMESTAMP, sqlite TEXT)")
        given = [
            (r["id"], f"{r['seen']:%Y-%m-%d %H:%M:%S}", r["sqlite"]) for r in events("sqlite").to_pylist()
        ]
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", given)
    sqlite = store.create_external_feature_group(
        "in_sqlite", driver="sqlite", uri=f"file:{tmp_path / 'theirs.db'}", table="events", **times
    )
    with adbc.connect(postgres_database) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("events", events("postgresql"), mode="create")
        connection.commit()
    (tmp_path / "uri").write_text(postgres_database)
    postgresql = store.create_external_feature_group(
        "in_postgresql", driver="postgresql", uri=f"file:{tmp_path / 'uri'}", table="events", **times
    )

    query = labels.select("row", "at", "id").join(names.select("name"), on="id")
    for group in (delta, parquet, csv, sqlite, postgresql):
        query = query.join(group.select(group.name.removeprefix("in_")), on="id")
    found = {row["row"]: row for row in rows(query.read())}
    formats = ("delta", "parquet", "csv", "sqlite", "postgresql")
    for row, key, number in ((1, 1, 0), (2, 2, 3)):
        assert [found[row][name] for name in formats] == [f"{name} {number}" for name in formats]
        assert found[row]["name"] == expected.get(key)
    assert [found[3][name] for name in (*formats, "name")] == [None] * 6

    view = store.create_feature_view("all", query)
    dataset = view.create_training_dataset()
    assert sorted(map(repr, dataset.read().to_arrow().to_pylist())) == sorted(
        map(repr, view.training_data().to_arrow().to_pylist())
    )
    told = query.explain()
    assert told.count("join point in time") == 5
    assert told.count("join plain") == 1
    with pytest.raises(hr.Unsupported, match=r"in_sqlite|in_postgresql"):
        dataset.recompute().to_arrow()
