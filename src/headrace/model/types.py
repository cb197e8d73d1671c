"""Column types: what is stored for what is given, and which types compare."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pyarrow as pa

from headrace.errors import InvalidName, NameClash, SchemaMismatch

TIMESTAMP = pa.timestamp("us", tz="UTC")

_STORED_INTEGERS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
}
_MOST_LEVELS = 32
_SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]


def stored_type(given: pa.DataType) -> pa.DataType | None:
    """The type in which Headrace stores a column given as `given`; None if it stores no such thing.

    Nothing is lost: unsigned integers are stored in the next wider signed type, times in microseconds UTC
    (naive ones are UTC), every string encoding as string. `uint64`, durations, intervals and times of day
    have no counterpart in Delta.
    """
    if pa.types.is_dictionary(given):
        return stored_type(given.value_type)
    if given in _STORED_INTEGERS:
        return _STORED_INTEGERS[given]
    if is_string(given):
        return pa.string()
    if pa.types.is_binary(given) or pa.types.is_large_binary(given) or pa.types.is_fixed_size_binary(given):
        return pa.binary()
    if pa.types.is_binary_view(given):
        return pa.binary()
    if pa.types.is_timestamp(given):
        return TIMESTAMP
    if pa.types.is_date(given):
        return pa.date32()
    if pa.types.is_float16(given):
        return pa.float32()
    if pa.types.is_decimal(given):
        fits = 0 <= given.scale <= given.precision <= 38
        return pa.decimal128(given.precision, given.scale) if fits else None
    if given in _SIGNED or given in (pa.float32(), pa.float64(), pa.bool_()):
        return given
    if is_list(given):
        item = stored_type(given.value_type)
        return pa.list_(pa.field("element", item)) if item else None
    if pa.types.is_struct(given):
        fields = [(f.name, stored_type(f.type)) for f in given]
        return (
            pa.struct([pa.field(n, t) for n, t in fields]) if fields and all(t for _, t in fields) else None
        )
    if pa.types.is_map(given):
        key, value = stored_type(given.key_type), stored_type(given.item_type)
        return pa.map_(key, value) if key and value else None
    return None


def extension(field: pa.Field) -> str | None:
    """The name of the extension type of a field, or of one in it; also of a type that is not known here."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    name = (field.metadata or {}).get(b"ARROW:extension:name")
    if name is not None:
        return str(name, errors="replace")
    inner = (field.type.field(i) for i in range(field.type.num_fields))
    return next((name for name in map(extension, inner) if name is not None), None)


def check_fields(where: str, schema: pa.Schema) -> None:
    """Check the names of the fields of structs, however deep, and that they are not too deep.

    Raises:
        InvalidName: empty, or with characters that cannot be printed. NameClash: equal, or different by case alone.
        SchemaMismatch: types in types in more levels than the formats of tables take.
    """
    nested = [(field.name, field.type, 0) for field in schema]
    while nested:
        path, kind, level = nested.pop()
        if level > _MOST_LEVELS:
            column = path.split(".")[0]
            raise SchemaMismatch(
                f"{where}: column {column!r} is nested in more than {_MOST_LEVELS} levels",
                details={"column": column},
            )
        fields = [kind.field(i) for i in range(kind.num_fields)]
        nested += [(f"{path}.{field.name}", field.type, level + 1) for field in fields]
        if not pa.types.is_struct(kind):
            continue
        names = [field.name for field in fields]
        for name in names:
            if not name or not name.isprintable():
                raise InvalidName(f"{where}: {path!r} has a field named {name!r}, which cannot be stored")
        if len({name.casefold() for name in names}) < len(names):
            raise NameClash(
                f"{where}: fields of {path!r} are equal, or differ by case alone: {', '.join(names)}"
            )


def fits(given: pa.DataType, stored: pa.DataType) -> bool:
    """True if values of `given` can be written into a stored column of type `stored`.

    Numbers of one kind go into any width, because a list of dicts has one width alone: those that are too large, or
    have more decimals, are refused one by one. Only floats are rounded, where the column has fewer digits.
    Fields that a struct lacks are null there.
    """
    kept = stored_type(given)
    if pa.types.is_null(given) or kept == stored:
        return True
    if pa.types.is_timestamp(given) and pa.types.is_timestamp(stored):
        return True  # tables of others may have times without a zone, which are UTC
    if is_list(given) and is_list(stored):
        return fits(given.value_type, stored.value_type)
    if pa.types.is_struct(given) and pa.types.is_struct(stored):
        fields = {field.name: field.type for field in stored}
        return all(field.name in fields and fits(field.type, fields[field.name]) for field in given)
    if kept is None:
        return False
    if pa.types.is_integer(kept):
        return bool(
            pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored)
        )
    if pa.types.is_floating(kept):
        return bool(pa.types.is_floating(stored))
    return bool(pa.types.is_decimal(kept) and pa.types.is_decimal(stored))


def without_views(kind: pa.DataType) -> pa.DataType:
    """The type with every string and binary view in it as an array, for what Arrow cannot do with views."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(without_views(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(without_views(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(without_views(f.type)) for f in kind])
    return kind


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """What `decoded` makes of a type."""
    return without_views(kind.value_type) if pa.types.is_dictionary(kind) else kind


def decoded(column: pa.Array) -> pa.Array:
    """A dictionary's values in its place; any other column as it is."""
    if not pa.types.is_dictionary(column.type):
        return column
    values = column.dictionary.cast(decoded_type(column.type))
    return pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()


def is_wider(kind: pa.DataType, than: pa.DataType) -> bool:
    """Whether every value of one stored type is one of the other, which is another."""
    if pa.types.is_integer(than):
        if pa.types.is_integer(kind):
            return bool(kind.bit_width > than.bit_width)
        if pa.types.is_floating(kind):
            # As many bits as the fraction of the float has, and the one that is never written.
            return bool(than.bit_width - 1 <= {32: 24, 64: 53}.get(kind.bit_width, 0))
        return bool(
            pa.types.is_decimal(kind) and kind.precision - kind.scale >= len(str(1 << (than.bit_width - 1)))
        )
    if pa.types.is_floating(than):
        return bool(pa.types.is_floating(kind) and kind.bit_width > than.bit_width)
    if pa.types.is_decimal(than) and pa.types.is_decimal(kind):
        digits, others = kind.precision - kind.scale, than.precision - than.scale
        return bool(kind != than and kind.scale >= than.scale and digits >= others)
    return False


def merged_schema(schemas: Sequence[pa.Schema]) -> pa.Schema | None:
    """The columns of all, the oldest schema first, in the order of the newest and their widest types; None of none."""
    if len(schemas) < 2:
        return schemas[0] if schemas else None
    fields: dict[str, pa.Field] = {}
    for field in itertools.chain.from_iterable(reversed(schemas)):
        known = fields.get(field.name)
        if known is None or is_wider(field.type, known.type):
            fields[field.name] = field
    return pa.schema(fields.values())


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The columns with their values in the place of dictionaries, and arrays in the place of views."""
    return pa.schema([field.with_type(without_views(decoded_type(field.type))) for field in schema])


def plain_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of its `plain_schema`."""
    columns = [decoded(column).cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def key_family(kind: pa.DataType) -> str | None:
    """Keys of one family compare with each other; None cannot be a key.

    Integer widths are alike and so are string encodings; nothing else is, because a database that compares
    `1` with `'1'` or `1.0` does so by a rule that the next one does not share.
    """
    if pa.types.is_dictionary(kind):
        return key_family(kind.value_type)
    if pa.types.is_integer(kind):
        return "integer"
    if is_string(kind):
        return "string"
    if pa.types.is_boolean(kind):
        return "bool"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_decimal(kind):
        return f"decimal with {kind.scale} decimals"
    if stored_type(kind) == pa.binary():
        return "binary"
    return None
