"""Rows of Parquet files that a service sends as they are, to be unpacked here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from headrace.model.request import Prepared

Pieces = Callable[[int], Iterable[memoryview]]


def packed_rows(prepared: Prepared, pieces: Pieces) -> pa.Table | None:
    """The rows of a read; None if what was sent are not these, and the service is to tell why.

    Args:
        pieces: gives the pieces of a file by its number. While one file is unpacked, the next is fetched.
    """
    schema = pa.ipc.read_schema(pa.py_buffer(prepared.schema_ipc))
    tables = []
    with ThreadPoolExecutor(1) as thread:
        try:
            files = thread.map(lambda number: b"".join(pieces(number)), range(len(prepared.packed)))
            for rows, file in zip(prepared.packed, files, strict=True):
                table = _unpacked(file, schema)
                if table is None or table.num_rows != rows:
                    return None
                tables.append(table)
        finally:
            thread.shutdown(cancel_futures=True)
    return pa.concat_tables(tables)


def _unpacked(file: bytes, schema: pa.Schema) -> pa.Table | None:
    import pyarrow.parquet as pq

    try:
        found = pq.ParquetFile(pa.BufferReader(file), page_checksum_verification=True).read()
        if found.schema.names != schema.names:
            return None
        columns = [column.cast(field.type) for column, field in zip(found.columns, schema, strict=True)]
        table = pa.table(columns, schema=schema)
        table.validate()
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        return None
    return table
