"""The picture of a run: what each system takes, beside how near each goal is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.median import Median
from benchmarks.report import Report, goal_value
from benchmarks.sample import Measure

_MEASURES: dict[Measure, str] = {
    "wall": "time",
    "cpu": "CPU",
    "peak": "memory",
    "service_peak": "memory",
    "size": "bytes",
}
_BASELINE, _OTHER, _MET, _MISSED = "#b8b8b8", "#1b6ca8", "#2e8540", "#c0392b"


def draw(report: Report, path: Path) -> None:
    """Write the picture as PNG. Whiskers are 95 % intervals of medians."""
    panels = [_wall, _memory, *([_ratios] if _baselines(report) else []), *([_goals] if report.goals else [])]
    rows = max(len(report.cases), len(report.goals))
    figure = Figure(figsize=(4.6 * len(panels), 1.9 + 0.45 * rows), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    noisy = " (noisy machine)" if report.noisy else ""
    figure.suptitle(f"{report.workload}: {report.about}, {report.unit} {report.scale:,g}{noisy}", fontsize=12)
    for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        panel(axes, report)
        axes.invert_yaxis()
        axes.set_xlim(0, 1.15 * axes.get_xlim()[1])
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _wall(axes: Axes, report: Report) -> None:
    axes.set_title("seconds a run", fontsize=10)
    _bars(axes, report, [c.wall for c in report.cases])


def _memory(axes: Axes, report: Report) -> None:
    axes.set_title("peak memory, MB (dark: the service)", fontsize=10)
    names = [c.name for c in report.cases]
    axes.barh(names, [c.peak / 1e6 for c in report.cases], color=_colours(report))
    axes.barh(names, [c.service_peak / 1e6 for c in report.cases], color="#0d3a5c", height=0.4)


def _ratios(axes: Axes, report: Report) -> None:
    axes.set_title(f"times {' or '.join(_baselines(report))}; red: the goal", fontsize=10)
    _bars(axes, report, [c.ratio for c in report.cases if c.ratio is not None])
    for outcome in report.goals:
        goal = outcome.goal
        at = [c.name for c in report.cases].index(goal.case)
        if goal.way == "ratio" and goal.measure == "wall" and goal.against == report.cases[at].against:
            axes.vlines(goal.most, at - 0.45, at + 0.45, color=_MISSED, linewidth=2)


def _goals(axes: Axes, report: Report) -> None:
    axes.set_title("reached, in shares of the goal", fontsize=10)
    for at, outcome in enumerate(report.goals):
        reached, most = outcome.reached, outcome.goal.most
        shares = [v / most for v in (reached.value, reached.low, reached.high)]
        colour = _MET if outcome.met else _MISSED
        axes.errorbar(shares[0], at, xerr=_whiskers([shares]), fmt="o", color=colour, capsize=3)
        text = f"{goal_value(outcome.goal, reached.value)} of {goal_value(outcome.goal, most)}"
        axes.annotate(
            text, (shares[0], at), xytext=(0, 7), textcoords="offset points", ha="center", fontsize=8
        )
    names = [f"{o.goal.case}\n{_MEASURES[o.goal.measure]}" for o in report.goals]
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.axvline(1, color=_MISSED, linewidth=1, linestyle="--")


def _bars(axes: Axes, report: Report, medians: Sequence[Median]) -> None:
    whiskers = _whiskers([[m.value, m.low, m.high] for m in medians])
    drawn = axes.barh(
        [c.name for c in report.cases],
        [m.value for m in medians],
        xerr=whiskers,
        color=_colours(report),
        error_kw={"capsize": 3, "linewidth": 1},
    )
    axes.bar_label(drawn, fmt="%.3g", fontsize=8, padding=3)


def _whiskers(values: Sequence[Sequence[float]]) -> npt.NDArray[np.float64]:
    """How far the intervals reach to both sides."""
    found = np.asarray(values, dtype=float)
    return np.stack([found[:, 0] - found[:, 1], found[:, 2] - found[:, 0]]).clip(min=0)


def _colours(report: Report) -> list[str]:
    return [_BASELINE if c.name in _baselines(report) else _OTHER for c in report.cases]


def _baselines(report: Report) -> list[str]:
    return list(dict.fromkeys(c.against for c in report.cases if c.against))
