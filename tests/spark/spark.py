"""Spark with Delta, in a process of its own."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import selectors
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark.quick import CLASSPATH, classpath, java_options

_ROOT = Path(__file__).parent.parent.parent
PROFILES = ("3.5", "4.1")
_START_SECONDS = 180
_ANSWER_SECONDS = 300


class SparkError(Exception):
    """What Spark said of a statement."""


def interpreter(profile: str) -> Path:
    """Python with Spark of one profile, in which Headrace and its data source are found, too."""
    home = _ROOT / ".spark" / profile
    if not (home / ".ready").exists():
        pytest.skip(f"Spark {profile} is not installed: make test-all installs it")
    if importlib.util.find_spec("headrace_spark") is None:
        pytest.skip("the data source for Spark is not built: make spark builds it")
    return home / "bin" / "python"


def environment(profile: str) -> dict[str, str]:
    """With which a program of its own starts Spark soon."""
    home = _ROOT / ".spark" / profile
    quick = {
        "SPARK_SUBMIT_OPTS": java_options(home),
        CLASSPATH: classpath(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return os.environ | quick | {"PYSPARK_PYTHON": str(home / "bin" / "python")}


class Spark:
    """A session of one profile, for as long as the tests run."""

    def __init__(self, profile: str, folder: Path) -> None:
        python = interpreter(profile)
        self.profile = profile
        self._folder = folder
        self._numbers = itertools.count()
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [python, "-m", "spark.server", folder],
                env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._answer(_START_SECONDS)

    def run(self, *statements: str) -> None:
        """Raises SparkError."""
        self._ask(statements)

    def read(
        self,
        query: str,
        *,
        views: dict[str, dict[str, Any]] | None = None,
        cancel_after: float | None = None,
    ) -> pa.Table:
        """The rows of a query, which may name `views`, and is cancelled after so many seconds. Raises SparkError."""
        path = self._folder / f"{next(self._numbers)}.parquet"
        self._ask([query], into=str(path), views=views, cancel_after=cancel_after)
        with pq.ParquetFile(path) as file:
            found = file.read()
        path.unlink()
        return found

    def scan(self, query: str, *, views: dict[str, dict[str, Any]] | None = None) -> dict[str, Any]:
        """A query of one table: its `plan`, how many `rows` it has, of which `files`, and what the scan `counts`.

        Raises SparkError.
        """
        told: dict[str, Any] = self._ask([query], scan=True, views=views)
        return told

    def write(self, query: str, into: dict[str, Any], table: str | None = None) -> None:
        """Write the rows of a query by a format of Spark, with the options of `files`; as a table of the catalog, if it is
        given. Raises SparkError.
        """
        self._ask([query], write={**into, "table": table})

    def stream(self, source: dict[str, Any], into: Path) -> pa.Table:
        """The rows of `files`, whose schema is told, once they went through a stream that writes below `into`.

        Raises SparkError.
        """
        self._ask([], stream={"source": source, "into": str(into)})
        return self.read(f"SELECT * FROM parquet.`{into}/rows`")

    def insert(self, query: str, target: object, project: str, group: str, mode: str = "upsert") -> int:
        """Insert the rows of a query into a feature group: how many were new. Raises SparkError."""
        told = {"target": str(target), "project": project, "group": group, "mode": mode}
        return int(self._ask([query], insert=told))

    def log(self) -> str:
        """What Spark has logged so far."""
        return self._log.read_text()

    def stop(self) -> None:
        """The process and its JVM end when their inputs do."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, statements: Sequence[str], **asked: object) -> Any:
        assert self._process.stdin is not None
        line = json.dumps({"statements": statements, **asked})
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()
        answer = self._answer(_ANSWER_SECONDS)
        if answer["error"] is not None:
            raise SparkError(answer["error"])
        return answer["result"]

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline() if selector.select(seconds) else b""
        if not line:
            self._process.kill()
            raise RuntimeError(f"Spark {self.profile} does not answer: {self._log.read_text()[-5000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer


def files(
    *paths: object, kind: str = "arrow", schema: str | None = None, **options: object
) -> dict[str, Any]:
    """What a view is of: files in a format of Spark, read with options."""
    told = {name: str(value) for name, value in options.items()}
    return {"format": kind, "paths": list(map(str, paths)), "schema": schema, "options": told}


def table(path: object) -> str:
    """A table by its path, as SQL."""
    return f"delta.`{path}`"
