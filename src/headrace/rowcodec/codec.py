"""Rows to bytes, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from headrace.rowcodec.native import Compression, Tier, headrace_native, raised

if TYPE_CHECKING:
    from collections.abc import Buffer  # type: ignore[attr-defined,unused-ignore]


def dumps(
    rows: Iterable[Any],
    *,
    allow_pickle: bool = True,
    compression: Compression | None = None,
    dictionaries: bool = True,
    tier: Tier | None = None,
) -> bytes:
    """The rows as a stream of Arrow; as several, one after the other, where a run of other shapes is seen late.

    Args:
        rows: a list or tuple of them, or what gives them one by one, which is held while they are written. A row is a
            tuple, list, dict or record, or one value.
        allow_pickle: carry values by pickle that nothing else can carry; else they are refused.
        compression: of the columns.
        dictionaries: tell each repeated text of a column once, where that pays.
        tier: take rows field by field ("program"), or by machine code that is made for their columns ("machine"),
            where it can be made. None: by the latter once there were so many rows that it repays. The bytes are the
            same.

    Raises:
        InvalidArgument: these are no rows, such as a table or a text; or an option is not known.
        Unsupported: a value needs pickle, and it is not allowed, or pickle cannot carry it.
        LimitExceeded: one value has more than 2 GiB.
    """
    try:
        return headrace_native.dump_rows(rows, allow_pickle, compression, dictionaries, tier=tier)
    except headrace_native.RowError as error:
        raise raised(error) from error


def loads(buf: Buffer, *, allow_pickle: bool = False) -> list[Any]:
    """The rows that bytes hold, equal to those that were given and of the same types.

    Nothing of what the bytes say is run: classes of records are found among the modules that are loaded.

    Args:
        buf: the bytes; what may be written to, such as a bytearray, is copied first.
        allow_pickle: unpickle values, and import the modules of records. Such bytes can run any code.

    Raises:
        BadData: the bytes are damaged, or were cut short; `details["offset"]` tells where.
        InvalidArgument: these are no bytes, such as a path or a file.
        Unsupported: they hold a pickled value, a record whose class is not loaded, or a type that no rows are made of.
    """
    try:
        return headrace_native.load_rows(buf, allow_pickle)
    except headrace_native.RowError as error:
        raise raised(error) from error


def stats() -> dict[str, int]:
    """What this process has done since it began.

    `rows_written`, `bytes_written`, `rows_read`, `bytes_read`; `rest_rows`, which did not fit into their columns;
    `refused`, lists that PySpark's serializer had tried as rows, and that are none; `compiled` and `reused`, layouts of
    columns that were new and that were kept; `machine_rows`, taken by machine code, `machine_made`, how often it was
    made, and `machine_bytes` of it that are kept; `direct`, whether objects are read where they lie, or by CPython's
    API.
    """
    return headrace_native.row_stats()
