"""Rows of Arrow files on this machine, mapped into memory instead of being sent."""

from __future__ import annotations

import os

import pyarrow as pa

from headrace.model.request import Prepared
from headrace.model.stored_file import FILE_MARK


def mapped_rows(prepared: Prepared) -> pa.Table | None:
    """The rows of a read, mapped into memory; None if its files are not within reach.

    A file of the same path may be another machine's, or not be as it was written.
    """
    if not prepared.mapped:
        return None
    schema = pa.ipc.read_schema(pa.py_buffer(prepared.schema_ipc))
    tables = []
    for file in prepared.mapped:
        try:
            # First of all, since what a file says of places that it does not have would end the process.
            if os.stat(file.path).st_size != file.size_bytes:
                return None
            reader = pa.ipc.open_file(pa.memory_map(file.path))
            if (reader.schema.metadata or {}).get(FILE_MARK) != file.mark.encode():
                return None
            rows = reader.read_all().select(list(prepared.mapped_columns) or schema.names)
            rows = rows.rename_columns(schema.names)
            # What is kept of reads was checked by the service, byte by byte, and its files are nobody else's.
            rows.validate(full=prepared.kept is None)
        except (pa.ArrowException, OSError, KeyError, ValueError):
            return None  # and if it is damaged, the service tells
        if rows.num_rows != file.rows or not rows.schema.equals(schema):
            return None
        tables.append(rows)
    return pa.concat_tables(tables).replace_schema_metadata(schema.metadata)
