"""A share of the rows of a result, drawn by a seed."""

from __future__ import annotations

from headrace.errors import InvalidArgument, UnknownColumn
from headrace.model.request import ReadRequest, Share
from headrace.model.resolve import Resolved


def checked_share(request: ReadRequest, resolved: Resolved, columns: list[str]) -> Share | None:
    """Raises InvalidArgument for a share of rows that nobody can tell again, or of a column that is not there."""
    share = request.share
    since = resolved.root.source.since
    if request.latest and (share is not None or since is not None):
        raise InvalidArgument("the newest rows are those of a whole table, not of a part or of its changes")
    if share is None:
        return None
    if since is not None:
        raise InvalidArgument("changes come in their order and cannot be split")
    if resolved.limit is not None:
        raise InvalidArgument(
            "rows with a limit cannot be split, because it keeps any of them",
            hint="leave the limit out of the view",
        )
    if not 0 <= share.low < share.high <= 1:
        raise InvalidArgument(f"there is no share of the rows from {share.low} to {share.high}")
    if share.stratify is not None and share.stratify not in columns:
        raise UnknownColumn(
            f"stratify: the result has no column {share.stratify!r}", hint=f"it has {', '.join(columns[:20])}"
        )
    return share


def share_sql(share: Share, query: str, columns: list[str]) -> str:
    """The rows whose place in the order of `draw` is in the share."""
    names, window = ", ".join(columns), "PARTITION BY stratum"
    place = f"row_number() OVER ({window} ORDER BY draw, {names}) - 0.5 AS place"
    placed = f"SELECT {names}, {place}, count(*) OVER ({window}) AS total FROM ({query})"
    return f"SELECT {names} FROM ({placed}) WHERE place >= {share.low!r} * total AND place < {share.high!r} * total"
