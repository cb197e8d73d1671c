"""Words of which one is chosen; apart from what they are said of, so that the command line knows them at once."""

from __future__ import annotations

from typing import Literal

EventTimeUnit = Literal["s", "ms", "us", "ns"]
GroupFormat = Literal["delta", "hudi", "parquet", "csv", "arrow"]
"""Of a table that is registered."""
TableFormat = Literal["delta", "hudi", "parquet", "csv", "arrow", "external"]
DriverName = Literal["postgresql", "sqlite", "snowflake", "bigquery"]
"""Of ADBC, by the database that each reaches."""
