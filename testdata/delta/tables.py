"""Tables that need no feature of readers, or one that changes nothing in how rows are read."""

from __future__ import annotations

from maker import Maker, table

TYPES = """
    id INT, yes BOOLEAN, byte BYTE, short SHORT, long LONG, float FLOAT, double DOUBLE, small DECIMAL(10, 2),
    large DECIMAL(38, 18), text STRING, bytes BINARY, day DATE, time TIMESTAMP, list ARRAY<INT>, map MAP<STRING, INT>,
    nested STRUCT<a: INT, b: STRUCT<c: STRING, d: ARRAY<STRUCT<e: DATE>>>>
"""
VALUES = """
    SELECT CAST(id AS INT), id % 2 = 0, CAST(id - 100 AS BYTE), CAST(id * 100 AS SHORT), id * 10000000000,
        CAST(id / 4 AS FLOAT), id / 8, CAST(id + 0.25 AS DECIMAL(10, 2)), CAST(id + 1e-18 AS DECIMAL(38, 18)),
        concat('text ', id), encode(concat('bytes ', id), 'utf-8'), date_add(DATE '1969-12-30', CAST(id AS INT)),
        timestampadd(MICROSECOND, id * 1000001, TIMESTAMP '1969-12-31 23:59:58.999999Z'),
        array(CAST(id AS INT), NULL), map('k', CAST(id AS INT)),
        named_struct('a', CAST(id AS INT), 'b', named_struct('c', 'x', 'd', array(named_struct('e', DATE '2024-02-29'))))
    FROM range
"""


@table()
def plain(t: Maker) -> None:
    """Every type, nulls, and commits of every kind, in the oldest protocol."""
    t.create(TYPES)
    t.run(
        f"INSERT INTO {{t}} {VALUES}(0, 20)",
        f"INSERT INTO {{t}} {VALUES}(20, 30)",
        "INSERT INTO {t} (id) VALUES (100)",
        "UPDATE {t} SET text = 'new', double = NULL WHERE id IN (3, 25)",
        "DELETE FROM {t} WHERE id < 2",
        "MERGE INTO {t} USING (SELECT CAST(id AS INT) AS id, 'merged' AS text FROM range(28, 33)) AS s ON {t}.id = s.id "
        "WHEN MATCHED THEN UPDATE SET text = s.text WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.id, s.text)",
        "OPTIMIZE {t}",
    )


@table()
def empty(t: Maker) -> None:
    """No rows, and no files."""
    t.create("id INT, text STRING")


@table()
def partitioned(t: Maker) -> None:
    """By texts with spaces and other signs, whole numbers and dates, some of them null."""
    t.create(
        "id INT, name STRING, number INT, day DATE, value DOUBLE", layout="PARTITIONED BY (name, number, day)"
    )
    t.run(
        """INSERT INTO {t} VALUES (1, 'two words', 1, DATE '2024-01-01', 0.5), (2, 'a/b=c%20d', -7, DATE '1960-02-03', 1.5),
            (3, 'größe, "q" & \\\\', 2147483647, DATE '9999-12-31', 2.5), (4, NULL, NULL, NULL, 3.5),
            (5, 'two words', NULL, DATE '2024-01-01', NULL), (6, ' edge ', 0, NULL, 5.5), (7, 'it''s: *?[x]#+', 0, NULL, 6.5)""",
        "INSERT INTO {t} VALUES (8, 'two words', 1, DATE '2024-01-01', 7.5)",
        "DELETE FROM {t} WHERE number = 0",
    )


@table()
def partitioned_by_time(t: Maker) -> None:
    """By times to the microsecond, booleans, bytes, and numbers of other widths."""
    t.create(
        "id INT, time TIMESTAMP, yes BOOLEAN, long LONG, double DOUBLE, money DECIMAL(10, 2), bytes BINARY",
        layout="PARTITIONED BY (time, yes, long, double, money, bytes)",
    )
    t.run(
        """INSERT INTO {t} VALUES (1, TIMESTAMP '2024-03-10 12:30:15.123456Z', true, 9007199254740993, 0.1, 12.50, X'61C3A9'),
            (2, TIMESTAMP '1969-12-31 23:59:59.5Z', false, -1, -1.5e-7, -0.01, X'62'),
            (3, TIMESTAMP '2024-03-10 00:00:00Z', NULL, 0, 1, 0, NULL), (4, NULL, NULL, NULL, NULL, NULL, NULL)"""
    )


@table()
def partitioned_by_local_time(t: Maker) -> None:
    """By times as Delta wrote them before: in the clock of the session, which was of UTC."""
    t.setting("spark.databricks.delta.write.utcTimestampPartitionValues", "false")
    t.create("id INT, time TIMESTAMP", layout="PARTITIONED BY (time)")
    t.run(
        "INSERT INTO {t} VALUES (1, TIMESTAMP '2024-03-10 12:30:15.123456Z'), (2, TIMESTAMP '2024-03-10 00:00:00Z'), (3, NULL)"
    )


def checkpointed(t: Maker, *properties: str) -> None:
    t.create(
        "id INT, part STRING", "'delta.checkpointInterval' = '4'", *properties, layout="PARTITIONED BY (part)"
    )
    for i in range(6):
        t.run(f"INSERT INTO {{t}} VALUES ({i}, 'part {i % 2}'), ({i + 100}, NULL)")
    t.run("DELETE FROM {t} WHERE id = 3")
    t.forget_before(4)


@table()
def checkpoint_classic(t: Maker) -> None:
    """A log that begins with a checkpoint of one file."""
    checkpointed(t)


@table()
def checkpoint_multipart(t: Maker) -> None:
    """A log that begins with a checkpoint of several files."""
    t.setting("spark.databricks.delta.checkpoint.partSize", "3")
    checkpointed(t)


@table()
def checkpoint_v2_json(t: Maker) -> None:
    """A log that begins with a checkpoint with sidecars, itself in JSON."""
    t.setting("spark.databricks.delta.checkpointV2.topLevelFileFormat", "json")
    checkpointed(t, "'delta.checkpointPolicy' = 'v2'")


@table()
def checkpoint_v2_parquet(t: Maker) -> None:
    """A log that begins with a checkpoint with sidecars, itself in Parquet."""
    t.setting("spark.databricks.delta.checkpointV2.topLevelFileFormat", "parquet")
    checkpointed(t, "'delta.checkpointPolicy' = 'v2'")


@table()
def checkpoint_struct_stats(t: Maker) -> None:
    """A checkpoint with statistics as columns, and not as JSON."""
    checkpointed(
        t, "'delta.checkpoint.writeStatsAsStruct' = 'true'", "'delta.checkpoint.writeStatsAsJson' = 'false'"
    )


@table()
def generated_columns(t: Maker) -> None:
    """A column computed from another, by which the table is partitioned."""
    (
        t.spark._jvm.io.delta.tables.DeltaTable.create(t.spark._jsparkSession)
        .addColumn("id", "INT")
        .addColumn("time", "TIMESTAMP")
        .addColumn(column(t, "day").dataType("DATE").generatedAlwaysAs("CAST(time AS DATE)").build())
        .partitionedBy(names(t, "day"))
        .location(str(t.path))
        .execute()
    )
    t.run("INSERT INTO {t} (id, time) VALUES (1, TIMESTAMP '2024-03-10 23:30:00Z'), (2, NULL)")


@table()
def identity_column(t: Maker) -> None:
    """A column that counts by itself."""
    (
        t.spark._jvm.io.delta.tables.DeltaTable.create(t.spark._jsparkSession)
        .addColumn(column(t, "id").dataType("LONG").generatedAlwaysAsIdentity(10, 5).build())
        .addColumn("text", "STRING")
        .location(str(t.path))
        .execute()
    )
    t.run("INSERT INTO {t} (text) VALUES ('a'), ('b')", "INSERT INTO {t} (text) VALUES ('c')")


def column(t: Maker, name: str) -> object:
    return t.spark._jvm.io.delta.tables.DeltaTable.columnBuilder(t.spark._jsparkSession, name)


def names(t: Maker, *given: str) -> object:
    array = t.spark._sc._gateway.new_array(t.spark._jvm.java.lang.String, len(given))
    for i, name in enumerate(given):
        array[i] = name
    return array


@table()
def row_tracking(t: Maker) -> None:
    """Each row has an id and the number of its last commit."""
    t.create("id INT, text STRING", "'delta.enableRowTracking' = 'true'")
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), 'x' FROM range(0, 10, 1, 2)",
        "UPDATE {t} SET text = 'new' WHERE id = 3",
        "OPTIMIZE {t}",
    )


@table()
def liquid_clustering(t: Maker) -> None:
    """Files ordered by columns that the log names."""
    t.create("id INT, text STRING", layout="CLUSTER BY (id)")
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), 'x' FROM range(0, 10, 1, 2)",
        "INSERT INTO {t} SELECT CAST(id AS INT), 'y' FROM range(10, 20, 1, 2)",
        "OPTIMIZE {t}",
    )


@table()
def check_constraints(t: Maker) -> None:
    """Rows must fulfil a condition, and a column must not be null."""
    t.create("id INT NOT NULL, value DOUBLE")
    t.run(
        "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (value > 0)", "INSERT INTO {t} VALUES (1, 0.5), (2, 7)"
    )


@table()
def change_data_feed(t: Maker) -> None:
    """Changes of every kind."""
    t.create(
        "id INT, text STRING, part STRING",
        "'delta.enableChangeDataFeed' = 'true'",
        layout="PARTITIONED BY (part)",
    )
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), 'old', concat('part ', id % 2) FROM range(0, 10, 1, 1)",
        "UPDATE {t} SET text = 'new' WHERE id IN (2, 3)",
        "DELETE FROM {t} WHERE id = 4",
        "MERGE INTO {t} USING (SELECT CAST(id AS INT) AS id FROM range(8, 12)) AS s ON {t}.id = s.id "
        "WHEN MATCHED AND s.id = 8 THEN DELETE WHEN MATCHED THEN UPDATE SET text = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (id, text, part) VALUES (s.id, 'inserted', NULL)",
        "DELETE FROM {t} WHERE part = 'part 1'",
        "INSERT OVERWRITE {t} VALUES (50, 'over', 'part 0')",
        "OPTIMIZE {t}",
    )


@table()
def late_columns(t: Maker) -> None:
    """Columns and fields that the older files do not have."""
    t.setting("spark.databricks.delta.schema.autoMerge.enabled", "true")
    t.create("id INT, nested STRUCT<a: INT>, list ARRAY<STRUCT<a: INT>>")
    t.run(
        "INSERT INTO {t} VALUES (1, named_struct('a', 1), array(named_struct('a', 1))), (2, NULL, NULL)",
        "INSERT INTO {t} SELECT 3 AS id, named_struct('a', 3, 'b', 'late') AS nested, "
        "array(named_struct('a', 3, 'b', 'late')) AS list, 'late' AS text, named_struct('x', 1) AS other",
    )


@table()
def overwritten_schema(t: Maker) -> None:
    """Snapshots of one table with other columns, types and partitions."""
    t.create("id INT, value STRING")
    t.run("INSERT INTO {t} VALUES (1, 'one')")
    rows = t.spark.sql("SELECT CAST(2 AS LONG) AS id, 0.5D AS value, 'a b' AS part")
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("part").save(
        str(t.path)
    )


@table()
def in_commit_timestamps(t: Maker) -> None:
    """The time of a commit is what its entry says, not what the file system says."""
    t.create("id INT", "'delta.enableInCommitTimestamps' = 'true'")
    t.run("INSERT INTO {t} VALUES (1)", "INSERT INTO {t} VALUES (2)")


@table()
def default_values(t: Maker) -> None:
    """A column with a value for rows that bring none."""
    t.create("id INT, value INT DEFAULT 7", "'delta.feature.allowColumnDefaults' = 'supported'")
    t.run("INSERT INTO {t} (id) VALUES (1)", "INSERT INTO {t} VALUES (2, NULL)")


@table()
def append_only(t: Maker) -> None:
    """No row may go."""
    t.create("id INT", "'delta.appendOnly' = 'true'")
    t.run("INSERT INTO {t} VALUES (1), (2)")


@table("4.1")
def materialized_partitions(t: Maker) -> None:
    """Partition columns that are in the files, too."""
    t.create(
        "id INT, part STRING",
        "'delta.feature.materializePartitionColumns' = 'supported'",
        layout="PARTITIONED BY (part)",
    )
    t.run("INSERT INTO {t} VALUES (1, 'a b'), (2, NULL)")


@table()
def restored(t: Maker) -> None:
    """A snapshot that became the newest again."""
    t.create("id INT")
    t.run("INSERT INTO {t} VALUES (1)", "INSERT INTO {t} VALUES (2)", "RESTORE TABLE {t} TO VERSION AS OF 1")


@table()
def odd_names(t: Maker) -> None:
    """Names of columns that SQL, paths and patterns have other plans for."""
    names = [
        "order",
        'double"quotes"',
        "it's",
        "back\\slash",
        "名前",
        "../x",
        "a.b",
        "100%",
        "?",
        "$1",
        "[0]",
        "a/b",
    ]
    t.create(", ".join(f"`{name}` INT" for name in ["id", *names]), layout="PARTITIONED BY (`a/b`)")
    t.run(f"INSERT INTO {{t}} VALUES ({', '.join(map(str, range(13)))})")
