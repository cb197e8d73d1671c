"""What pickle takes of the jobs of `pyspark-*`, and so what a serializer that takes no time would give.

    python -m benchmarks.share pyspark-text-sort [WORKLOAD ...] [--scale 1] [--runs 5]

Source: "Improving PySpark Performance with Cross-Language Optimization", section 5.2.2.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import psutil
import typer

from benchmarks.pinning import processors
from benchmarks.spark import opened
from benchmarks.spark_rows import SETTINGS, WORKLOADS, PySparkJob
from benchmarks.tree import cpu_seconds

if TYPE_CHECKING:
    from pyspark.serializers import Serializer

_T = TypeVar("_T")
_ROOT = Path(__file__).parent.parent
_TASKS = int(SETTINGS["spark.sql.shuffle.partitions"])
"""That run at once, on as many processors."""


@dataclasses.dataclass(frozen=True)
class Seconds:
    """That pass, and of the processors; or shares of both."""

    wall: float
    cpu: float


def main(
    workloads: Annotated[list[str], typer.Argument(metavar="WORKLOAD...")],
    scale: Annotated[float, typer.Option(help="TPC-H's scale factor.")] = 1.0,
    runs: Annotated[int, typer.Option(min=1)] = 5,
) -> None:
    """Print the share of pickle in the jobs of `pyspark-*`, and the speed-up that it allows."""
    named = {workload.name: workload for workload in WORKLOADS}
    if unknown := set(workloads) - named.keys():
        raise typer.BadParameter(f"there is no {', '.join(sorted(unknown))}: there are {', '.join(named)}")
    for name in workloads:
        with named[name].opened(scale) as cases:
            for case in cases:
                if case.against != case.name:  # pickle is what all others are compared with
                    continue
                done = subprocess.run(
                    [case.python, "-c", "from benchmarks.share import within; within()"],
                    input=pickle.dumps((case.runner, runs)),
                    stdout=subprocess.PIPE,
                    cwd=_ROOT,
                    check=True,
                )
                found = Seconds(**json.loads(done.stdout.splitlines()[-1]))
                shown = ", ".join(
                    f"{kind} {share:.2f}, at most {1 / (1 - share):.2f} times as fast"
                    for kind, share in (("wall", found.wall), ("CPU", found.cpu))
                )
                print(f"{name} at {scale:g}, {case.name}: {shown}", flush=True)


def within() -> None:
    """In a process of its own, with the Python of a line of Spark."""
    runner, runs = pickle.load(sys.stdin.buffer)
    print(json.dumps(dataclasses.asdict(share(runner, runs))))


def share(job: PySparkJob, runs: int) -> Seconds:
    """The medians of so many runs. The driver is alone when it pickles; workers share the processors."""
    from pyspark.serializers import AutoBatchedSerializer

    found = []
    with tempfile.TemporaryDirectory() as name, opened(SETTINGS) as session:
        folder = Path(name)
        context = session.sparkContext
        context._unbatched_serializer = _timed_pickle(folder)
        context.serializer = AutoBatchedSerializer(context._unbatched_serializer)
        run = job.make(session, job.tables)
        run()
        for _ in range(runs):
            _taken(folder)
            wall, cpu = time.perf_counter(), cpu_seconds([psutil.Process()])
            run()
            wall, cpu = time.perf_counter() - wall, cpu_seconds([psutil.Process()]) - cpu
            times = _taken(folder)
            driver = times.pop(os.getpid(), Seconds(0, 0))
            workers = sum(seconds.wall for seconds in times.values()) / min(_TASKS, len(processors()))
            of_cpu = driver.cpu + sum(seconds.cpu for seconds in times.values())
            found.append(Seconds((driver.wall + workers) / wall, of_cpu / cpu))
    return Seconds(statistics.median(f.wall for f in found), statistics.median(f.cpu for f in found))


def _timed_pickle(folder: Path) -> Serializer:
    """Each process appends what pickle takes it to a file of its own."""
    from pyspark.serializers import CPickleSerializer

    class TimedPickle(CPickleSerializer):  # type: ignore[misc]
        def dumps(self, obj: Any) -> bytes:
            return self._timed(lambda: CPickleSerializer.dumps(self, obj))

        def loads(self, obj: bytes, encoding: str = "bytes") -> Any:
            return self._timed(lambda: CPickleSerializer.loads(self, obj, encoding))

        def _timed(self, work: Callable[[], _T]) -> _T:
            wall, cpu = time.perf_counter(), time.thread_time()
            done = work()
            wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
            with (folder / str(os.getpid())).open("a") as file:
                file.write(f"{wall} {cpu}\n")
            return done

    return TimedPickle()


def _taken(folder: Path) -> dict[int, Seconds]:
    """By process, since this was asked before."""
    found = {}
    for path in folder.iterdir():
        lines = [tuple(map(float, line.split())) for line in path.read_text().splitlines()]
        found[int(path.name)] = Seconds(sum(wall for wall, _ in lines), sum(cpu for _, cpu in lines))
        path.unlink()
    return found


if __name__ == "__main__":
    typer.run(main)
