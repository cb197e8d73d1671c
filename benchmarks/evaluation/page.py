"""The report of a suite: a folder with one page that stands alone, its pictures, its figures as CSV and a summary."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.evaluation import chart, row, scaling, summary
from benchmarks.evaluation.amount import amount, megabytes
from benchmarks.evaluation.paper import PAPERS, Figure, Paper, figures_of
from benchmarks.evaluation.parts import Parts, parts_of
from benchmarks.evaluation.row import Printed, Row, SpeedUp
from benchmarks.evaluation.scaling import Scaling, scalings
from benchmarks.evaluation.shortfall import shortfalls
from benchmarks.evaluation.suite import Chosen, Step, Suite
from benchmarks.median import Median
from benchmarks.report import Report

_SOURCES = {
    "printed": "",
    "figures": ", of its two figures",
    "shares": ", of its times with 1 processor and how much less they are",
}


@dataclasses.dataclass(frozen=True)
class _Shown:
    """Args:
    alone: what the paper prints of systems that nothing here stands for.
    stacked: the picture of the parts, where there are some.
    """

    chosen: Chosen
    rows: list[Row]
    speed_ups: list[SpeedUp]
    scalings: list[Scaling]
    parts: list[Parts]
    alone: list[Figure]
    shortfalls: list[str]
    picture: str
    stacked: str | None


def write(suite: Suite, reports: Mapping[Step, Report], failed: Mapping[Step, str], folder: Path) -> Path:
    """The page's path.

    Args:
        failed: why steps could not be measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows, speed_ups = row.rows(suite, reports), row.speed_ups(suite, reports)
    shown: list[tuple[Paper, list[_Shown]]] = []
    for paper in PAPERS:
        own = [chosen for chosen in suite.chosen if chosen.experiment.paper == paper.key]
        shown.append((paper, [_shown(chosen, rows, speed_ups, folder) for chosen in own]))
    row.write(rows, folder / "rows.csv")
    row.write_ratios(speed_ups, folder / "ratios.csv")
    scaling.write(
        (found for _, own in shown for one in own for found in one.scalings), folder / "scaling.csv"
    )
    summary.write(rows, speed_ups, folder / "summary.md")
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "amount": amount,
        "figure": _figure,
        "times": _times,
        "printed": _printed,
        "megabytes": megabytes,
        "machine": _machine,
    }
    page = folder / "index.html"
    page.write_text(
        environment.get_template("page.html.j2").render(
            suite=suite,
            reports=list(reports.values()),
            missing=[step for step in suite.steps if step not in reports and step not in failed],
            failed={step: why.splitlines()[0] for step, why in failed.items() if step not in reports},
            commits=sorted({report.machine.commit for report in reports.values()}),
            machines=list({_machine(report): None for report in reports.values()}),
            versions=_versions(reports.values()),
            papers=shown,
        )
    )
    return page


def _shown(chosen: Chosen, rows: list[Row], speed_ups: list[SpeedUp], folder: Path) -> _Shown:
    experiment = chosen.experiment
    own = [found for found in rows if found.experiment == experiment]
    faster = [found for found in speed_ups if found.experiment == experiment]
    parts = parts_of(experiment, rows)
    path, stacked = folder / f"{experiment.slug}.png", folder / f"{experiment.slug}-parts.png"
    chart.draw(own, faster, path)
    if parts:
        chart.draw_parts(parts, stacked)
    return _Shown(
        chosen,
        own,
        faster,
        scalings(experiment, own),
        parts,
        [figure for figure in figures_of(experiment) if figure.system not in experiment.systems.values()],
        shortfalls(own, faster),
        _encoded(path),
        _encoded(stacked) if parts else None,
    )


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _machine(report: Report) -> str:
    """What of it is the same for most steps: not how many of its processors were used."""
    machine = report.machine
    settings = "".join(f", {name}={value}" for name, value in machine.settings.items())
    memory = f"{machine.memory / 1e9:.0f} GB"
    return f"{machine.processor}, {memory}, {machine.system}, Python {machine.python}{settings}"


def _versions(reports: Iterable[Report]) -> dict[str, list[str]]:
    """All that took part, by name: several of one where it was changed between steps."""
    found: dict[str, set[str]] = {}
    for report in reports:
        for name, number in report.machine.versions.items():
            found.setdefault(name, set()).add(number)
    return {name: sorted(numbers) for name, numbers in found.items()}


def _figure(found: Figure) -> str:
    """As the paper has it."""
    if found.words:
        return found.words
    if found.unit.startswith("%"):
        return f"{found.value:g} {found.unit}"
    if found.unit == "x":
        return f"{found.value:g}" + (f" to {found.high:g}" if found.high else "") + " times as fast as it"
    spread = f" ± {amount(found.stdev, found.unit)}" if found.stdev else ""
    return amount(found.value, found.unit) + spread


def _times(found: Median) -> str:
    between = f" [{found.low:.2f}, {found.high:.2f}]" if found.n > 1 else ""
    return f"{found.value:.2f}x{between}"


def _printed(found: Printed | None) -> str:
    if found is None:
        return "figure not in text"
    told = (found.words or " to ".join(f"{value:.3g}" for value in found.values)) + "x"
    return told + _SOURCES[found.source]
