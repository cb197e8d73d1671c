"""Parts of the rows of a result: drawn by a seed, or of a time."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from headrace.errors import InvalidArgument, UnknownColumn
from headrace.model.duration import to_micros
from headrace.model.expression_sql import Dialect, text
from headrace.model.request import Part, ReadRequest, Share, Span
from headrace.model.resolved import Resolved

_MOST_PARTS = 256
_OFFSETS = 1024

Bounds = Callable[[Span], tuple[int | None, int | None]]


def checked_parts(
    request: ReadRequest, resolved: Resolved, columns: Mapping[str, pa.DataType], timed: bool
) -> tuple[Part, ...]:
    """Raises InvalidArgument for parts that nobody can tell again, or that share rows; UnknownColumn."""
    parts, since = request.parts, resolved.root.source.since
    if request.latest and (parts or request.ordered or since is not None):
        raise InvalidArgument("the newest rows are those of a whole table, not of a part or of its changes")
    if since is not None and (parts or request.ordered):
        raise InvalidArgument("changes come in their order and cannot be split")
    if resolved.limit is not None and (len(parts) > 1 or shares_of(parts)):
        raise InvalidArgument(
            "rows with a limit cannot be split, because it keeps any of them",
            hint="leave the limit out of the view",
        )
    if len(parts) > _MOST_PARTS:
        raise InvalidArgument(f"{len(parts)} parts are refused: {_MOST_PARTS} is the most")
    shares, spans = shares_of(parts), [part for part in parts if isinstance(part, Span)]
    if shares and spans:
        raise InvalidArgument("parts are all drawn, or all of a time")
    _check_shares(shares, columns)
    _check_spans(spans, timed)
    return parts


def shares_of(parts: Sequence[Part]) -> list[Share]:
    return [part for part in parts if isinstance(part, Share)]


def _check_shares(shares: list[Share], columns: Mapping[str, pa.DataType]) -> None:
    for share in shares:
        if not 0 <= share.low < share.high <= 1:
            raise InvalidArgument(f"there is no share of the rows from {share.low} to {share.high}")
        if share.stratify is None:
            continue
        if share.stratify not in columns:
            raise UnknownColumn(
                f"stratify: the result has no column {share.stratify!r}",
                hint=f"it has {', '.join([*columns][:20])}",
            )
        if pa.types.is_nested(columns[share.stratify]):
            raise InvalidArgument(
                f"stratify: {share.stratify!r} is {columns[share.stratify]}, whose values are no strata",
                hint="draw from the values of a column of numbers, texts, days or times",
            )
    if len({(share.seed, share.stratify) for share in shares}) > 1:
        raise InvalidArgument("the parts are drawn by different seeds, or of different strata")
    for one, next_one in itertools.pairwise(sorted(shares, key=lambda share: share.low)):
        if one.high > next_one.low:
            raise InvalidArgument(f"two parts share the rows from {next_one.low} to {one.high} of all")


def _check_spans(spans: list[Span], timed: bool) -> None:
    bounded = [span for span in spans if span.start is not None or span.end is not None]
    if bounded and not timed:
        raise InvalidArgument("the rows have no event time to split them by")
    for span in bounded:
        if span.start is not None and span.end is not None and span.start >= span.end:
            raise InvalidArgument(f"start={span.start.isoformat()} is not before end={span.end.isoformat()}")
    # An open start is before all times, so that only one comes first.
    ordered = sorted(spans, key=lambda span: (span.start is not None, span.start and to_micros(span.start)))
    for one, next_one in itertools.pairwise(ordered):
        if one.end is None or next_one.start is None or one.end > next_one.start:
            raise InvalidArgument(
                f"two parts share the rows from {'the first' if next_one.start is None else next_one.start.isoformat()}"
                f" until {'the last' if one.end is None else one.end.isoformat()}",
                hint="a part ends where the next one starts, or before",
            )


def parts_sql(
    parts: tuple[Part, ...],
    query: str,
    columns: list[str],
    bounds: Bounds,
    order: Sequence[str] | None = None,
    dialect: Dialect = "duckdb",
) -> str:
    """The rows that are in a part; of several, with its number as the last column, `part`.

    `query` has beside its columns the texts `draw` and `stratum` where the parts are drawn, and `time` where they are
    of a time.
    `bounds` gives when a part starts and ends as such times.

    Args:
        order: the columns that decide between rows of one draw; by default all.
    """
    names = ", ".join(columns)
    for share in shares_of(parts)[:1]:
        # The row's place in the order of `draw`.
        window = "PARTITION BY stratum"
        by = ", ".join(f"{c} ASC NULLS LAST" for c in ("draw", *(columns if order is None else order)))
        place = f"row_number() OVER ({window} ORDER BY {by}) - {_offset(share, dialect)} AS place"
        query = f"SELECT {names}, {place}, count(*) OVER ({window}) AS total FROM ({query})"
    tests = [_test(part, bounds) for part in parts]
    if len(tests) == 1:
        return f"SELECT {names} FROM ({query}) WHERE {tests[0]}"
    numbered = " ".join(f"WHEN {test} THEN {i}" for i, test in enumerate(tests))
    return (
        f"SELECT * FROM (SELECT {names}, CASE {numbered} END AS part FROM ({query})) WHERE part IS NOT NULL"
    )


def _offset(share: Share, dialect: Dialect) -> str:
    """Between 0 and 1, and not close to either, where places would hang on how numbers are rounded.

    Each stratum has its own: otherwise all that have one row would give it to the same part.
    """
    if share.stratify is None:
        return "0.5"
    if dialect == "spark":
        # DuckDB's number is that of the lower eight bytes, the least of which comes first.
        drawn = f"md5(concat({text(f'{share.seed}/')}, coalesce(stratum, '')))"
        low = f"conv(concat(substr({drawn}, 19, 2), substr({drawn}, 17, 2)), 16, 10)"
        return f"(CAST({low} AS INT) % {_OFFSETS} + 0.5) / {_OFFSETS}"
    given = f"concat({text(f'{share.seed}/')}, stratum)"
    return f"(md5_number_lower({given}) % {_OFFSETS} + 0.5) / {_OFFSETS}"


def _test(part: Part, bounds: Bounds) -> str:
    if isinstance(part, Share):
        return f"place >= {part.low!r} * total AND place < {part.high!r} * total"
    start, end = bounds(part)
    tests = [] if start is None else [f"time >= {start}"]
    tests += [] if end is None else [f"time < {end}"]
    return " AND ".join(tests) or "true"
