"""PySpark's own tests, which its package has within it, without the row codec and with it: what differs is shown.

    .spark/3.5/bin/python scripts/pyspark_tests.py [MODULE ...]

Exit codes: 1 a test gave another result with the codec.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from typing import Any

MODULES = [
    *(
        f"pyspark.tests.test_{name}"
        for name in ("rdd", "serializers", "shuffle", "join", "worker", "taskcontext")
    ),
    *(
        f"pyspark.tests.test_{name}"
        for name in ("broadcast", "readwrite", "rddsampler", "profiler", "daemon", "context")
    ),
    *(
        f"pyspark.sql.tests.test_{name}"
        for name in ("dataframe", "udf", "types", "serde", "session", "column", "udtf")
    ),
]


def within(codec: bool, modules: list[str], told: Path) -> None:
    """Run tests in this process, and tell what came of each."""
    import headrace_spark
    import pyspark
    import pyspark.sql
    from pyspark import SparkContext

    import headrace.spark

    if pyspark.__version__ < "4":
        # Of what it has for tests, the part for pandas asks for names that pandas 3 has not.
        part = types.ModuleType("pyspark.testing.pandasutils")
        part.assertPandasOnSparkEqual = None  # type: ignore[attr-defined]
        sys.modules[part.__name__] = part
    (archive,) = (Path(pyspark.__file__).parent / "python" / "lib").glob("pyspark.zip")
    pyspark.__path__.append(f"{archive}/pyspark")
    pyspark.sql.__path__.append(f"{archive}/pyspark/sql")
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--jars {headrace_spark.jar(pyspark.__version__)} pyspark-shell"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if codec:
        from pyspark.sql import SparkSession

        begin = SparkContext.__init__

        def started(self: SparkContext, *args: Any, **options: Any) -> None:
            begin(self, *args, **options)
            headrace.spark.install(SparkSession(self))

        SparkContext.__init__ = started

    class Result(unittest.TextTestResult):
        found: dict[str, str] = {}  # noqa: RUF012

        def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
            super().stopTest(test)
            kinds = {"failed": self.failures, "error": self.errors, "skipped": self.skipped}
            named = [kind for kind, tests in kinds.items() if any(each is test for each, _ in tests)]
            self.found[test.id()] = named[0] if named else "passed"
            told.write_text(json.dumps(self.found))

    suite = unittest.defaultTestLoader.loadTestsFromNames(modules)
    unittest.TextTestRunner(resultclass=Result, verbosity=1).run(suite)


def main(modules: list[str]) -> int:
    differ = False
    for module in modules:
        found = []
        for codec in ("", "codec"):
            with tempfile.TemporaryDirectory() as folder:
                told = Path(folder, "told")
                log = Path(folder, "log")
                with log.open("wb") as output:
                    subprocess.run(
                        [sys.executable, __file__, "--within", codec, told, module],
                        cwd=folder,
                        stdout=output,
                        stderr=output,
                        timeout=1800,
                        check=False,
                    )
                found.append(json.loads(told.read_text()) if told.exists() else {})
                text = log.read_text(errors="replace")
        before, after = found
        same = before == after and before
        counts = {kind: list(before.values()).count(kind) for kind in sorted(set(before.values()))}
        print(
            f"{module}: {len(before)} tests, {counts}, {'the same' if same else 'NOT the same'}", flush=True
        )
        if not same:
            differ = True
            print(text[-6000:])
        for test in sorted(before.keys() | after.keys()):
            if before.get(test) != after.get(test):
                print(f"  {test}: {before.get(test)}, with the codec {after.get(test)}", flush=True)
    return int(differ)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--within"]:
        within(bool(sys.argv[2]), sys.argv[4:], Path(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1:] or MODULES))
