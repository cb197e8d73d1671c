"""Rows of Arrow files on this machine, mapped into memory instead of being sent."""

from __future__ import annotations

import pyarrow as pa

from headrace.model.request import Prepared
from headrace.protocol import DATASET_KEY


def mapped_rows(prepared: Prepared) -> pa.Table | None:
    """The rows of a read, which no memory holds before they are used; None if its files are not within reach.

    A file of the same path may be another machine's: only one that bears the key of the read is it.
    """
    if not prepared.mapped:
        return None
    schema = pa.ipc.read_schema(pa.py_buffer(prepared.schema_ipc))
    tables = []
    for path in prepared.mapped:
        try:
            reader = pa.ipc.open_file(pa.memory_map(path))
            if (reader.schema.metadata or {}).get(DATASET_KEY) != prepared.key.encode():
                return None
            tables.append(reader.read_all().select(schema.names))
        except (pa.ArrowException, OSError, KeyError):
            return None
    return pa.concat_tables(tables).replace_schema_metadata(schema.metadata)
