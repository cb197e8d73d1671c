"""Suites: at which sizes, and how often."""

from __future__ import annotations

import dataclasses
import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from benchmarks.catalog import WORKLOADS
from benchmarks.evaluation.experiment import Experiment, Point
from benchmarks.evaluation.experiments import EXPERIMENTS

_FOLDER = Path(__file__).parent / "suites"
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))
ALL: Literal["all"] = "all"
SMALLEST: Literal["smallest"] = "smallest"
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


class _Asked(msgspec.Struct, forbid_unknown_fields=True):
    """An entry of a suite's file.

    Args:
        names: of experiments, as patterns.
        cpus: how many processors they are pinned to, in turn.
    """

    names: list[str]
    sizes: Literal["all", "smallest"] | list[str]
    runs: Annotated[int, msgspec.Meta(ge=1)]
    cpus: list[Annotated[int, msgspec.Meta(ge=1)]] | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    about: str
    experiments: Annotated[list[_Asked], msgspec.Meta(min_length=1)]


def load(name: str) -> Suite:
    """Raises BadSuite."""
    path = _FOLDER / f"{name}.toml"
    try:
        content = msgspec.toml.decode(path.read_bytes(), type=_File)
    except msgspec.MsgspecError as error:
        raise BadSuite(f"{path}: {error}") from None
    known = {experiment.key: experiment for experiment in EXPERIMENTS}
    chosen: dict[str, Chosen] = {}
    steps: list[Step] = []
    for asked in content.experiments:
        keys = _matching(known, asked.names)
        _check_sizes(name, asked, [known[key] for key in keys])
        for key in keys:
            found = _chosen(name, known[key], asked)
            before = chosen[key].steps if key in chosen else ()
            chosen[key] = Chosen(known[key], (*before, *found.steps))
            steps += (step for _, step in found.steps)
    return Suite(name, content.about, tuple(chosen.values()), tuple(steps))


def only(suite: Suite, wanted: Sequence[str]) -> Suite:
    """Some of its experiments.

    Args:
        wanted: patterns of their keys.

    Raises:
        BadSuite: one of them names none.
    """
    keys = _matching([one.experiment.key for one in suite.chosen], wanted)
    chosen = tuple(one for one in suite.chosen if one.experiment.key in keys)
    steps = {step for one in chosen for _, step in one.steps}
    return dataclasses.replace(
        suite, chosen=chosen, asked=tuple(step for step in suite.asked if step in steps)
    )


def _matching(known: Iterable[str], wanted: Sequence[str]) -> list[str]:
    found = list(known)
    for pattern in wanted:
        if not fnmatch.filter(found, pattern):
            raise BadSuite(f"there is no experiment {pattern}; there are {', '.join(found)}")
    return [key for key in found if any(fnmatch.fnmatchcase(key, pattern) for pattern in wanted)]


def _check_sizes(suite: str, asked: _Asked, experiments: Sequence[Experiment]) -> None:
    if not isinstance(asked.sizes, str):
        known = {point.name for experiment in experiments for point in experiment.points}
        for size in asked.sizes:
            if size not in known:
                raise BadSuite(
                    f"suite {suite} asks for size {size} of {', '.join(asked.names)}, which have none"
                )


def _chosen(suite: str, experiment: Experiment, asked: _Asked) -> Chosen:
    cpus = asked.cpus or [None]
    if asked.sizes == SMALLEST:
        first = experiment.points[0]
        scale = WORKLOADS[first.workload].sizes["smoke"]
        tiny = dataclasses.replace(first, name="tiny", scale=scale)
        return Chosen(experiment, tuple((tiny, Step(first.workload, scale, asked.runs, n)) for n in cpus))
    points = [point for point in experiment.points if asked.sizes == ALL or point.name in asked.sizes]
    if not points:
        names = ", ".join(point.name for point in experiment.points)
        raise BadSuite(f"suite {suite} asks for {experiment.key} at {asked.sizes}: its sizes are {names}")
    return Chosen(
        experiment,
        tuple((point, Step(point.workload, point.number, asked.runs, n)) for point in points for n in cpus),
    )
