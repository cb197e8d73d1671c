"""The messages of Flight SQL, and what of Flight's own is not in pyarrow.

Source: Arrow's `FlightSql.proto` and `Flight.proto`. Only what is read or written here is named: what else a client
sends is passed over, as Protocol Buffers have it.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import DecodeError, Message

from headrace.errors import InvalidArgument, Unsupported

_PACKAGE = "arrow.flight.protocol.sql"
_PREFIX = f"type.googleapis.com/{_PACKAGE}."
_TABLE = {"catalog": (1, "string"), "db_schema": (2, "string"), "table": (3, "string")}
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "CommandStatementQuery": {"query": (1, "string"), "transaction_id": (2, "bytes")},
    "CommandStatementUpdate": {"query": (1, "string")},
    "CommandStatementIngest": {
        "definition": (1, "TableDefinition"),
        "table": (2, "string"),
        "schema": (3, "string"),
        "catalog": (4, "string"),
        "temporary": (5, "bool"),
        "transaction_id": (6, "bytes"),
        "options": (1000, "Option*"),
    },
    "TableDefinition": {"if_not_exist": (1, "int32"), "if_exists": (2, "int32")},
    "Option": {"key": (1, "string"), "value": (2, "string")},
    "CommandPreparedStatementQuery": {"prepared_statement_handle": (1, "bytes")},
    "CommandPreparedStatementUpdate": {"prepared_statement_handle": (1, "bytes")},
    "CommandGetCatalogs": {},
    "CommandGetDbSchemas": {"catalog": (1, "string"), "db_schema_filter_pattern": (2, "string")},
    "CommandGetTables": {
        "catalog": (1, "string"),
        "db_schema_filter_pattern": (2, "string"),
        "table_name_filter_pattern": (3, "string"),
        "table_types": (4, "string*"),
        "include_schema": (5, "bool"),
    },
    "CommandGetTableTypes": {},
    "CommandGetPrimaryKeys": _TABLE,
    "CommandGetExportedKeys": _TABLE,
    "CommandGetImportedKeys": _TABLE,
    "CommandGetCrossReference": {},
    "CommandGetSqlInfo": {"info": (1, "uint32*")},
    "CommandGetXdbcTypeInfo": {"data_type": (1, "int32")},
    "ActionCreatePreparedStatementRequest": {"query": (1, "string"), "transaction_id": (2, "bytes")},
    "ActionCreatePreparedStatementResult": {
        "prepared_statement_handle": (1, "bytes"),
        "dataset_schema": (2, "bytes"),
        "parameter_schema": (3, "bytes"),
    },
    "ActionClosePreparedStatementRequest": {"prepared_statement_handle": (1, "bytes")},
    "ActionCancelQueryRequest": {"info": (1, "bytes")},
    "ActionCancelQueryResult": {"result": (1, "int32")},
    "DoPutUpdateResult": {"record_count": (1, "int64")},
    "DoPutPreparedStatementResult": {"prepared_statement_handle": (1, "bytes")},
    # Flight's own: not wrapped, and of another package, which does not show on the wire.
    "CancelFlightInfoRequest": {"info": (1, "bytes")},
    "CancelFlightInfoResult": {"status": (1, "int32")},
    "CloseSessionResult": {"status": (1, "int32")},
}


def _classes() -> dict[str, type[Message]]:
    """In a pool of their own: another module of the program may know the same messages."""
    field = descriptor_pb2.FieldDescriptorProto
    scalars = {
        "string": field.TYPE_STRING,
        "bytes": field.TYPE_BYTES,
        "bool": field.TYPE_BOOL,
        "int32": field.TYPE_INT32,
        "int64": field.TYPE_INT64,
        "uint32": field.TYPE_UINT32,
    }
    # Of the second edition each field tells whether it was sent.
    file = descriptor_pb2.FileDescriptorProto(
        name="headrace/flight_sql.proto", package=_PACKAGE, syntax="proto2"
    )
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for label, (number, kind) in fields.items():
            repeated = field.LABEL_REPEATED if kind.endswith("*") else field.LABEL_OPTIONAL
            kind = kind.removesuffix("*")
            if kind in scalars:
                message.field.add(name=label, number=number, label=repeated, type=scalars[kind])
            else:
                message.field.add(
                    name=label,
                    number=number,
                    label=repeated,
                    type=field.TYPE_MESSAGE,
                    type_name=f".{_PACKAGE}.{kind}",
                )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        n: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in _MESSAGES
    }


_CLASSES = _classes()


def is_wrapped(body: bytes | None) -> bool:
    """Whether it is a message of Flight SQL: what Headrace's own clients send is JSON."""
    return bool(body) and body[:1] != b"{" and _PREFIX.encode() in body[:64]  # type: ignore[index]


def unwrapped(body: bytes) -> tuple[str, Any]:
    """The name of a message in an `Any`, and the message.

    Raises:
        InvalidArgument: it cannot be read. Unsupported: it is none that is known.
    """
    wrapped = AnyMessage()
    try:
        wrapped.ParseFromString(body)
    except DecodeError as error:
        raise InvalidArgument(f"the request cannot be read: {error}") from None
    if not wrapped.type_url.startswith(_PREFIX):
        raise InvalidArgument("the request is no message of Flight SQL")
    name = wrapped.type_url.removeprefix(_PREFIX)
    if name not in _MESSAGES:
        raise Unsupported(f"the service does not know {name[:100]!r} of Flight SQL")
    return name, read(name, wrapped.value)


def read(name: str, body: bytes) -> Any:
    """A message. Raises InvalidArgument."""
    message = _CLASSES[name]()
    try:
        message.ParseFromString(body)
        _check_text(message)
    except (DecodeError, UnicodeDecodeError, ValueError) as error:
        raise InvalidArgument(f"the request cannot be read as {name}: {error}") from None
    return message


def _check_text(message: Any) -> None:
    """Raises ValueError if a text in it is none: the library gives its bytes then."""
    for field, value in message.ListFields():
        for one in value if field.is_repeated else [value]:
            if isinstance(one, Message):
                _check_text(one)
            elif field.type == field.TYPE_STRING and isinstance(one, bytes):
                raise ValueError(f"{field.name} is no text")


def written(name: str, **fields: object) -> bytes:
    """A message, not wrapped."""
    message: bytes = _CLASSES[name](**fields).SerializeToString()
    return message


def wrapped(name: str, **fields: object) -> bytes:
    """A message in an `Any`."""
    message: bytes = AnyMessage(type_url=_PREFIX + name, value=written(name, **fields)).SerializeToString()
    return message
