"""An experiment as a picture: what each system takes at each size, the paper's beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.evaluation.amount import cpus
from benchmarks.evaluation.experiment import Experiment, Unit
from benchmarks.evaluation.measured import Measured
from benchmarks.evaluation.parts import Parts
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
    "#e8a0a0",
    "#7fb3ff",
    "#c9c93a",
    "#00525e",
    "#7a3e00",
)
_PRINTED = "#c0392b"
_WIDE = 10
"""The largest ratio by the smallest, from which on they are drawn on a logarithmic scale."""
_UNITS: dict[Unit, str] = {"s": "seconds", "bytes": "bytes", "MB/s": "MB/s", "%": "% of the time"}


def draw(rows: Sequence[Row], speed_ups: Sequence[SpeedUp], path: Path) -> None:
    """Write a PNG: what is measured on a logarithmic scale, with 95 % intervals, and the ratios."""
    figure = Figure(figsize=(12, 4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    absolute, ratios = figure.subplots(1, 2, width_ratios=(2, 1))
    _measured(absolute, rows)
    _ratios(ratios, speed_ups)
    if not any(row.here for row in rows):
        absolute.text(0.5, 0.5, "not measured", transform=absolute.transAxes, ha="center", color="#888888")
    figure.suptitle(rows[0].experiment.about, fontsize=10)
    figure.legend(*absolute.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    for axes in (absolute, ratios):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def draw_parts(found: Sequence[Parts], path: Path) -> None:
    """Write a PNG: of each system at each size a bar, in which its parts have the shares that they take."""
    figure = Figure(figsize=(12, 4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    sizes = list(dict.fromkeys(_size(one.whole) for one in found))
    systems = list(dict.fromkeys(one.whole.system for one in found))
    names = list(dict.fromkeys(name for one in found for name in one.names))
    width = 0.85 / len(systems)
    told: set[str] = set()
    for one in found:
        system = systems.index(one.whole.system)
        at, below = sizes.index(_size(one.whole)) + (system + 0.5) * width - 0.425, 0.0
        for name, share in zip(one.names, one.here, strict=True):
            colour = _COLOURS[names.index(name) % len(_COLOURS)]
            label = None if name in told else name
            axes.bar(at, share, width * 0.92, bottom=below, color=colour, label=label)
            told.add(name)
            below += share
        if one.printed:
            label = None if "the paper" in told else "the paper, between its parts"
            axes.plot(at, one.printed[0], "D", color=_PRINTED, markersize=5, label=label)
            told.add("the paper")
    axes.set_ylabel("% of the time")
    _name(axes, sizes, room=80)
    axes.set_xlabel(f"size; the bars of each: {'; '.join(systems)}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{found[0].whole.experiment.about}: parts", fontsize=10)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(path)


def _measured(axes: Axes, rows: Sequence[Row]) -> None:
    sizes = list(dict.fromkeys(_size(row) for row in rows))
    systems = list(dict.fromkeys(row.system for row in rows))
    is_quoted = False
    width = 0.85 / len(systems)
    for at, system in enumerate(systems):
        own = [row for row in rows if row.system == system]
        places = [sizes.index(_size(row)) + (at + 0.5) * width - 0.425 for row in own]
        measured = [(place, row.here) for place, row in zip(places, own, strict=True) if row.here]
        colour = _COLOURS[at % len(_COLOURS)]
        if rows[0].experiment.boxes:
            _boxes(axes, measured, width * 0.8, colour, system)
        else:
            _bars(axes, measured, width * 0.92, colour, system)
        printed = [
            (place, row.printed)
            for place, row in zip(places, own, strict=True)
            if row.printed and row.printed.unit == row.experiment.unit
        ]
        if printed:
            axes.errorbar(
                [place for place, _ in printed],
                [figure.value for _, figure in printed],
                yerr=[figure.stdev or 0 for _, figure in printed],
                fmt="D",
                color=_PRINTED,
                markersize=4,
                capsize=2,
                label=None if is_quoted else "the paper",
            )
        is_quoted |= bool(printed)
    unit = rows[0].experiment.unit
    if unit == "%":
        axes.set_ylabel(_UNITS[unit])
    else:
        axes.set_yscale("log")
        axes.set_ylabel(f"{_UNITS[unit]} (logarithmic)")
    _name(axes, sizes, room=80)
    axes.set_xlabel(f"{_kind(rows[0].experiment)}{_disturbed(rows)}")


def _name(axes: Axes, places: Sequence[str], room: int) -> None:
    """Below the axis; aslant where side by side they would need more than the room, in letters."""
    longest = max(len(line) for place in places for line in place.splitlines())
    aslant = {"rotation": 25, "ha": "right"} if longest * len(places) > room else {}
    axes.set_xticks(range(len(places)), places, fontsize=8, **aslant)


def _disturbed(found: Sequence[Row] | Sequence[SpeedUp]) -> str:
    sizes = list(dict.fromkeys(_size(one).replace("\n", ", ") for one in found if one.noisy))
    return f" (others used the machine at {', '.join(sizes)})" if sizes else ""


def _bars(
    axes: Axes, measured: Sequence[tuple[float, Measured]], width: float, colour: str, label: str
) -> None:
    values = [here.value for _, here in measured]
    axes.bar(
        [place for place, _ in measured],
        [value.value for value in values],
        width,
        yerr=[[value.value - value.low for value in values], [value.high - value.value for value in values]],
        color=colour,
        error_kw={"capsize": 2, "linewidth": 0.8},
        label=label,
    )


def _boxes(
    axes: Axes, measured: Sequence[tuple[float, Measured]], width: float, colour: str, label: str
) -> None:
    if measured:
        axes.boxplot(
            [here.values for _, here in measured],
            positions=[place for place, _ in measured],
            widths=width,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": colour, "edgecolor": colour},
            medianprops={"color": "black"},
            whiskerprops={"color": colour},
            capprops={"color": colour},
            flierprops={"markersize": 3},
        )
    axes.plot([], [], "s", color=colour, label=label)


def _kind(experiment: Experiment) -> str:
    return "" if experiment.kinds else "size"


def _size(found: Row | SpeedUp) -> str:
    return found.size if found.cpus is None else f"{found.size}\n{cpus(found.cpus)}"


def _ratios(axes: Axes, speed_ups: Sequence[SpeedUp]) -> None:
    """A curve for each pair of systems over the sizes, or points alone; over the pairs, where there is but one size."""
    experiment = speed_ups[0].experiment
    sizes = list(dict.fromkeys(map(_size, speed_ups)))
    pairs = list(dict.fromkeys((found.system, found.against) for found in speed_ups))
    if len(sizes) == 1 and len(pairs) > 1:
        own = len({against for _, against in pairs}) == len(pairs)
        places = [against if own else f"{system}\nbeside {against}" for system, against in pairs]
        _points(axes, [(float(at), found) for at, found in enumerate(speed_ups)], _COLOURS[0])
        axes.set_xlabel(f"what it stands beside{_disturbed(speed_ups)}")
    else:
        places = sizes
        for number, (system, against) in enumerate(pairs):
            away = (number - (len(pairs) - 1) / 2) * 0.5 / len(pairs)
            own = [found for found in speed_ups if (found.system, found.against) == (system, against)]
            placed = [(sizes.index(_size(found)) + away, found) for found in own]
            colour, line = _COLOURS[number * 2 % len(_COLOURS)], "" if experiment.kinds else "-"
            _points(axes, placed, colour)
            known = [(at, found.here.value) for at, found in placed if found.here]
            axes.plot(
                [at for at, _ in known],
                [value for _, value in known],
                color=colour,
                linestyle=line,
                marker="o",
                linewidth=0.8,
                label=f"{system}\nbeside {against}",
            )
        axes.set_xlabel(f"{_kind(experiment)}{_disturbed(speed_ups)}")
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=7)
    axes.axhline(1, color="#888888", linewidth=0.8, linestyle="--")
    axes.set_xlim(-0.6, len(places) - 0.4)
    _name(axes, places, room=45)
    known = [found.here.value for found in speed_ups if found.here]
    known += [value for found in speed_ups if found.printed for value in found.printed.values]
    is_wide = bool(known) and max(known) > _WIDE * min(known)
    if is_wide:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    told = " (logarithmic)" if is_wide else ""
    red = "\nred: the paper" if any(found.printed for found in speed_ups) else ""
    axes.set_ylabel(f"times as {'small' if experiment.unit == 'bytes' else 'fast'}{told}{red}")


def _points(axes: Axes, placed: Sequence[tuple[float, SpeedUp]], colour: str) -> None:
    for at, found in placed:
        if found.here:
            here = found.here
            below, above = here.value - here.low, here.high - here.value
            axes.errorbar(at, here.value, yerr=[[below], [above]], fmt="o", color=colour, capsize=3)
        if found.printed:
            values, beside = found.printed.values, at + 0.1
            axes.vlines(beside, min(values), max(values), color=_PRINTED)
            axes.plot([beside] * len(values), values, "D", color=_PRINTED, markersize=4)
