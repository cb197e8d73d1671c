"""The picture of the demo: how well the model answers, and how old its features were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from headrace.demo.report import MeanError

_MODEL, _MEDIAN, _LAST_LEG = "#1b6ca8", "#b8b8b8", "#d9843b"
_HOUR = 3600.0


def draw(path: Path, errors: Sequence[MeanError], ages: Mapping[str, pd.Series]) -> None:
    """Write the picture to `path` as PNG.

    `ages` are seconds by feature group, missing where nothing was known.
    """
    figure = Figure(figsize=(13, 4.6), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(
        "Arrival delays of flights from New York, from what was known at their departure", fontsize=14
    )
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.3, 1, 1])
    _draw_errors(left, errors)
    _draw_ages(
        middle,
        ages["weather"] / 60,
        bins=range(0, 121, 5),
        title="Age of the weather used (2 hours at most)",
        unit="minutes between reading and departure",
    )
    _draw_ages(
        right,
        ages["plane_legs"] / _HOUR,
        bins=range(0, 73, 2),
        title="Age of the plane's last leg used",
        unit="hours between landing and departure",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _draw_errors(axes: Axes, errors: Sequence[MeanError]) -> None:
    places = np.arange(len(errors))
    bars = (
        ("model", [e.model for e in errors], _MODEL),
        ("always the median", [e.median for e in errors], _MEDIAN),
        ("as late as the plane's last leg", [e.last_leg for e in errors], _LAST_LEG),
    )
    for i, (label, values, colour) in enumerate(bars):
        drawn = axes.bar(places + (i - 1) * 0.28, values, width=0.26, color=colour, label=label)
        axes.bar_label(drawn, fmt="%.1f", fontsize=8, padding=1)
    axes.set_xticks(places, [error.month or "all three" for error in errors])
    axes.set_ylabel("mean absolute error, minutes")
    axes.set_ylim(top=1.28 * max(max(values) for _, values, _ in bars))
    axes.set_title("Error on flights the model never saw (lower is better)", fontsize=11)
    axes.legend(loc="upper left", fontsize=9, frameon=False, ncols=2)
    _plain(axes)


def _draw_ages(axes: Axes, age: pd.Series, *, bins: Sequence[float], title: str, unit: str) -> None:
    known = age.dropna()
    axes.hist(
        known,
        bins=bins,
        weights=np.full(len(known), 100 / len(age)),
        color=_MODEL,
        edgecolor="white",
        linewidth=0.4,
    )
    older = float((known > bins[-1]).sum()) / len(age)
    notes = [
        f"median: {known.median():.0f} {unit.split()[0]}",
        f"nothing known: {1 - len(known) / len(age):.1%} of flights",
    ]
    if older > 0:
        notes.append(f"older than shown: {older:.0%}")
    axes.text(0.97, 0.95, "\n".join(notes), transform=axes.transAxes, ha="right", va="top", fontsize=9)
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(unit)
    axes.set_ylabel("% of flights")
    axes.set_xlim(0, bins[-1])
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
