"""What a system that is several cases spends in each of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from benchmarks.evaluation.experiment import Experiment
from benchmarks.evaluation.row import Row


@dataclasses.dataclass(frozen=True)
class Parts:
    """One system at one size.

    Args:
        whole: its row.
        parts: the rows of its cases, in their order, of which each was measured.
    """

    whole: Row
    parts: tuple[Row, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.system for part in self.parts)

    @property
    def here(self) -> tuple[float, ...]:
        """Percent of the sum of their medians."""
        return _shares([part.here.value.value for part in self.parts if part.here])

    @property
    def printed(self) -> tuple[float, ...] | None:
        """Likewise of the paper's; None where its text has not all of them."""
        values = [part.printed.value for part in self.parts if part.printed]
        return _shares(values) if len(values) == len(self.parts) else None


def parts_of(experiment: Experiment, rows: Sequence[Row]) -> list[Parts]:
    """
    Args:
        rows: of all experiments: those of the parts are of others, of the same paper.
    """
    cases = {
        (row.system, row.size, row.cpus): row
        for row in rows
        if row.experiment.paper == experiment.paper and row.here and row.system not in row.experiment.sums
    }
    found = []
    for row in rows:
        if row.experiment == experiment and row.system in experiment.sums:
            own = [cases.get((case, row.size, row.cpus)) for case in experiment.sums[row.system]]
            known = tuple(part for part in own if part)
            if len(known) == len(own):
                found.append(Parts(row, known))
    return found


def _shares(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(100 * value / sum(values) for value in values)
