"""Data frames of Spark are inserted like any other frame."""

from __future__ import annotations

import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh
from spark.helpers import rows
from spark.spark import SparkError

pytestmark = pytest.mark.slow

COLUMNS = """
    id, CAST(id AS STRING) AS text, id % 2 = 0 AS yes, CAST(id % 100 AS BYTE) AS small, CAST(id AS FLOAT) AS float,
    CAST(id AS DECIMAL(20, 2)) AS money, CAST(CAST(id AS STRING) AS BINARY) AS bytes, date_from_unix_date(id) AS day,
    timestamp_seconds(id * 7777.123456) AS time, CAST('2024-03-10 02:30:00' AS TIMESTAMP_NTZ) AS local,
    array(id, NULL) AS list, named_struct('a b', id, 'c', array(named_struct('d', id))) AS struct, map(id, 'x') AS map,
    IF(id % 3 = 0, NULL, id) AS some
"""
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
NEXT = pa.schema({"id": pa.int64(), "value": pa.int64()})


@pytest.fixture
def project() -> str:
    return fresh("spark")


@pytest.fixture
def store(target, project):
    """Embedded and remote."""
    with hr.connect(target, project=project) as opened:
        yield opened


def held(group) -> dict[int, int]:
    found = group.read().to_arrow()
    return dict(zip(found["id"].to_pylist(), found["value"].to_pylist(), strict=True))


@pytest.mark.newest_line
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_every_type(spark, store, target, project, zone):
    """Of many partitions, and of many batches; the zone of the session changes no instant."""
    group = store.create_feature_group("types", primary_key=["id"])
    query = f"SELECT {COLUMNS} FROM range(0, 600, 1, 3)"
    spark.run(f"SET spark.sql.session.timeZone = {zone}", f"SET {_BATCH} = 64")
    try:
        assert spark.insert(query, target, project, "types") == 600
        theirs = spark.read(query)
    finally:
        spark.run("SET spark.sql.session.timeZone = UTC", f"RESET {_BATCH}")
    ours = group.read().to_arrow()
    assert ours.schema.names == theirs.schema.names
    assert rows(ours) == rows(theirs.cast(ours.schema))  # times of no zone are taken for UTC


def test_modes(spark, store, target, project):
    group = store.create_feature_group("g", primary_key=["id"], schema=NEXT)
    assert spark.insert("SELECT id, id AS value FROM range(10)", target, project, "g") == 10
    assert spark.insert("SELECT id, 0L AS value FROM range(8, 12)", target, project, "g") == 2
    assert held(group) == {**{i: i for i in range(8)}, **dict.fromkeys(range(8, 12), 0)}
    snapshot = group.history(1)[0].snapshot
    assert spark.insert("SELECT id, id AS value FROM range(0)", target, project, "g") == 0
    assert group.history(1)[0].snapshot == snapshot
    spark.insert("SELECT id, 5L AS value FROM range(2)", target, project, "g", mode="overwrite")
    assert held(group) == {0: 5, 1: 5}


BAD = {
    "SELECT 1L AS id, 2L AS id": "NameClash.*two columns of a Spark frame have the same name",
    "SELECT 1L AS id, INTERVAL 1 YEAR AS value": "SchemaMismatch.*column 'value' of a Spark frame is interval year, which has no Arrow type",
    "SELECT 1L AS id, 'x' AS value": "SchemaMismatch.*column 'value'",
    "SELECT 1L AS id, 1L AS value UNION ALL SELECT 1L, 2L": "DuplicateKeys",
    # Of the last partition, when the others have been sent.
    "SELECT id, CAST(assert_true(id < 29999) IS NULL AS BIGINT) AS value FROM range(0, 30000, 1, 3)": "is not true",
}


@pytest.mark.parametrize("query", BAD)
def test_nothing_is_written_of_what_fails(spark, store, target, project, query):
    group = store.create_feature_group("g", primary_key=["id"], schema=NEXT)
    with pytest.raises(SparkError, match=f"(?s){BAD[query]}"):
        spark.insert(query, target, project, "g")
    assert group.read().to_arrow().num_rows == 0
