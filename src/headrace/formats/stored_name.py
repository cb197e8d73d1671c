"""The names that columns have in data files, where these are not their own, and times that have more digits there.

Source: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#column-mapping. A renamed column keeps its name in the
files, and that of a dropped one is never used again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from headrace.formats.duckdb_type import duckdb_type
from headrace.model.expression_sql import identifier
from headrace.model.types import is_list


@dataclasses.dataclass(frozen=True)
class StoredName:
    """The name of a column, or of a field in one.

    Args:
        inner: for the fields of a struct, by their names; for what a list holds as `element`, and for what a map holds
            as `key` and `value`.
        nanoseconds: it is a time that has them in files.
    """

    name: str
    inner: Mapping[str, StoredName] = dataclasses.field(default_factory=dict)
    nanoseconds: bool = False


def stored_names(fields: Iterable[pa.Field], metadata_key: bytes) -> dict[str, StoredName]:
    """Of fields that have them in their metadata."""
    return {f.name: StoredName(_told(f, metadata_key), _inner(f.type, metadata_key)) for f in fields}


def _told(field: pa.Field, metadata_key: bytes) -> str:
    name = (field.metadata or {}).get(metadata_key)
    return field.name if name is None else str(name, "utf-8")


def _inner(kind: pa.DataType, metadata_key: bytes) -> dict[str, StoredName]:
    if pa.types.is_struct(kind):
        return stored_names(kind, metadata_key)
    return {name: StoredName(name, _inner(inner, metadata_key)) for name, inner in _held(kind)}


def _held(kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    """What a list or a map holds."""
    if is_list(kind):
        return [("element", kind.value_type)]
    if pa.types.is_map(kind):
        return [("key", kind.key_type), ("value", kind.item_type)]
    return []


def finer_names(schema: pa.Schema, finer: pa.Schema) -> dict[str, StoredName]:
    """Of columns under their own names; `finer` has those with nanoseconds in them, in the types of a file."""
    return {f.name: _finer(f.name, f.type, _child(finer, f.name)) for f in schema}


def _finer(name: str, kind: pa.DataType, stored: pa.DataType | None) -> StoredName:
    if pa.types.is_struct(kind):
        fields = stored if stored is not None and pa.types.is_struct(stored) else pa.struct([])
        return StoredName(name, {f.name: _finer(f.name, f.type, _child(fields, f.name)) for f in kind})
    theirs = {} if stored is None else dict(_held(stored))
    inner = {of: _finer(of, within, theirs.get(of)) for of, within in _held(kind)}
    return StoredName(name, inner, pa.types.is_timestamp(kind) and is_finer(stored))


def is_finer(kind: pa.DataType | None) -> bool:
    """Whether a type is that of times, in which there are nanoseconds."""
    return kind is not None and pa.types.is_timestamp(kind) and kind.unit == "ns"


def _child(fields: Iterable[pa.Field], name: str) -> pa.DataType | None:
    return next((field.type for field in fields if field.name == name), None)


def paths(names: Mapping[str, StoredName]) -> Iterator[tuple[str, str]]:
    """The paths of all columns and fields in files, with dots, each with its path in the table."""
    for name, stored in names.items():
        yield stored.name, name
        for inner, outer in paths(stored.inner):
            yield f"{stored.name}.{inner}", f"{name}.{outer}"


def stored_kind(kind: pa.DataType, stored: StoredName) -> pa.DataType:
    """The type with the names that its fields have in files; without those that files do not have."""
    inner = stored.inner
    if pa.types.is_struct(kind):
        known = [(inner[f.name], f.type) for f in kind if f.name in inner]
        return pa.struct([pa.field(name.name, stored_kind(of, name)) for name, of in known])
    if is_list(kind) and inner:
        return pa.list_(stored_kind(kind.value_type, inner["element"]))
    if pa.types.is_map(kind) and inner:
        return pa.map_(stored_kind(kind.key_type, inner["key"]), stored_kind(kind.item_type, inner["value"]))
    return pa.timestamp("ns", kind.tz) if stored.nanoseconds else kind


def renamed(value: str, kind: pa.DataType, stored: StoredName, depth: int = 0) -> str:
    """SQL for a value of the `stored_kind` as one of the type."""
    if stored_kind(kind, stored) == kind:
        return value
    if stored.nanoseconds:
        # Cut off: the engine rounds, and what is later than it was is known before its time.
        made = "make_timestamp" if kind.tz is None else "make_timestamptz"
        return f"{made}(epoch_ns({value}) // 1000 - CAST(epoch_ns({value}) % 1000 < 0 AS BIGINT))"
    inner, item = stored.inner, f"x{depth}"
    if pa.types.is_struct(kind):
        fields = ", ".join(f"{identifier(f.name)} := {_field(value, f, inner, depth)}" for f in kind)
        return f"CASE WHEN {value} IS NULL THEN NULL ELSE struct_pack({fields}) END"
    if is_list(kind):
        element = renamed(item, kind.value_type, inner["element"], depth + 1)
        return f"list_transform({value}, lambda {item}: {element})"
    pairs = (("key", kind.key_type), ("value", kind.item_type))
    pair = ", ".join(f"{n} := {renamed(f'{item}.{n}', of, inner[n], depth + 1)}" for n, of in pairs)
    return f"map_from_entries(list_transform(map_entries({value}), lambda {item}: struct_pack({pair})))"


def _field(value: str, field: pa.Field, inner: Mapping[str, StoredName], depth: int) -> str:
    stored = inner.get(field.name)
    if stored is None:
        return f"CAST(NULL AS {duckdb_type(field.type)})"
    return renamed(f"{value}.{identifier(stored.name)}", field.type, stored, depth)
