"""What more processors give: less time and more rows a second than with one, in percent, as theses print it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from benchmarks.evaluation.experiment import Experiment
from benchmarks.evaluation.paper import Figure, figures_of
from benchmarks.evaluation.row import Row, write_lines

Change = Literal["% less", "% more"]
_CHANGES: tuple[Change, ...] = ("% less", "% more")
_HEAD = ("paper", "experiment", "size", "system", "change", "processors", "here", "printed")


@dataclasses.dataclass(frozen=True)
class Scaling:
    """A system at a size.

    Args:
        change: `% less` time, or `% more` rows a second.
        here, printed: by processors, than with one.
    """

    experiment: Experiment
    size: str
    system: str
    change: Change
    here: Mapping[int, float]
    printed: Mapping[int, float]

    @property
    def cpus(self) -> list[int]:
        return sorted({*self.here, *self.printed})


def scalings(experiment: Experiment, rows: Sequence[Row]) -> list[Scaling]:
    """None where the paper does not vary processors, or nothing was pinned to one here."""
    figures = figures_of(experiment)
    own = [row for row in rows if row.experiment == experiment and row.cpus is not None and row.here]
    return [
        Scaling(
            experiment,
            first.size,
            first.system,
            change,
            {row.cpus: _changed(change, first, row) for row in own if row.cpus and _is_of(row, first)},
            _printed(figures, change, experiment.systems[first.system], first.size),
        )
        for first in own
        if first.cpus == 1
        for change in _CHANGES
        if any(figure.unit == change for figure in figures)
    ]


def write(found: Iterable[Scaling], path: Path) -> None:
    """As CSV."""
    lines = (
        (
            *(one.experiment.paper, one.experiment.name, one.size, one.system, one.change, cpus),
            *(one.here.get(cpus), one.printed.get(cpus)),
        )
        for one in found
        for cpus in one.cpus
    )
    write_lines(path, _HEAD, lines)


def _is_of(row: Row, first: Row) -> bool:
    return row.cpus != 1 and (row.size, row.system) == (first.size, first.system)


def _printed(figures: Iterable[Figure], change: Change, system: str | None, size: str) -> dict[int, float]:
    return {
        figure.cpus: figure.value
        for figure in figures
        if figure.cpus is not None and (figure.unit, figure.system, figure.size) == (change, system, size)
    }


def _changed(change: Change, one: Row, more: Row) -> float:
    assert one.here is not None
    assert more.here is not None
    alone, together = one.here.value.value, more.here.value.value
    return 100 * (1 - together / alone if change == "% less" else alone / together - 1)
