"""Makes one table with Spark and Hudi."""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))

from spark.session import save

SETTINGS = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
}
_OPTIONS = {
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.metadata.enable": "false",
    "hoodie.write.complex.keygen.validation.enable": "false",
    # The filters in the files would be larger than all the rest.
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.type": "SIMPLE",
}


class Maker:
    """Makes one table, of one version of Hudi's tables."""

    def __init__(self, spark: SparkSession, name: str, version: int, folder: Path) -> None:
        self.spark = spark
        self.version = version
        self.path = folder / "table"
        self._folder = folder
        self._options = {
            **_OPTIONS,
            "hoodie.table.name": f"{name}_{version}",
            "hoodie.write.table.version": str(version),
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        }

    def options(self, **options: str) -> None:
        """For all writes from now on; `__` stands for a dot, and `hoodie.` goes before them."""
        self._options |= {f"hoodie.{name.replace('__', '.')}": value for name, value in options.items()}

    def partition(self, *columns: str, hive: bool = True, **options: str) -> None:
        kind = "SimpleKeyGenerator" if len(columns) == 1 else "ComplexKeyGenerator"
        self._options["hoodie.datasource.write.keygenerator.class"] = f"org.apache.hudi.keygen.{kind}"
        self.options(
            datasource__write__partitionpath__field=",".join(columns),
            datasource__write__hive_style_partitioning=str(hive).lower(),
            **options,
        )

    def write(self, query: str, operation: str = "upsert") -> str:
        """The instant of what it wrote."""
        before = set(self.instants())
        frame = self.spark.sql(query)
        writer = frame.write.format("hudi").options(**self._options)
        writer = writer.option("hoodie.datasource.write.operation", operation)
        writer.mode("append" if before else "overwrite").save(str(self.path))
        new = [instant for instant in self.instants() if instant not in before]
        return new[0]

    def call(self, procedure: str, **arguments: object) -> None:
        name = self._options["hoodie.table.name"]
        self.spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION '{self.path}'")
        told = ", ".join(f"{name} => {value!r}" for name, value in {"table": name, **arguments}.items())
        self.spark.sql(f"CALL {procedure}({told})").collect()
        self.spark.sql(f"DROP TABLE {name}")

    @property
    def timeline(self) -> Path:
        folder = self.path / ".hoodie"
        return folder / "timeline" if self.version >= 8 else folder

    def instants(self) -> list[str]:
        """Of the commits that are complete and in the timeline, oldest first."""
        if not self.timeline.is_dir():
            return []
        names = [path.name for path in self.timeline.iterdir()]
        return sorted(
            name[:17] for name in names if name.endswith((".commit", ".replacecommit", ".deltacommit"))
        )

    def crash(self, instant: str) -> None:
        """Leave the commit as a writer does that died before it was complete."""
        for path in self.timeline.iterdir():
            if path.name.startswith(instant) and path.suffix in (".commit", ".replacecommit"):
                path.unlink()

    def finish(self, archive: Path) -> None:
        """Save what Spark reads, now and as of each commit and after it, and put all of it into one archive."""
        expected = self._folder / "expected"
        expected.mkdir()
        self._save(expected / "now.parquet")
        for instant in self.instants():
            self._save(expected / f"{instant}.parquet", **{"as.of.instant": instant})
        first = self.instants()[0]
        incremental = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": first,
        }
        self._save(expected / "since.parquet", **incremental)
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(self._folder.rglob("*")):
                if path.is_dir():
                    if not any(path.iterdir()):
                        packed.writestr(f"{path.relative_to(self._folder)}/", b"")
                elif path.suffix != ".crc":
                    packed.write(path, path.relative_to(self._folder))

    def _save(self, to: Path, **options: str) -> None:
        try:
            self.spark.read.format("hudi").options(**options).load(str(self.path)).createOrReplaceTempView(
                "found"
            )
            save(self.spark, "SELECT * FROM found", to)
        except Exception as error:  # what Spark cannot read either
            to.with_suffix(".json").write_text(json.dumps(str(error).splitlines()[0]))


TABLES: list[tuple[Callable[[Maker], None], tuple[int, ...]]] = []


def table(*versions: int) -> Callable[[Callable[[Maker], None]], Callable[[Maker], None]]:
    """Marks what makes the table of its name, of each of these versions."""

    def marked(make: Callable[[Maker], None]) -> Callable[[Maker], None]:
        TABLES.append((make, versions or (6, 9)))
        return make

    return marked
