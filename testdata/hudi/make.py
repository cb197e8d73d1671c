"""Makes the tables beside it with Spark and Hudi: all, or those named.

`make testdata` runs it in the environment of Spark 3.5.

Each archive is one table: `table/` is what Hudi wrote, and `expected/` has what Spark reads from it: `now.parquet`, a
file for each commit that the table is read as of, and `since.parquet`, which has what was completed after the first of
them began.
What Spark cannot read is a `.json` with what it says.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import tables  # noqa: F401
from maker import SETTINGS, TABLES, Maker

from spark.session import start

ROOT = Path(__file__).parent


def main(wanted: list[str], scratch: Path) -> None:
    spark = start(scratch, SETTINGS)
    for make, versions in TABLES:
        name = make.__name__
        if wanted and name not in wanted:
            continue
        for version in versions:
            folder = scratch / f"{name}-{version}"
            folder.mkdir()
            maker = Maker(spark.newSession(), name, version, folder)
            make(maker)
            archive = ROOT / f"v{version}" / f"{name}.zip"
            archive.parent.mkdir(exist_ok=True)
            maker.finish(archive)
            print(f"Hudi's tables of version {version}: {name}", flush=True)
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(sys.argv[1:], Path(scratch))
