"""A suite as Markdown: each comparison at its largest size, each figure a link to its line of the CSV files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.evaluation.amount import amount, cpus
from benchmarks.evaluation.paper import PAPERS
from benchmarks.evaluation.row import Row, SpeedUp
from benchmarks.evaluation.shortfall import shortfalls

_FIRST = 2
"""The line of a CSV file on which its first row is."""
_HEAD = (
    "| experiment | size | system | beside it | runs | times as fast | the paper's |",
    "|---|---|---|---|---|---|---|",
)


def write(rows: Sequence[Row], speed_ups: Sequence[SpeedUp], path: Path) -> None:
    """Beside `rows.csv` and `ratios.csv` of the same."""
    found = [*_compared(rows, speed_ups), *_short(rows, speed_ups), *_not_reproduced()]
    path.write_text("\n".join(found) + "\n")


def _compared(rows: Sequence[Row], speed_ups: Sequence[SpeedUp]) -> Iterator[str]:
    for paper in PAPERS:
        yield from (f"## {paper.authors} ({paper.year}): {paper.title}", "", *_HEAD)
        own = [found for found in enumerate(speed_ups, _FIRST) if found[1].experiment.paper == paper.key]
        for _, pair in itertools.groupby(own, lambda found: _pair(found[1])):
            measured = [found for found in pair if found[1].here]
            kinds = any(found.experiment.kinds for _, found in measured)
            for number, found in measured if kinds else measured[-1:]:
                yield _line(number, found, rows)
        yield ""


def _pair(found: SpeedUp) -> tuple[str, str, str]:
    return found.experiment.key, found.system, found.against


def _line(number: int, found: SpeedUp, rows: Sequence[Row]) -> str:
    assert found.here is not None
    size = found.size if found.cpus is None else f"{found.size}, {cpus(found.cpus)}"
    link = f"(ratios.csv#L{number})"
    of = " of the whole reads" if found.experiment.unit == "%" else ""
    between = f", {found.here.low:.3g} to {found.here.high:.3g}{of}" if found.here.n > 1 else ""
    cells = (
        *(found.experiment.name, size, _side(found, found.system, rows), _side(found, found.against, rows)),
        *(f"{found.here.n}", f"[{found.here.value:.3g}]{link}{between}{', noisy' if found.noisy else ''}"),
        _printed(found, link),
    )
    return f"| {' | '.join(cells)} |"


def _printed(found: SpeedUp, link: str) -> str:
    if found.printed is None:
        return ""
    values = dict.fromkeys(f"[{value:.3g}]{link}" for value in sorted(found.printed.values))
    return " to ".join(values) + (", reckoned" if found.printed.source == "shares" else "")


def _side(found: SpeedUp, system: str, rows: Sequence[Row]) -> str:
    place = (found.experiment, found.size, found.cpus, system)
    number, own = next(
        (number, row)
        for number, row in enumerate(rows, _FIRST)
        if (row.experiment, row.size, row.cpus, row.system) == place
    )
    assert own.here is not None
    return f"{system}: [{amount(own.here.value.value, found.experiment.unit)}](rows.csv#L{number})"


def _short(rows: Sequence[Row], speed_ups: Sequence[SpeedUp]) -> Iterator[str]:
    yield from ("## Where it falls short", "")
    for experiment in {row.experiment.key: row.experiment for row in rows}.values():
        found = shortfalls(
            [row for row in rows if row.experiment == experiment],
            [found for found in speed_ups if found.experiment == experiment],
        )
        if found:
            yield from (f"- {experiment.about}:", *(f"  - {told}" for told in found))
    yield ""


def _not_reproduced() -> Iterator[str]:
    yield from ("## What is not reproduced", "")
    for paper in PAPERS:
        first = paper.authors.split(",")[0]
        yield from (f"- {first} ({paper.year}): {told}" for told in paper.not_reproduced)
