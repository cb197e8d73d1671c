"""The experiments of "Improving PySpark Performance with Cross-Language Optimization"."""

from __future__ import annotations

from benchmarks.codec_jvm import passes
from benchmarks.evaluation.experiment import Experiment, Point, Unit

_PART_ROWS = 200_000
"""Rows of PART at scale factor 1."""


def _parts(workload: str) -> tuple[Point, ...]:
    return tuple(Point(f"SF {scale}", workload, scale) for scale in (1, 2, 4, 8))


def _on_a_jvm(workload: str) -> tuple[Point, ...]:
    """A run of these does its job several times."""
    return tuple(
        Point(f"SF {scale}", workload, scale, times=passes(_PART_ROWS * scale)) for scale in (1, 2, 4, 8)
    )


_TASKS = ("sort", "lookup", "filter", "combination")
_IN_PYTHON = {
    "headrace": "JitBuilder serializer",
    "pickle, a row": "pickle",
    "BSON": "BSON",
    "protobuf": "protobuf",
    "headrace, plain": None,
    "pickle, 100 rows": None,
    "msgspec": None,
    "msgspec, 100 rows": None,
    "msgpack": None,
    "ormsgpack": None,
    "Fory": None,
    "pyarrow": None,
}
_OF_PYTHON: tuple[tuple[str, Unit, str, str], ...] = (
    ("size", "bytes", "codec-encode", "Bytes of the rows of PART"),
    ("python-write", "s", "codec-encode", "Rows of PART to bytes, in Python"),
    ("python-read", "s", "codec-decode", "Rows of PART from bytes, in Python"),
)
_IN_LISTS = (
    "The thesis pickles row by row; lists of 100 rows, as PySpark has them, are faster, and stand beside."
)
_ONE_STREAM = f"{_IN_LISTS} The row codec writes all rows as one stream, with batches in it."
_STREAMS = f"{_IN_LISTS} The row codec sends a stream for each 16,384 rows."
_SENT_AGAIN = (
    "Of its own figures the thesis says that they do not reflect its serializer: buffers were sent again."
)

EXPERIMENTS = (
    *(
        Experiment(
            paper="tran-2021",
            name=name,
            about=about,
            points=_parts(workload),
            systems=_IN_PYTHON,
            ours="headrace",
            against="pickle, a row",
            also=(("headrace", "pickle, 100 rows"),),
            said=_ONE_STREAM,
            unit=unit,
        )
        for name, unit, workload, about in _OF_PYTHON
    ),
    *(
        Experiment(
            paper="tran-2021",
            name=name,
            about=about,
            points=_on_a_jvm(workload),
            systems={
                "row codec": "JitBuilder serializer",
                "pyrolite, a row": "pickle",
                "BSON, a row": "BSON",
                "protobuf, a row": "protobuf",
                "pyrolite, 100 rows": None,
                **dict.fromkeys(rivals),
            },
            ours="row codec",
            against="pyrolite, a row",
            also=(("row codec", "pyrolite, 100 rows"),),
            said=said,
        )
        for name, workload, rivals, about, said in (
            (
                "jvm-write",
                "codec-jvm-write",
                ("Fory, a row",),
                "Rows of PART to bytes, on a JVM",
                _ONE_STREAM,
            ),
            (
                "jvm-read",
                "codec-jvm-read",
                ("Fory, a row",),
                "Rows of PART from bytes, on a JVM",
                _ONE_STREAM,
            ),
            ("python-to-jvm", "codec-to-jvm", (), "Rows of PART from Python to a JVM", _STREAMS),
            (
                "jvm-to-python",
                "codec-from-jvm",
                (),
                "Rows of PART from a JVM to Python",
                f"{_STREAMS} {_SENT_AGAIN}",
            ),
        )
    ),
    *(
        Experiment(
            paper="tran-2021",
            name=f"pyspark-{task}",
            about=f"PySpark: {task} over PART, parsed from text",
            points=_parts(f"pyspark-text-{task}"),
            systems={
                "3.5, rows": "Modified PySpark",
                "3.5, pickle": "Original PySpark",
                "4.1, rows": None,
                "4.1, pickle": None,
            },
            ours="3.5, rows",
            against="3.5, pickle",
            also=(("4.1, rows", "4.1, pickle"),),
            said="The thesis changed Spark's sources; here nothing of Spark is rebuilt. Here rows are pairs of key and "
            "rest, in two partitions; the lookup is of another key, and the combination collects what it has sorted.",
            whole=False,
        )
        for task in _TASKS
    ),
    Experiment(
        paper="tran-2021",
        name="pyspark, cached",
        about="PySpark: the same over rows that are cached",
        points=tuple(Point(task, f"pyspark-cached-{task}") for task in _TASKS),
        systems=dict.fromkeys(("3.5, rows", "3.5, pickle", "4.1, rows", "4.1, pickle")),
        ours="3.5, rows",
        against="3.5, pickle",
        also=(("4.1, rows", "4.1, pickle"),),
        said="Not in the thesis, whose tasks parse their rows from text.",
        whole=False,
        kinds=True,
    ),
)
