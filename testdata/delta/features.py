"""Tables that only those read right who know a feature of theirs."""

from __future__ import annotations

from maker import Maker, table

DELETION_VECTORS = "'delta.enableDeletionVectors' = 'true'"


@table()
def deletion_vectors(t: Maker) -> None:
    """Rows that are marked as deleted in their files, more of them with each commit; a file of which none is left."""
    t.create("id INT, text STRING", DELETION_VECTORS, "'delta.checkpointInterval' = '5'")
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(0, 100, 1, 1)",
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(100, 150, 1, 1)",
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(150, 160, 1, 1)",
        "DELETE FROM {t} WHERE id % 10 = 3",
        "DELETE FROM {t} WHERE id BETWEEN 20 AND 40",
        "UPDATE {t} SET text = 'new' WHERE id % 10 = 5",
        "DELETE FROM {t} WHERE id >= 150",
        "MERGE INTO {t} USING (SELECT CAST(id AS INT) AS id FROM range(95, 105)) AS s ON {t}.id = s.id "
        "WHEN MATCHED AND s.id < 100 THEN DELETE WHEN MATCHED THEN UPDATE SET text = 'merged'",
    )


@table()
def deletion_vectors_large(t: Maker) -> None:
    """More rows than a container of a bitmap has, deleted in containers of every kind."""
    t.create("hundred INT, one INT", DELETION_VECTORS)
    number = "hundred * 100 + one"
    t.run(
        "INSERT INTO {t} SELECT CAST(id / 100 AS INT), CAST(id % 100 AS INT) FROM range(0, 200000, 1, 1)",
        f"DELETE FROM {{t}} WHERE {number} IN (1, 70, 700) OR {number} BETWEEN 140000 AND 199990 "
        f"OR ({number} BETWEEN 65536 AND 131071 AND {number} % 3 = 0)",
    )


@table()
def deletion_vectors_partitioned(t: Maker) -> None:
    """In the files of partitions, with a change feed."""
    t.create(
        "id INT, name STRING, text STRING",
        DELETION_VECTORS,
        "'delta.enableChangeDataFeed' = 'true'",
        layout="PARTITIONED BY (name)",
    )
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('50% a/', id % 3), concat('text ', id) FROM range(0, 60, 1, 1)",
        "DELETE FROM {t} WHERE id % 7 = 0",
        "UPDATE {t} SET text = 'new' WHERE id % 10 = 1",
        "DELETE FROM {t} WHERE name = '50% a/2'",
        "INSERT INTO {t} VALUES (100, '50% a/1', 'late')",
    )


@table()
def deletion_vectors_unused(t: Maker) -> None:
    """The feature is on, and no file has one."""
    t.create("id INT, text STRING", DELETION_VECTORS)
    t.run("INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(0, 10, 1, 2)")
    t.run("DELETE FROM {t} WHERE true")
    t.run("INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(10, 20, 1, 2)")


@table()
def deletion_vectors_purged(t: Maker) -> None:
    """Old snapshots have some; of the newest all files are written anew."""
    t.create("id INT, text STRING", DELETION_VECTORS)
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(0, 30, 1, 1)",
        "DELETE FROM {t} WHERE id % 4 = 0",
        "REORG TABLE {t} APPLY (PURGE)",
    )


@table("4.1")
def deletion_vectors_dropped(t: Maker) -> None:
    """The feature is dropped again, which leaves another one behind."""
    t.create("id INT, text STRING", DELETION_VECTORS)
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(0, 30, 1, 1)",
        "DELETE FROM {t} WHERE id % 4 = 0",
        "ALTER TABLE {t} DROP FEATURE deletionVectors",
    )


@table()
def column_mapping_name(t: Maker) -> None:
    """Columns that have another name in the files, with names that only mapping permits; renamed, dropped, added."""
    t.create(
        "id INT, `two words, (one; comma)` STRING, part STRING, nested STRUCT<a: INT, b: STRING>, gone INT, again INT",
        "'delta.columnMapping.mode' = 'name'",
        "'delta.checkpointInterval' = '3'",
        layout="PARTITIONED BY (part)",
    )
    t.run(
        "INSERT INTO {t} VALUES (1, 'x', 'p 1', named_struct('a', 1, 'b', 'y'), 7, 8), (2, NULL, NULL, NULL, NULL, NULL)",
        "ALTER TABLE {t} RENAME COLUMN `two words, (one; comma)` TO text",
        "ALTER TABLE {t} RENAME COLUMN part TO `a part`",
        "ALTER TABLE {t} RENAME COLUMN nested.a TO z",
        "ALTER TABLE {t} DROP COLUMNS (gone, again)",
        "ALTER TABLE {t} ADD COLUMN again STRING",
        "INSERT INTO {t} VALUES (3, 'z', 'p 1', named_struct('z', 3, 'b', 'w'), 'new')",
    )


@table()
def column_mapping_upgraded(t: Maker) -> None:
    """Mapping that came to a table that had files; names are swapped, so that a file read by name would be wrong."""
    t.create("id INT, one STRING, other STRING")
    t.run(
        "INSERT INTO {t} VALUES (1, 'one', 'other')",
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', "
        "'delta.minWriterVersion' = '5')",
        "ALTER TABLE {t} RENAME COLUMN one TO temporary",
        "ALTER TABLE {t} RENAME COLUMN other TO one",
        "ALTER TABLE {t} RENAME COLUMN temporary TO other",
        "INSERT INTO {t} VALUES (2, 'was other', 'was one')",
    )


@table()
def column_mapping_id(t: Maker) -> None:
    """Columns that are found in the files by their ids."""
    t.create(
        "id INT, text STRING, nested STRUCT<a: INT, b: ARRAY<STRUCT<c: STRING>>>",
        "'delta.columnMapping.mode' = 'id'",
        "'delta.enableChangeDataFeed' = 'true'",
    )
    t.run(
        "INSERT INTO {t} VALUES (1, 'x', named_struct('a', 1, 'b', array(named_struct('c', 'y'))))",
        "ALTER TABLE {t} ADD COLUMN late INT",
        "INSERT INTO {t} VALUES (2, 'z', NULL, 5)",
    )


@table()
def column_mapping_deletion_vectors(t: Maker) -> None:
    """Both at once."""
    t.create("id INT, text STRING", DELETION_VECTORS, "'delta.columnMapping.mode' = 'name'")
    t.run(
        "INSERT INTO {t} SELECT CAST(id AS INT), concat('text ', id) FROM range(0, 20, 1, 1)",
        "ALTER TABLE {t} RENAME COLUMN text TO words",
        "DELETE FROM {t} WHERE words = 'text 7'",
    )


@table()
def timestamp_ntz(t: Maker) -> None:
    """Times of no zone, also in structs and as partitions."""
    t.create(
        "id INT, clock TIMESTAMP_NTZ, nested STRUCT<clock: TIMESTAMP_NTZ>, day TIMESTAMP_NTZ",
        layout="PARTITIONED BY (day)",
    )
    t.run(
        "INSERT INTO {t} VALUES (1, TIMESTAMP_NTZ '2024-03-10 02:30:15.123456', named_struct('clock', "
        "TIMESTAMP_NTZ '2024-03-10 02:30:15.123456'), TIMESTAMP_NTZ '2024-03-10 00:00:00'), (2, NULL, NULL, NULL)"
    )


@table()
def type_widening(t: Maker) -> None:
    """Columns whose types became wider than they are in the older files."""
    t.create(
        "id INT, value SHORT, nested STRUCT<a: BYTE>, part BYTE",
        "'delta.enableTypeWidening' = 'true'",
        layout="PARTITIONED BY (part)",
    )
    t.run(
        "INSERT INTO {t} VALUES (1, 7, named_struct('a', 1), 5), (2, NULL, NULL, NULL)",
        "ALTER TABLE {t} ALTER COLUMN value TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN nested.a TYPE INT",
        "ALTER TABLE {t} ALTER COLUMN part TYPE INT",
        "INSERT INTO {t} VALUES (3, 2147483647, named_struct('a', 70000), 70000), (4, 8, NULL, 5)",
    )


@table("4.1")
def type_widening_kinds(t: Maker) -> None:
    """Types that became of another kind: a whole number a float, a decimal, a long; a date a time."""
    t.create(
        "id INT, whole INT, money INT, float FLOAT, decimal DECIMAL(5, 2), day DATE",
        "'delta.enableTypeWidening' = 'true'",
        "'delta.feature.timestampNtz' = 'supported'",
    )
    t.run(
        "INSERT INTO {t} VALUES (1, 7, 8, 0.1, 1.25, DATE '2024-02-29')",
        "ALTER TABLE {t} ALTER COLUMN id TYPE LONG",
        "ALTER TABLE {t} ALTER COLUMN whole TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN money TYPE DECIMAL(12, 2)",
        "ALTER TABLE {t} ALTER COLUMN float TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN decimal TYPE DECIMAL(10, 4)",
        "ALTER TABLE {t} ALTER COLUMN day TYPE TIMESTAMP_NTZ",
        "INSERT INTO {t} VALUES (3000000000, 0.5, 8.25, 1e300, 1.0001, TIMESTAMP_NTZ '2024-02-29 01:02:03.000004')",
    )


@table("4.1")
def variant(t: Maker) -> None:
    """Values of any type."""
    t.shown = "id, to_json(value) AS value"
    t.create("id INT, value VARIANT")
    t.run("""INSERT INTO {t} SELECT 1, parse_json('{{"a": [1, "x"]}}') UNION ALL SELECT 2, NULL""")


@table()
def vacuum_protocol_check(t: Maker) -> None:
    """Who removes files must look at the protocol before."""
    t.create("id INT", "'delta.feature.vacuumProtocolCheck' = 'supported'")
    t.run("INSERT INTO {t} VALUES (1), (2)")


@table()
def iceberg_compatible(t: Maker) -> None:
    """Files that Iceberg reads too."""
    t.create(
        "id INT, list ARRAY<INT>",
        "'delta.enableIcebergCompatV2' = 'true'",
        "'delta.columnMapping.mode' = 'name'",
    )
    t.run("INSERT INTO {t} VALUES (1, array(1, 2)), (2, NULL)")
