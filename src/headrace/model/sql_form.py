"""What a query in SQL computes, told apart from the words in which it was written."""

from __future__ import annotations

import msgspec


class SqlForm(msgspec.Struct, frozen=True, omit_defaults=True):
    """Queries of one form, over tables of the same rows, give the same rows.

    Args:
        tables: as the query names them, each with its project; None is the one in which it is asked.
        family: of all queries that differ in the columns that they give alone.
        columns: for each of the result, where its values come from; none where `family` tells that, too.
    """

    tables: tuple[tuple[str, str | None], ...]
    family: str
    columns: tuple[str, ...] = ()
