"""Writes a Hudi table. Runs in Spark's own environment, where Headrace is not installed.

usage: hudi_spark.py lineitem FOLDER SOURCE | keyed FOLDER SOURCE KEYS | days FOLDER PARTITIONS ROWS COMMITS
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "testdata" / "hudi"))

from maker import SETTINGS

from spark.session import start

_OPTIONS = {
    "hoodie.datasource.write.precombine.field": "",
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.metadata.enable": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.bulkinsert.shuffle.parallelism": "4",
    # So that a task has one file open at a time.
    "hoodie.bulkinsert.sort.mode": "GLOBAL_SORT",
}
_CHANGED = 3
"""Partitions that each later commit writes to."""


def main(kind: str, folder: str, *told: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        spark = start(Path(scratch), SETTINGS)

        def write(frame, key: str, partition: str, operation: str, mode: str) -> None:
            options = _OPTIONS | {
                "hoodie.table.name": kind,
                "hoodie.datasource.write.recordkey.field": key,
                "hoodie.datasource.write.partitionpath.field": partition,
                "hoodie.datasource.write.operation": operation,
            }
            if not partition:
                options["hoodie.datasource.write.keygenerator.class"] = (
                    "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
                )
            frame.write.format("hudi").options(**options).mode(mode).save(folder)

        if kind == "lineitem":
            write(
                spark.read.parquet(*told), "l_orderkey,l_linenumber", "l_shipmode", "bulk_insert", "overwrite"
            )
        elif kind == "keyed":
            source, keys = told
            write(spark.read.parquet(source), keys, "", "bulk_insert", "overwrite")
        else:
            partitions, rows, commits = map(int, told)
            columns = f"id, CAST(id * 7 % 1000 AS DOUBLE) AS value, CAST(id % {partitions} AS STRING) AS day"
            whole = spark.sql(f"SELECT {columns} FROM range({rows})")
            write(whole, "id", "day", "bulk_insert", "overwrite")
            for number in range(commits):
                days = ", ".join(f"'{number * _CHANGED + n}'" for n in range(_CHANGED))
                write(whole.where(f"day IN ({days})"), "id", "day", "upsert", "append")
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
