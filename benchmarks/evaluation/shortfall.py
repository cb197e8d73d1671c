"""Where what is measured here falls short: of what it stands beside, or of what a paper gained."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.evaluation.row import AT_MOST, Row, SpeedUp


def shortfalls(rows: Sequence[Row], speed_ups: Sequence[SpeedUp]) -> list[str]:
    """Of one experiment, a sentence each. Intervals that have no ratio of one in them count, and those alone."""
    return [
        *(_slower(found) for found in speed_ups if found.here and found.here.high < 1),
        *(
            _less(found)
            for found in speed_ups
            if found.here and found.printed and found.here.high < min(found.printed.values)
        ),
        *(_longer(row) for row in rows if _is_longer(row)),
        *(_more(row) for row in rows if _is_more(row)),
    ]


def _slower(found: SpeedUp) -> str:
    assert found.here is not None
    word = "as small" if found.experiment.unit == "bytes" else "as fast"
    return f"{_place(found)}: {found.system} is {found.here.value:.2f} times {word} as {found.against}."


def _less(found: SpeedUp) -> str:
    assert found.here is not None
    assert found.printed is not None
    return (
        f"{_place(found)}: {found.system} gains less than in the paper: {found.here.value:.3g} times beside "
        f"{found.against}, where it gains {min(found.printed.values):.3g}."
    )


def _is_longer(row: Row) -> bool:
    """Its own system took less in the paper, on another machine."""
    experiment, printed = row.experiment, row.printed
    if row.here is None or printed is None or printed.unit != experiment.unit:
        return False
    if row.system not in {ours for ours, _ in experiment.pairs}:
        return False
    value = row.here.value
    return value.high < printed.value if experiment.unit == "MB/s" else value.low > printed.value


def _longer(row: Row) -> str:
    assert row.here is not None
    assert row.printed is not None
    times = f"{row.here.value.value / row.printed.value:.2g} times"
    takes = {"s": f"takes {times} as long as", "bytes": f"takes {times} as many bytes as"}
    told = takes.get(row.experiment.unit, f"gives {times} the {row.experiment.unit} of")
    return f"{_place(row)}: {row.system} {told} {row.printed.system} on the paper's machine."


def _is_more(row: Row) -> bool:
    """It is a greater share than the paper has at most, whichever system's."""
    at_most = row.printed is not None and row.printed.unit == AT_MOST
    return at_most and row.here is not None and row.here.value.low > row.printed.value


def _more(row: Row) -> str:
    assert row.here is not None
    assert row.printed is not None
    share, most = row.here.value.value, row.printed.value
    return f"{_place(row)}: {row.system} take {share:.0f} % of the whole, which in the paper is {most:g} % at most."


def _place(found: Row | SpeedUp) -> str:
    cpus = "" if found.cpus is None else f", {found.cpus} processor{'' if found.cpus == 1 else 's'}"
    return f"{found.size}{cpus}"
