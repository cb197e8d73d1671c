"""What more processors give: how much less time than with one, in percent, as theses print it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from benchmarks.evaluation.experiment import Experiment
from benchmarks.evaluation.paper import figures_of
from benchmarks.evaluation.row import Row

_LESS = "% less"


@dataclasses.dataclass(frozen=True)
class Scaling:
    """A system at a size.

    Args:
        less: by processors, percent less time here than with one; printed, in the paper.
    """

    size: str
    system: str
    less: dict[int, float]
    printed: dict[int, float]


def scalings(experiment: Experiment, rows: Sequence[Row]) -> list[Scaling]:
    """None where the paper does not vary processors, or nothing was pinned to one here."""
    figures = [figure for figure in figures_of(experiment) if figure.unit == _LESS]
    own = [row for row in rows if row.experiment == experiment and row.cpus is not None and row.here]
    found = []
    for first in (row for row in own if row.cpus == 1):
        alike = [row for row in own if (row.size, row.system) == (first.size, first.system)]
        stands_for = experiment.systems[first.system]
        found.append(
            Scaling(
                first.size,
                first.system,
                {row.cpus: _less(first, row) for row in alike if row.cpus not in (None, 1)},
                {
                    figure.cpus: figure.value
                    for figure in figures
                    if figure.cpus is not None and (figure.system, figure.size) == (stands_for, first.size)
                },
            )
        )
    return found if figures else []


def _less(one: Row, more: Row) -> float:
    assert one.here is not None
    assert more.here is not None
    return 100 * (1 - more.here.value.value / one.here.value.value)
