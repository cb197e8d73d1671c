"""Makes one table with Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))

from spark.session import save


class Maker:
    """Makes one table. In statements, `{t}` stands for it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.path = folder / "table"
        self.changes = False
        self.shown = "*"

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.format(t=f"delta.`{self.path}`"))

    def create(self, columns: str, *properties: str, layout: str = "") -> None:
        self.changes = any("enableChangeDataFeed" in p for p in properties)
        told = f"TBLPROPERTIES ({', '.join(properties)})" if properties else ""
        self.run(f"CREATE TABLE {{t}} ({columns}) USING delta {layout} {told}")

    def setting(self, name: str, value: str) -> None:
        self.spark.conf.set(name, value)

    def forget_before(self, version: int) -> None:
        """Remove the log's entries before a checkpoint, as Delta does after 30 days."""
        for path in (self.path / "_delta_log").iterdir():
            if path.name[:20].isdigit() and int(path.name[:20]) < version:
                path.unlink()

    def finish(self) -> None:
        """Save what Spark reads, and remove what is of the file system here."""
        expected = self.folder / "expected"
        expected.mkdir()
        log = self.path / "_delta_log"
        first = min(int(path.name[:20]) for path in log.iterdir() if path.name[:20].isdigit())
        last = max(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
        for version in range(first, last + 1):
            query = f"SELECT {self.shown} FROM delta.`{self.path}` VERSION AS OF {version}"
            save(self.spark, query, expected / f"{version}.parquet")
        if self.changes:
            query = f"SELECT * FROM table_changes_by_path('{self.path}', 0)"
            save(self.spark, query, expected / "changes.parquet")
        for path in [*self.folder.rglob(".*.crc"), *self.folder.rglob("_SUCCESS")]:
            path.unlink()


TABLES: list[tuple[Callable[[Maker], None], tuple[str, ...]]] = []


def table(*profiles: str) -> Callable[[Callable[[Maker], None]], Callable[[Maker], None]]:
    """Marks what makes the table of its name, by the Sparks of these profiles."""

    def marked(make: Callable[[Maker], None]) -> Callable[[Maker], None]:
        TABLES.append((make, profiles or ("3.5", "4.1")))
        return make

    return marked
