"""An experiment as a picture: what each system takes at each size, the paper's beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.evaluation.row import Row, SpeedUp

_COLOURS = (
    "#1b6ca8",
    "#b8b8b8",
    "#d98c21",
    "#2e8540",
    "#8a5aa8",
    "#5aa8a0",
    "#a85a5a",
    "#6b6b2e",
    "#444444",
    "#c77ca0",
)
_PRINTED = "#c0392b"


def draw(rows: Sequence[Row], speed_ups: Sequence[SpeedUp], path: Path) -> None:
    """Write a PNG: what is measured on a logarithmic scale, with 95 % intervals, and the ratios."""
    figure = Figure(figsize=(10.5, 3.8), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    absolute, ratios = figure.subplots(1, 2, width_ratios=(2, 1))
    _measured(absolute, rows)
    _ratios(ratios, speed_ups)
    figure.legend(*absolute.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    for axes in (absolute, ratios):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def _measured(axes: Axes, rows: Sequence[Row]) -> None:
    sizes = list(dict.fromkeys(row.size for row in rows))
    systems = list(dict.fromkeys(row.system for row in rows))
    width = 0.85 / len(systems)
    for at, system in enumerate(systems):
        own = [row for row in rows if row.system == system]
        places = [sizes.index(row.size) + (at + 0.5) * width - 0.425 for row in own]
        measured = [(place, row.here) for place, row in zip(places, own, strict=True) if row.here]
        axes.bar(
            [place for place, _ in measured],
            [here.value for _, here in measured],
            width * 0.92,
            yerr=[
                [here.value - here.low for _, here in measured],
                [here.high - here.value for _, here in measured],
            ],
            color=_COLOURS[at % len(_COLOURS)],
            error_kw={"capsize": 2, "linewidth": 0.8},
            label=system,
        )
        printed = [(place, row.printed.value) for place, row in zip(places, own, strict=True) if row.printed]
        axes.plot(
            [place for place, _ in printed],
            [value for _, value in printed],
            "D",
            color=_PRINTED,
            markersize=4,
            label="the paper" if at == 0 and printed else None,
        )
    axes.set_yscale("log")
    unit = rows[0].experiment.unit
    axes.set_ylabel("bytes (logarithmic)" if unit == "bytes" else "seconds (logarithmic)")
    axes.set_xticks(range(len(sizes)), sizes)


def _ratios(axes: Axes, speed_ups: Sequence[SpeedUp]) -> None:
    sizes = [found.size for found in speed_ups]
    for at, found in enumerate(speed_ups):
        if found.here:
            below, above = found.here.value - found.here.low, found.here.high - found.here.value
            axes.errorbar(
                at, found.here.value, yerr=[[below], [above]], fmt="o", color=_COLOURS[0], capsize=3
            )
        if found.printed:
            axes.vlines(at + 0.15, min(found.printed), max(found.printed), color=_PRINTED)
            axes.plot([at + 0.15] * len(found.printed), found.printed, "D", color=_PRINTED, markersize=4)
    axes.axhline(1, color="#888888", linewidth=0.8, linestyle="--")
    axes.set_ylim(bottom=0)
    axes.set_xlim(-0.6, len(sizes) - 0.4)
    axes.set_xticks(range(len(sizes)), sizes)
    unit = speed_ups[0].experiment.unit
    axes.set_ylabel(f"times as {'small' if unit == 'bytes' else 'fast'} (red: the paper)")
