"""`headrace fg stats`: what there is to tell of the values of each feature."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from headrace.cli.group import Name, group_named
from headrace.cli.option import columns_in
from headrace.cli.report import print_table, print_text
from headrace.cli.rows import print_rows
from headrace.cli.target import Target, on_store
from headrace.errors import InvalidArgument, MissingDependency
from headrace.model.name import reference

_FIGURES = (
    "feature", "histogram", "count", "nulls", "distinct", "min", "p50", "max", "mean", "stddev", "p05", "p25",
    "p75", "p95", "nans",
)  # fmt: skip
_LEFT = {"feature", "histogram"}
_BLOCKS = " ▁▂▃▄▅▆▇█"
_LONGEST = 25

Draw = Callable[[str, str, Sequence[dict[str, Any]]], int]


@on_store
def stats(
    target: Target,
    name: Name,
    column: Annotated[
        list[str] | None, typer.Option(help="Names, with commas between, or the option again for each.")
    ] = None,
    snapshot: Annotated[
        int | None, typer.Option(help="The table as it was then; the newest by default.", min=0)
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the histograms, too, into a .png file.")
    ] = None,
) -> None:
    """Figures of each feature, with its histogram; what has a ~ is not exact."""
    draw = None if plot is None else _draw_into(plot)
    with target.connect() as fs:
        group = group_named(fs, name)
        result = group.statistics(columns_in(column) if column else None, snapshot=snapshot)
        rows = result.to_arrow().to_pylist()
        when = ", ".join(f"at snapshot {at}" for at in result.snapshots.values()) or "as it is now"
        title = f"{reference(group.name, group.version)} {when}"
        drawn = draw(str(plot), title, rows) if draw is not None else 0
        if target.json:
            print_rows(result, json=True)
            return
    print_text(title)
    cells = [[_cell(row, figure) for figure in _FIGURES] for row in rows]
    print_table(_FIGURES, cells, right=set(_FIGURES) - _LEFT)
    if plot is not None:
        print_text(f"{plot}: {drawn} histograms")


def _draw_into(path: str) -> Draw:
    """Looked for before anything is computed. Raises InvalidArgument, MissingDependency."""
    if not path.lower().endswith(".png"):
        raise InvalidArgument(f"{path}: histograms are drawn into .png files")
    try:
        from headrace.cli.histograms import draw
    except ImportError:
        raise MissingDependency(
            "matplotlib is not installed, and --plot draws with it", hint="pip install matplotlib"
        ) from None
    return draw


def _cell(row: dict[str, Any], figure: str) -> str:
    value = row[figure]
    if value is None:
        return ""
    if figure == "histogram":
        return _bars([found["count"] for found in value])
    if figure in ("min", "max"):
        return _short(value, row["type"])
    about = "~" if figure in row["approximate"] else ""
    if isinstance(value, int):
        return f"{about}{value:,}"
    return f"{about}{value:.6g}" if isinstance(value, float) else str(value)


def _bars(counts: Sequence[int]) -> str:
    """A block for each count, as high as its share of the greatest; none for 0."""
    most = max(counts, default=0)
    return "".join(_BLOCKS[-(-count * (len(_BLOCKS) - 1) // most) if count else 0] for count in counts)


def _short(text: str, kind: str) -> str:
    """A least or greatest value."""
    if kind in ("double", "float"):
        return f"{float(text):.6g}"
    if kind.startswith("timestamp"):
        return text.replace("T", " ").replace("+00:00", "Z")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
