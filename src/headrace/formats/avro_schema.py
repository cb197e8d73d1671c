"""Arrow's types for an Avro schema, in which Hudi's commits tell the columns of their table.

Source: the Avro specification (https://avro.apache.org/docs/1.12.0/specification/), and Parquet's conventions for it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pyarrow as pa

_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "enum": pa.string(),
    "fixed": pa.binary(),
}
_LOGICAL = {
    "date": pa.date32(),
    "uuid": pa.string(),
    "timestamp-millis": pa.timestamp("us", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("us"),
    "local-timestamp-micros": pa.timestamp("us"),
}


def arrow_schema(text: str) -> pa.Schema:
    """The columns of a record. Raises ValueError if it is none, or has what has no Arrow type."""
    try:
        told = msgspec.json.decode(text)
        if not isinstance(told, dict) or told.get("type") != "record":
            raise ValueError("it is no record")
        return pa.schema(_fields(told, {}))
    except (KeyError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def _fields(record: dict[str, Any], named: dict[str, pa.DataType]) -> list[pa.Field]:
    return [pa.field(field["name"], _type(field["type"], named)) for field in record["fields"]]


def _type(told: Any, named: dict[str, pa.DataType]) -> pa.DataType:
    if isinstance(told, list):
        kinds = [kind for kind in told if kind != "null"]
        if len(kinds) != 1:
            raise ValueError(f"a column may be of several types: {told}")
        return _type(kinds[0], named)
    if isinstance(told, str):
        found = _PLAIN.get(told) or named.get(told)
        if found is None:
            raise ValueError(f"there is no type {told!r}")
        return found
    kind = _logical(told, named)
    if "name" in told:
        named[told["name"]] = kind
        if "namespace" in told:
            named[f"{told['namespace']}.{told['name']}"] = kind
    return kind


def _logical(told: dict[str, Any], named: dict[str, pa.DataType]) -> pa.DataType:
    logical, kind = told.get("logicalType"), told["type"]
    if logical == "decimal":
        return pa.decimal128(told["precision"], told.get("scale", 0))
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    match kind:
        case "record":
            return pa.struct(_fields(told, named))
        case "array":
            return pa.list_(_type(told["items"], named))
        case "map":
            return pa.map_(pa.string(), _type(told["values"], named))
    return _type(kind, named)
