"""What HopsFS's own client writes and reads: run by the Python of .hops, where `deltalake` is theirs.

Told on standard input as JSON: the table's URI, the mode, and the columns to write, if any. Answers with all columns.
"""

from __future__ import annotations

import json
import sys

from arro3.core import Array, DataType, Table
from deltalake import DeltaTable, QueryBuilder, write_deltalake


def _array(values: list[object]) -> Array:
    return Array(values, DataType.string() if isinstance(values[0], str) else DataType.int64())


def main() -> None:
    asked = json.load(sys.stdin)
    if asked["rows"] is not None:
        columns = {name: _array(values) for name, values in asked["rows"].items()}
        write_deltalake(asked["uri"], Table.from_pydict(columns), mode=asked["mode"])
        return
    found = QueryBuilder().register("t", DeltaTable(asked["uri"])).execute("SELECT * FROM t").read_all()
    json.dump(
        {
            field.name: [value.as_py() for chunk in found.column(field.name).chunks for value in chunk]
            for field in found.schema
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
