"""The report of a suite: a folder with one page that stands alone, its pictures, and a CSV of all rows."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.evaluation import chart, row
from benchmarks.evaluation.paper import PAPERS, Paper
from benchmarks.evaluation.row import Row, SpeedUp
from benchmarks.evaluation.scaling import Scaling, scalings
from benchmarks.evaluation.suite import Chosen, Step, Suite
from benchmarks.median import Median
from benchmarks.report import Report


@dataclasses.dataclass(frozen=True)
class _Shown:
    chosen: Chosen
    rows: list[Row]
    speed_ups: list[SpeedUp]
    scalings: list[Scaling]
    picture: str


def write(suite: Suite, reports: Mapping[Step, Report], folder: Path) -> Path:
    """The page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, speed_ups = row.rows(suite, reports), row.speed_ups(suite, reports)
    row.write(rows, folder / "rows.csv")
    shown: list[tuple[Paper, list[_Shown]]] = []
    for paper in PAPERS:
        own = [chosen for chosen in suite.chosen if chosen.experiment.paper == paper.key]
        shown.append((paper, [_shown(chosen, rows, speed_ups, folder) for chosen in own]))
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"amount": _amount, "times": _times, "megabytes": _megabytes}
    page = folder / "index.html"
    page.write_text(
        environment.get_template("page.html.j2").render(
            suite=suite,
            reports=list(reports.values()),
            missing=[step for step in suite.steps if step not in reports],
            papers=shown,
        )
    )
    return page


def _shown(chosen: Chosen, rows: list[Row], speed_ups: list[SpeedUp], folder: Path) -> _Shown:
    experiment = chosen.experiment
    own = [found for found in rows if found.experiment == experiment]
    faster = [found for found in speed_ups if found.experiment == experiment]
    path = folder / f"{experiment.slug}.png"
    chart.draw(own, faster, path)
    return _Shown(
        chosen, own, faster, scalings(experiment, own), base64.b64encode(path.read_bytes()).decode()
    )


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return _megabytes(value)
    if unit == "MB/s":
        return f"{value:,.0f} MB/s"
    if unit.startswith("%"):
        return f"{value:g} {unit}"
    return f"{value:.3g} s" if value >= 0.1 else f"{1000 * value:.3g} ms"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.1f} MB"


def _times(found: Median | tuple[float, ...] | None) -> str:
    if found is None:
        return "figure not in text"
    if isinstance(found, Median):
        return f"{found.value:.2f}x [{found.low:.2f}, {found.high:.2f}]"
    return " to ".join(f"{value:.4g}" for value in found) + "x"
