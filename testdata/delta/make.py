"""Makes the tables beside it with Spark and Delta: all, or those named.

`make testdata` runs it in the environment of each Spark.

Each table is in a folder named by what it shows: `table/` is the Delta table, and `expected/` has what Spark reads from
it, a Parquet file for every snapshot that is still there and, where it keeps a change feed, `changes.parquet`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import features  # noqa: F401
import tables  # noqa: F401
from maker import TABLES, Maker

from spark.session import start

ROOT = Path(__file__).parent


def main(wanted: list[str], scratch: Path) -> None:
    spark = start(scratch)
    profile = ".".join(spark.version.split(".")[:2])
    for make, profiles in TABLES:
        name = make.__name__
        if profile not in profiles or (wanted and name not in wanted):
            continue
        folder = ROOT / f"spark-{profile}" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        maker = Maker(spark.newSession(), folder)
        make(maker)
        maker.finish()
        print(f"Spark {spark.version}: {name}", flush=True)
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(sys.argv[1:], Path(scratch))
