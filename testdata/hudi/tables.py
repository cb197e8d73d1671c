"""What Hudi's tables can look like."""

from __future__ import annotations

from maker import Maker, table

VALUES = """
    SELECT CAST(id AS INT) AS id, id % 2 = 0 AS yes, id * 10000000000 AS long, CAST(id / 4 AS FLOAT) AS float,
        id / 8 AS double, CAST(id + 0.25 AS DECIMAL(10, 2)) AS small, CAST(id + 1e-18 AS DECIMAL(38, 18)) AS large,
        concat('text ', id) AS text, encode(concat('bytes ', id), 'utf-8') AS bytes,
        date_add(DATE '1969-12-30', CAST(id AS INT)) AS day,
        timestampadd(MICROSECOND, id * 1000001, TIMESTAMP '1969-12-31 23:59:58.999999Z') AS time,
        array(CAST(id AS INT), 7) AS list, map('k', CAST(id AS INT)) AS map,
        named_struct('a', CAST(id AS INT), 'b', named_struct('c', 'x', 'd', array(DATE '2024-02-29'))) AS nested,
        CAST({ts} AS BIGINT) AS ts
    FROM range({first}, {last})
"""


def rows(first: int, last: int, ts: int, extra: str = "") -> str:
    """A few columns: a key, a text that tells who wrote the row, a partition of three, and what orders updates."""
    return (
        f"SELECT id, concat('by ', {ts}) AS name, CAST(id % 3 AS STRING) AS p, CAST({ts} AS BIGINT) AS ts{extra} "
        f"FROM range({first}, {last})"
    )


@table(6, 8, 9)
def plain(t: Maker) -> None:
    """Every type, without partitions: inserts, updates, deletes, nulls."""
    t.write(VALUES.format(ts=1, first=0, last=20), "bulk_insert")
    t.write(VALUES.format(ts=2, first=15, last=30))
    t.write(VALUES.format(ts=3, first=3, last=6), "delete")
    nulls = "SELECT CAST(99 AS INT) AS id, CAST(4 AS BIGINT) AS ts, " + ", ".join(
        f"CAST(NULL AS {kind}) AS {name}"
        for name, kind in (
            ("yes", "BOOLEAN"),
            ("long", "BIGINT"),
            ("float", "FLOAT"),
            ("double", "DOUBLE"),
            ("small", "DECIMAL(10, 2)"),
            ("large", "DECIMAL(38, 18)"),
            ("text", "STRING"),
            ("bytes", "BINARY"),
            ("day", "DATE"),
            ("time", "TIMESTAMP"),
            ("list", "ARRAY<INT>"),
            ("map", "MAP<STRING, INT>"),
            ("nested", "STRUCT<a: INT, b: STRUCT<c: STRING, d: ARRAY<DATE>>>"),
        )
    )
    names = "id, yes, long, float, double, small, large, text, bytes, day, time, list, map, nested, ts"
    t.write(f"SELECT {names} FROM ({nulls})", "insert")


@table(6, 8, 9)
def partitioned(t: Maker) -> None:
    """By a text, in folders named in Hive's way, with a metadata table."""
    t.options(metadata__enable="true")
    t.partition("p")
    t.write(rows(0, 30, 1))
    t.write(rows(25, 40, 2))
    t.write(rows(0, 3, 3), "delete")


@table()
def nested(t: Maker) -> None:
    """By a whole number, a date and a text, some of them null, in folders that are named by values alone."""
    t.partition("year", "day", "kind", hive=False, datasource__write__partitionpath__urlencode="true")
    extra = (
        ", CAST(2023 + id % 2 AS INT) AS year, date_add(DATE '2024-01-01', CAST(id % 3 AS INT)) AS day, "
        "CASE WHEN id % 4 = 0 THEN NULL WHEN id % 4 = 1 THEN 'a/b=c d%' ELSE 'k' END AS kind"
    )
    t.write(rows(0, 24, 1, extra))
    t.write(rows(20, 28, 2, extra))


@table()
def dropped(t: Maker) -> None:
    """Partition columns that are not in the files."""
    t.partition("year", "kind", datasource__write__drop__partition__columns="true")
    extra = ", CAST(2023 + id % 2 AS INT) AS year, CASE WHEN id % 4 = 0 THEN NULL ELSE concat('k', id % 3) END AS kind"
    t.write(rows(0, 24, 1, extra))
    t.write(rows(20, 28, 2, extra))


@table()
def by_day(t: Maker) -> None:
    """Folders named by the day of a time in milliseconds, which stays in the files as it is."""
    t.partition(
        "at", datasource__write__keygenerator__class="org.apache.hudi.keygen.TimestampBasedKeyGenerator"
    )
    t.options(
        keygen__timebased__timestamp__type="EPOCHMILLISECONDS",
        keygen__timebased__output__dateformat="yyyy-MM-dd",
        keygen__timebased__timezone="UTC",
    )
    t.write(rows(0, 20, 1, ", 1704067200000 + id * 7200000 AS at"))
    t.write(rows(15, 25, 2, ", 1704067200000 + id * 7200000 AS at"))


@table()
def clustered(t: Maker) -> None:
    """Files that were put together, between commits."""
    t.partition("p")
    t.options(
        clustering__inline="true", clustering__inline__max__commits="2", parquet__small__file__limit="0"
    )
    for ts in range(1, 5):
        t.write(rows(10 * ts, 10 * ts + 15, ts))


@table()
def overwritten(t: Maker) -> None:
    """Partitions that were replaced and deleted, and then all of it."""
    t.partition("p")
    t.write(rows(0, 30, 1))
    t.write(rows(100, 110, 2, "").replace("id % 3", "0"), "insert_overwrite")
    t.write(rows(0, 30, 3))
    t.options(datasource__write__partitions__to__delete="p=1")
    t.write(rows(0, 1, 4), "delete_partition")
    t.write(rows(200, 220, 5), "insert_overwrite_table")
    t.write(rows(210, 230, 6))


@table()
def cleaned(t: Maker) -> None:
    """Old files are gone."""
    t.partition("p")
    t.options(cleaner__commits__retained="1", clean__automatic="true")
    for ts in range(1, 6):
        t.write(rows(0, 10 * ts, ts))


@table()
def archived(t: Maker) -> None:
    """Commits that the timeline tells of no more, whose files some partitions still have."""
    t.partition("p")
    t.options(cleaner__commits__retained="1", keep__min__commits="2", keep__max__commits="3")
    t.options(archive__merge__enable="false", commits__archival__batch="1")
    t.write(rows(0, 30, 1))
    for ts in range(2, 9):
        t.write(rows(0, 30, ts, "").replace("id % 3", "0"))


@table()
def rolled_back(t: Maker) -> None:
    """A commit that was complete and was rolled back, and one that never was."""
    t.partition("p")
    t.write(rows(0, 30, 1))
    t.write(rows(10, 40, 2))
    gone = t.write(rows(20, 50, 3))
    if t.version > 6:  # of older tables, Hudi's procedures look for the timeline in the wrong place
        t.call("rollback_to_instant", instant_time=gone)
    crashed = t.write(rows(0, 9, 4))
    t.crash(crashed)
    t.write(rows(30, 60, 5))


@table()
def crashed(t: Maker) -> None:
    """The writer of the last commit died before it was complete: its files are there."""
    t.partition("p")
    t.write(rows(0, 30, 1))
    t.write(rows(10, 40, 2))
    t.crash(t.write(rows(0, 60, 3)))


@table(9)
def restored(t: Maker) -> None:
    """Set back to a savepoint, and written on."""
    t.partition("p")
    t.write(rows(0, 30, 1))
    kept = t.write(rows(10, 40, 2))
    t.call("create_savepoint", commit_time=kept)
    t.write(rows(20, 50, 3))
    t.write(rows(0, 9, 4))
    t.call("rollback_to_savepoint", instant_time=kept)
    t.write(rows(35, 45, 5))


@table()
def evolved(t: Maker) -> None:
    """Columns that came later, and one that became wider, which files of before do not have."""
    t.partition("p")
    t.options(datasource__write__reconcile__schema="true", parquet__small__file__limit="0")
    t.write(rows(0, 12, 1, ", CAST(id AS INT) AS number"), "insert")
    t.write(rows(12, 24, 2, ", CAST(id AS BIGINT) AS number, id / 2 AS added"), "insert")


@table()
def without_meta_fields(t: Maker) -> None:
    """Files that have the table's own columns alone."""
    t.options(populate__meta__fields="false")
    t.write(rows(0, 12, 1), "bulk_insert")
    t.write(rows(12, 24, 2), "bulk_insert")


@table()
def merge_on_read(t: Maker) -> None:
    """What is not read here."""
    t.options(datasource__write__table__type="MERGE_ON_READ")
    t.write(rows(0, 12, 1))
    t.write(rows(6, 18, 2))
