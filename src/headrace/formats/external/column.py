"""The columns of tables of other databases."""

from __future__ import annotations

import dataclasses
from typing import Literal

import pyarrow as pa

Comparison = Literal["integer", "float", "decimal", "bool", "date", "instant", "time", "text"]
"""What of a column its database compares as Headrace does. A `time` is one of no zone, an `instant` has one."""


@dataclasses.dataclass(frozen=True)
class ExternalColumn:
    """A column as its database has it, and as it is read.

    Args:
        kind: the type in which it is read.
        value: SQL that gives it, in the database's own.
        given: the type in which the driver gives that; None where the driver does not tell before it reads.
        compared: None where the database may find other rows for a condition than Headrace does.
        strict: every value is of the type that is compared; else there may be others, of which the database knows more.
    """

    name: str
    kind: pa.DataType
    value: str
    given: pa.DataType | None = None
    compared: Comparison | None = None
    strict: bool = True
