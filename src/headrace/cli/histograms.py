"""A picture of the histograms of features."""

from __future__ import annotations

import datetime as dt
import itertools
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from headrace.errors import InvalidArgument, PermissionDenied

_BAR = "#1b6ca8"
_MOST_PANELS = 120
_ACROSS = 3
_TITLE, _LABEL = 32, 16
_CLOSE = 1e-9


def draw(path: str, title: str, rows: Sequence[dict[str, Any]]) -> int:
    """Draw a panel for each of the rows of statistics that has a histogram, and give their number.

    Raises:
        InvalidArgument: there are none, or too many; or a place that is none. PermissionDenied: one of others.
    """
    shown = [row for row in rows if row["histogram"]]
    if not 0 < len(shown) <= _MOST_PANELS:
        raise InvalidArgument(
            f"{len(shown)} features have a histogram; a picture has 1 to {_MOST_PANELS}",
            hint="choose others with --column",
        )
    across = min(_ACROSS, len(shown))
    down = -(-len(shown) // across)
    figure = Figure(figsize=(max(4.4 * across, 6), 2.7 * down + 0.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=13, parse_math=False)
    panels = figure.subplots(down, across, squeeze=False).flatten()
    for axes, row in zip(panels, shown, strict=False):
        _panel(axes, row)
    for axes in panels[len(shown) :]:
        axes.remove()
    _save(figure, path)
    return len(shown)


def _panel(axes: Axes, row: dict[str, Any]) -> None:
    bins = row["histogram"]
    counts = [found["count"] for found in bins]
    if all(found["low"] == found["high"] for found in bins):
        _values(axes, [found["low"] for found in bins], counts)
    else:
        _range(axes, [*(found["low"] for found in bins), bins[-1]["high"]], counts)
    axes.set_title(_cut(row["feature"], _TITLE), fontsize=11, parse_math=False)
    axes.text(
        1, 1.01, _note(row, sum(counts)), transform=axes.transAxes, ha="right", va="bottom", fontsize=7, color="#555555"
    )  # fmt: skip
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _values(axes: Axes, values: Sequence[str], counts: Sequence[int]) -> None:
    """A bar for each value."""
    places = range(len(values))
    labels = [_cut(value, _LABEL) or "''" for value in values]
    axes.bar(places, counts, width=0.8, color=_BAR)
    upright = sum(map(len, labels)) > 40
    axes.set_xticks(places, labels, rotation=90 if upright else 0, parse_math=False)


def _range(axes: Axes, edges: Sequence[str], counts: Sequence[int]) -> None:
    """A bar for each bin, between its edges."""
    try:
        found = [float(edge) for edge in edges]
    except ValueError:
        found = [float(date2num(dt.datetime.fromisoformat(edge))) for edge in edges]
        locator = AutoDateLocator(maxticks=6)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    if found[-1] - found[0] < _CLOSE * max(map(abs, found)):
        # What is so close together no axis tells apart.
        axes.set_xticks([0, len(counts)], [edges[0], edges[-1]])
        found = [float(number) for number in range(len(edges))]
    widths = [high - low for low, high in itertools.pairwise(found)]
    axes.bar(found[:-1], counts, width=widths, align="edge", color=_BAR, edgecolor="white", linewidth=0.4)


def _note(row: dict[str, Any], counted: int) -> str:
    """What the bars do not show."""
    notes = [f"{row['nulls']:,} nulls"] if row["nulls"] else []
    if row["count"] > counted:
        notes.append(f"{row['count'] - counted:,} not shown")
    return ", ".join(notes)


def _cut(text: str, longest: int) -> str:
    """One line, which is not long."""
    line = "".join(c if c.isprintable() else "?" for c in text)
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _save(figure: Figure, path: str) -> None:
    """The file appears under its name when it is whole."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with warnings.catch_warnings():
            # Of characters that its fonts do not have.
            warnings.filterwarnings("ignore", "Glyph", UserWarning)
            figure.savefig(part, format="png")
        part.replace(target)
    except PermissionError as error:
        raise PermissionDenied(f"cannot write {path}: {error.strerror}", details={"file": path}) from None
    except OSError as error:
        raise InvalidArgument(
            f"cannot write {path}: {error.strerror or error}", details={"file": path}
        ) from None
    finally:
        part.unlink(missing_ok=True)
