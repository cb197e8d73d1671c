"""Suites: at which sizes, and how often."""

from __future__ import annotations

import dataclasses
import fnmatch
import tomllib
from collections.abc import Sequence
from pathlib import Path

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.evaluation.experiments import EXPERIMENTS

_FOLDER = Path(__file__).parent / "suites"
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
ALL = "all"
SMALLEST = "smallest"
"""In place of sizes: the first, as tiny as the workload's tests have it."""


@dataclasses.dataclass(frozen=True)
class Step:
    """A workload at one size. Experiments may share it, also where they want other numbers of runs.

    Args:
        cpus: processors that all processes of it are pinned to; all there are where that is None.
    """

    workload: str
    scale: float
    runs: int = dataclasses.field(compare=False)
    cpus: int | None = None

    @property
    def name(self) -> str:
        pinned = "" if self.cpus is None else f"-cpus-{self.cpus}"
        return f"{self.workload}-{self.scale:g}{pinned}"


@dataclasses.dataclass(frozen=True)
class Chosen:
    """An experiment of a suite, with the step of each of its sizes. It is chosen once, by however many entries."""

    experiment: Experiment
    steps: tuple[tuple[Point, Step], ...]


@dataclasses.dataclass(frozen=True)
class Suite:
    """Args:
    asked: the steps as its file asks for them, which may be several times for one.
    """

    name: str
    about: str
    chosen: tuple[Chosen, ...]
    asked: tuple[Step, ...]

    @property
    def steps(self) -> tuple[Step, ...]:
        """In the file's order, each once: with the most runs that an experiment wants of it."""
        found: dict[Step, int] = {}
        for step in self.asked:
            found[step] = max(step.runs, found.get(step, 0))
        return tuple(dataclasses.replace(step, runs=runs) for step, runs in found.items())


class BadSuite(Exception):
    """A suite's file asks for what there is not."""


def load(name: str) -> Suite:
    """Raises BadSuite."""
    content = tomllib.loads((_FOLDER / f"{name}.toml").read_text())
    known = {experiment.key: experiment for experiment in EXPERIMENTS}
    chosen: dict[str, Chosen] = {}
    steps: list[Step] = []
    for asked in content["experiments"]:
        for wanted in asked["names"]:
            if not fnmatch.filter(known, wanted):
                raise BadSuite(f"suite {name} asks for {wanted}: there is no such experiment")
        names = [key for key in known if any(fnmatch.fnmatch(key, wanted) for wanted in asked["names"])]
        cpus = asked.get("cpus", [None])
        for key in names:
            found = _chosen(name, known[key], asked["sizes"], asked["runs"], cpus)
            before = chosen[key].steps if key in chosen else ()
            chosen[key] = Chosen(known[key], (*before, *found.steps))
            steps += (step for _, step in found.steps)
    return Suite(name, content["about"], tuple(chosen.values()), tuple(steps))


def _chosen(
    suite: str, experiment: Experiment, sizes: Sequence[str] | str, runs: int, cpus: Sequence[int | None]
) -> Chosen:
    if sizes == SMALLEST:
        first = experiment.points[0]
        scale = WORKLOADS[first.workload].sizes["smoke"]
        tiny = dataclasses.replace(first, name="tiny", scale=scale)
        return Chosen(experiment, tuple((tiny, Step(first.workload, scale, runs, n)) for n in cpus))
    points = [point for point in experiment.points if sizes == ALL or point.name in sizes]
    if not points:
        names = ", ".join(point.name for point in experiment.points)
        raise BadSuite(f"suite {suite} asks for {experiment.key} at {sizes}: its sizes are {names}")
    return Chosen(
        experiment,
        tuple((point, Step(point.workload, point.number, runs, n)) for point in points for n in cpus),
    )
