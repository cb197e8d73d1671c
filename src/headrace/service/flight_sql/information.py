"""What a service tells of itself and its SQL.

Source: `SqlInfo` and `CommandGetXdbcTypeInfo` in Arrow's `FlightSql.proto`, whose numbers these are.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import version

import pyarrow as pa

from headrace.planning.sql_check import FUNCTIONS

_STRING, _BOOL, _INT64, _INT32, _LIST = range(5)
_VALUE = pa.dense_union(
    [
        pa.field("string_value", pa.string()),
        pa.field("bool_value", pa.bool_()),
        pa.field("bigint_value", pa.int64()),
        pa.field("int32_bitmask", pa.int32()),
        pa.field("string_list", pa.list_(pa.string())),
        pa.field("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
    ]
)
SQL_INFO = pa.schema([pa.field("info_name", pa.uint32(), False), pa.field("value", _VALUE, False)])
XDBC_TYPES = pa.schema(
    [
        pa.field("type_name", pa.string(), False),
        pa.field("data_type", pa.int32(), False),
        pa.field("column_size", pa.int32()),
        pa.field("literal_prefix", pa.string()),
        pa.field("literal_suffix", pa.string()),
        pa.field("create_params", pa.list_(pa.field("item", pa.string(), False))),
        pa.field("nullable", pa.int32(), False),
        pa.field("case_sensitive", pa.bool_(), False),
        pa.field("searchable", pa.int32(), False),
        pa.field("unsigned_attribute", pa.bool_()),
        pa.field("fixed_prec_scale", pa.bool_(), False),
        pa.field("auto_increment", pa.bool_()),
        pa.field("local_type_name", pa.string()),
        pa.field("minimum_scale", pa.int32()),
        pa.field("maximum_scale", pa.int32()),
        pa.field("sql_data_type", pa.int32(), False),
        pa.field("datetime_subcode", pa.int32()),
        pa.field("num_prec_radix", pa.int32()),
        pa.field("interval_precision", pa.int32()),
    ]
)
STATEMENT_LIFETIME_S = 24 * 3600
_NUMERIC = "abs ceil floor greatest least ln log log10 mod pi pow round sign sqrt trunc"
_TEXT = "concat contains length lower ltrim regexp_matches replace rtrim starts_with substring trim upper"
_TIME = "date_diff date_part date_trunc day epoch hour last_day minute month second strftime strptime time_bucket year"
_KEYWORDS = "ASOF ANTI AT EXCLUDE PIVOT QUALIFY SEMI VERSION"

_INFO: dict[int, tuple[int, object]] = {
    0: (_STRING, "Headrace"),
    1: (_STRING, version("headrace")),
    2: (_STRING, pa.__version__),
    3: (_BOOL, False),  # rows can be appended
    4: (_BOOL, True),
    5: (_BOOL, False),  # Substrait
    8: (_INT32, 0),  # transactions
    9: (_BOOL, True),  # cancelling
    100: (_INT32, STATEMENT_LIFETIME_S * 1000),
    **dict.fromkeys((500, 501, 502), (_BOOL, False)),  # DDL
    503: (_INT32, 1),  # names are compared without case
    504: (_STRING, '"'),
    505: (_INT32, 1),
    506: (_BOOL, True),
    507: (_INT32, 3),  # nulls come last
    508: (_LIST, _KEYWORDS.split()),
    509: (_LIST, [name for name in _NUMERIC.split() if name in FUNCTIONS]),
    510: (_LIST, [name for name in _TEXT.split() if name in FUNCTIONS]),
    511: (_LIST, []),
    512: (_LIST, [name for name in _TIME.split() if name in FUNCTIONS]),
    513: (_STRING, "\\"),
    514: (_STRING, ""),
    515: (_BOOL, True),
    516: (_BOOL, True),
    518: (_BOOL, True),
    519: (_BOOL, False),
    520: (_BOOL, True),
    521: (_BOOL, True),
    522: (_INT32, 0b11),
    523: (_BOOL, False),
    524: (_BOOL, False),
    525: (_INT32, 0b11),
    526: (_INT32, 0b1),
    527: (_BOOL, False),
    528: (_INT32, 2),
    529: (_STRING, "project"),
    530: (_STRING, "procedure"),
    531: (_STRING, "catalog"),
    532: (_BOOL, True),
    533: (_INT32, 0),
    534: (_INT32, 0),
    535: (_INT32, 0),
    536: (_BOOL, False),
    537: (_BOOL, False),
    538: (_INT32, 0b1111),
    539: (_BOOL, True),
    540: (_INT32, 0b11),
    **{number: (_INT64, 0) for number in range(541, 562) if number != 556},  # no limit is told
    556: (_BOOL, False),
    562: (_INT32, 0),
    563: (_BOOL, False),
    564: (_INT32, 0b1),
    565: (_BOOL, False),
    566: (_BOOL, True),
    567: (_INT32, 0b10),
    568: (_INT32, 0),
    569: (_INT32, 0b10),
    570: (_INT32, 0),
    571: (_INT32, 0),
    **dict.fromkeys(range(572, 577), (_BOOL, False)),
}


def sql_info(wanted: Collection[int]) -> pa.Table:
    """What is wanted, of what is known; all if nothing is named."""
    names = [name for name in _INFO if not wanted or name in wanted]
    held: list[list[object]] = [[] for _ in range(_VALUE.num_fields)]
    kinds, offsets = [], []
    for name in names:
        kind, value = _INFO[name]
        kinds.append(kind)
        offsets.append(len(held[kind]))
        held[kind].append(value)
    fields = [_VALUE.field(number) for number in range(_VALUE.num_fields)]
    values = pa.UnionArray.from_dense(
        pa.array(kinds, pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(items, field.type) for items, field in zip(held, fields, strict=True)],
        [field.name for field in fields],
    )
    return pa.table([pa.array(names, pa.uint32()), values], SQL_INFO)


# By name: the number that JDBC and ODBC have for it, the largest size, what stands around a literal, the radix.
_TYPES: dict[str, tuple[int, int | None, str | None, int | None]] = {
    "BIGINT": (-5, 19, None, 10),
    "BLOB": (-3, None, "'", None),
    "BOOLEAN": (-7, 1, None, None),
    "DATE": (91, 10, "'", None),
    "DECIMAL": (3, 38, None, 10),
    "DOUBLE": (8, 53, None, 2),
    "INTEGER": (4, 10, None, 10),
    "REAL": (7, 24, None, 2),
    "SMALLINT": (5, 5, None, 10),
    "TIMESTAMP": (93, 26, "'", None),
    "TIMESTAMP WITH TIME ZONE": (2014, 32, "'", None),
    "TINYINT": (-6, 3, None, 10),
    "VARCHAR": (12, None, "'", None),
}
_NULLABLE = 1
_SEARCHABLE = 3
_DATETIME = 9
_SUBCODES = {"DATE": 1, "TIMESTAMP": 3, "TIMESTAMP WITH TIME ZONE": 5}


def xdbc_types(wanted: int | None) -> pa.Table:
    """The types of columns, by number and name."""
    rows = []
    for name, (number, size, quote, radix) in sorted(_TYPES.items(), key=lambda item: (item[1][0], item[0])):
        if wanted not in (None, number):
            continue
        rows.append(
            {
                "type_name": name,
                "data_type": number,
                "column_size": size,
                "literal_prefix": quote,
                "literal_suffix": quote,
                "create_params": ["precision", "scale"] if name == "DECIMAL" else None,
                "nullable": _NULLABLE,
                "case_sensitive": name == "VARCHAR",
                "searchable": _SEARCHABLE,
                "unsigned_attribute": None if radix is None else False,
                "fixed_prec_scale": False,
                "auto_increment": None if radix is None else False,
                "local_type_name": name,
                "minimum_scale": 0 if name == "DECIMAL" else None,
                "maximum_scale": 38 if name == "DECIMAL" else None,
                "sql_data_type": _DATETIME if name in _SUBCODES else number,
                "datetime_subcode": _SUBCODES.get(name),
                "num_prec_radix": radix,
                "interval_precision": None,
            }
        )
    return pa.Table.from_pylist(rows, XDBC_TYPES)
