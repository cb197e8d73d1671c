"""Rows of Arrow files on this machine, mapped into memory instead of being sent."""

from __future__ import annotations

import pyarrow as pa

from headrace.model.request import Prepared
from headrace.protocol import DATASET_KEY


def mapped_rows(prepared: Prepared) -> pa.Table | None:
    """The rows of a read, mapped into memory; None if its files are not within reach.

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
            rows = reader.read_all().select(schema.names)
            rows.validate(full=True)
        except (pa.ArrowException, OSError, KeyError, ValueError):
            return None  # and if it is damaged, the service tells
        if not rows.schema.equals(schema):
            return None
        tables.append(rows)
    return pa.concat_tables(tables).replace_schema_metadata(schema.metadata)
