"""What there is to ask for: projects as schemas, feature groups and views as tables.

Source: the commands for metadata in Arrow's `FlightSql.proto`, whose schemas these are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from headrace.errors import HeadraceError
from headrace.formats.duckdb_type import duckdb_type
from headrace.model.definition import GroupDefinition, ViewDefinition, read_schema
from headrace.model.request import ReadRequest
from headrace.planning.sql_check import CATALOG
from headrace.service.flight_sql.information import SQL_INFO, XDBC_TYPES, sql_info, xdbc_types
from headrace.service.flight_sql.like import LikePattern
from headrace.service.project import ProjectStore

_CATALOG_NAME = pa.field("catalog_name", pa.string())
_SCHEMA_NAME = pa.field("db_schema_name", pa.string())
CATALOGS = pa.schema([pa.field("catalog_name", pa.string(), False)])
DB_SCHEMAS = pa.schema([_CATALOG_NAME, pa.field("db_schema_name", pa.string(), False)])
TABLE_TYPES = pa.schema([pa.field("table_type", pa.string(), False)])
TABLES = pa.schema(
    [
        _CATALOG_NAME,
        _SCHEMA_NAME,
        pa.field("table_name", pa.string(), False),
        pa.field("table_type", pa.string(), False),
    ]
)
TABLES_WITH_SCHEMAS = TABLES.append(pa.field("table_schema", pa.binary(), False))
PRIMARY_KEYS = pa.schema(
    [
        _CATALOG_NAME,
        _SCHEMA_NAME,
        pa.field("table_name", pa.string(), False),
        pa.field("column_name", pa.string(), False),
        pa.field("key_name", pa.string()),
        pa.field("key_sequence", pa.int32(), False),
    ]
)
FOREIGN_KEYS = pa.schema(
    [
        *(
            pa.field(f"{side}_{name}", pa.string(), not needed)
            for side in ("pk", "fk")
            for name, needed in (
                ("catalog_name", False),
                ("db_schema_name", False),
                ("table_name", True),
                ("column_name", True),
            )
        ),
        pa.field("key_sequence", pa.int32(), False),
        pa.field("fk_key_name", pa.string()),
        pa.field("pk_key_name", pa.string()),
        pa.field("update_rule", pa.uint8(), False),
        pa.field("delete_rule", pa.uint8(), False),
    ]
)
_GROUP, _VIEW = "TABLE", "VIEW"
_FIELD = "ARROW:FLIGHT:SQL:"

_Definition = TypeVar("_Definition", GroupDefinition, ViewDefinition)


class _Table(NamedTuple):
    project: str
    name: str
    kind: str
    keys: tuple[str, ...]
    schema: Callable[[], pa.Schema]


class Catalog:
    """What one caller may ask for.

    Args:
        projects: the names of the projects of which they see something.
        project: gives one of them, for the caller.
    """

    def __init__(self, projects: Callable[[], list[str]], project: Callable[[str], ProjectStore]) -> None:
        self._projects = projects
        self._project = project

    def schema(self, name: str, command: Any) -> pa.Schema | None:
        """The columns of the answer to a command; None if it asks for no metadata."""
        match name:
            case "CommandGetCatalogs":
                return CATALOGS
            case "CommandGetDbSchemas":
                return DB_SCHEMAS
            case "CommandGetTableTypes":
                return TABLE_TYPES
            case "CommandGetTables":
                return TABLES_WITH_SCHEMAS if command.include_schema else TABLES
            case "CommandGetPrimaryKeys":
                return PRIMARY_KEYS
            case "CommandGetExportedKeys" | "CommandGetImportedKeys" | "CommandGetCrossReference":
                return FOREIGN_KEYS
            case "CommandGetSqlInfo":
                return SQL_INFO
            case "CommandGetXdbcTypeInfo":
                return XDBC_TYPES
        return None

    def rows(self, name: str, command: Any) -> pa.Table:
        """The answer to a command for metadata."""
        match name:
            case "CommandGetCatalogs":
                return pa.table([[CATALOG]], CATALOGS)
            case "CommandGetDbSchemas":
                found = self._schemas(command)
                return pa.table([[CATALOG] * len(found), found], DB_SCHEMAS)
            case "CommandGetTableTypes":
                return pa.table([[_GROUP, _VIEW]], TABLE_TYPES)
            case "CommandGetTables":
                return self._tables(command)
            case "CommandGetPrimaryKeys":
                return self._primary_keys(command)
            case "CommandGetSqlInfo":
                return sql_info(command.info)
            case "CommandGetXdbcTypeInfo":
                return xdbc_types(command.data_type if command.HasField("data_type") else None)
        return FOREIGN_KEYS.empty_table()

    def _schemas(self, command: Any) -> list[str]:
        if command.HasField("catalog") and command.catalog != CATALOG:
            return []
        pattern = _like(command, "db_schema_filter_pattern")
        return [name for name in self._projects() if pattern.matches(name)]

    def _tables(self, command: Any) -> pa.Table:
        pattern = _like(command, "table_name_filter_pattern")
        kinds = set(command.table_types) or {_GROUP, _VIEW}
        rows = []
        for project in self._schemas(command):
            for table in self._of_project(project):
                if table.kind not in kinds or not pattern.matches(table.name):
                    continue
                row: list[object] = [CATALOG, project, table.name, table.kind]
                if command.include_schema:
                    row.append(_described(table).serialize().to_pybytes())
                rows.append(row)
        return _table(rows, TABLES_WITH_SCHEMAS if command.include_schema else TABLES)

    def _primary_keys(self, command: Any) -> pa.Table:
        if command.HasField("catalog") and command.catalog != CATALOG:
            return PRIMARY_KEYS.empty_table()
        rows: list[list[object]] = [
            [CATALOG, project, table.name, column, None, number]
            for project in self._projects()
            if not command.HasField("db_schema") or project == command.db_schema
            for table in self._of_project(project)
            if table.name == command.table
            for number, column in enumerate(table.keys, 1)
        ]
        return _table(rows, PRIMARY_KEYS)

    def _of_project(self, project: str) -> list[_Table]:
        """By name. A view that is named like a group is found by no query."""
        store = self._project(project)
        views = (
            _Table(project, name, _VIEW, (), _view_schema(store, view.ref))
            for name, view in _named(store.definitions.list_views(None, {}))
        )
        groups = (
            _Table(project, name, _GROUP, group.primary_key, _group_schema(store, group.name, group.version))
            for name, group in _named(store.definitions.list_groups(None, {}))
        )
        found = {table.name: table for table in itertools.chain(views, groups)}
        return [found[name] for name in sorted(found)]


def _named(definitions: list[_Definition]) -> Iterator[tuple[str, _Definition]]:
    """Each by its name alone if it is the newest version, else by its reference."""
    newest = {definition.name: definition.version for definition in definitions}
    for definition in definitions:
        is_newest = definition.version == newest[definition.name]
        yield definition.name if is_newest else definition.ref, definition


def _group_schema(store: ProjectStore, name: str, version: int) -> Callable[[], pa.Schema]:
    def schema() -> pa.Schema:
        return store.get_group(name, version).schema or pa.schema([])

    return schema


def _view_schema(store: ProjectStore, ref: str) -> Callable[[], pa.Schema]:
    def schema() -> pa.Schema:
        return read_schema(store.prepare(ReadRequest(kind="training", view=ref)).schema_ipc)

    return schema


def _described(table: _Table) -> pa.Schema:
    """Its columns, with what Flight SQL tells of each. One that cannot be read hides no others."""
    try:
        schema = table.schema()
    except HeadraceError:
        return pa.schema([])
    return pa.schema([field.with_metadata(_told(table, field)) for field in schema])


def _told(table: _Table, field: pa.Field) -> dict[str, str]:
    told = {
        "CATALOG_NAME": CATALOG,
        "DB_SCHEMA_NAME": table.project,
        "TABLE_NAME": table.name,
        "TYPE_NAME": duckdb_type(field.type),
        "IS_AUTO_INCREMENT": "0",
        "IS_CASE_SENSITIVE": "1" if pa.types.is_string(field.type) else "0",
        "IS_READ_ONLY": "0" if table.kind == _GROUP else "1",
        "IS_SEARCHABLE": "1",
    }
    if pa.types.is_decimal(field.type):
        told |= {"PRECISION": str(field.type.precision), "SCALE": str(field.type.scale)}
    return {_FIELD + name: value for name, value in told.items()}


def _like(command: Any, field: str) -> LikePattern:
    """By default all."""
    return LikePattern(getattr(command, field) if command.HasField(field) else "%")


def _table(rows: list[list[object]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.table([pa.array(list(c), f.type) for c, f in zip(columns, schema, strict=True)], schema)
