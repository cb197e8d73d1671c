"""What the folders of a Hudi table's partitions tell of the rows in them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from headrace.formats.hudi_properties import HudiProperties

_NULL = "__HIVE_DEFAULT_PARTITION__"

_READ: dict[pa.DataType, Callable[[str], Any]] = {
    pa.string(): str,
    pa.int32(): int,
    pa.int64(): int,
    pa.date32(): dt.date.fromisoformat,
}


def partition_texts(path: str, properties: HudiProperties) -> tuple[str | None, ...] | None:
    """The values that a partition's path has for the partition fields, as texts; None where it cannot be told."""
    fields = properties.partition_fields
    parts = path.split("/") if len(fields) != 1 else [path]
    if len(parts) != len(fields):
        return None
    found: list[str | None] = []
    for field, part in zip(fields, parts, strict=True):
        if properties.hive_style:
            name, equals, part = part.partition("=")
            if not equals or name != field:
                return None
        if properties.slashed:
            part = part.replace("/", "-")
        value = unquote(part) if properties.url_encoded else part
        found.append(None if value in (_NULL, "") else value)
    return tuple(found)


def read_value(text: str, kind: pa.DataType) -> Any:
    """The value in a column's type; None where it is not surely what the text says."""
    read = _READ.get(kind)
    try:
        return None if read is None else read(text)
    except ValueError:
        return None


def is_told(kind: pa.DataType) -> bool:
    """Whether `read_value` knows the type."""
    return kind in _READ
