"""Why a query in SQL does not fit its tables, in the words of who asks it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import pyarrow as pa

from headrace.engine.failure import is_of_absent_column
from headrace.errors import HeadraceError, SqlRejected
from headrace.model.expression_sql import identifier
from headrace.planning.sql_check import CheckedQuery, SqlTable

# Columns by their looks: where there is none of the name, the engine calls these functions, which macros hide.
_HIDDEN = """
current_catalog current_date current_localtime current_localtimestamp current_role current_schema current_time
current_timestamp current_user get_current_time get_current_timestamp localtime localtimestamp session_user user"""
_WHY_HIDDEN = "the clock and the user have no place in a query"
_MARK = "__headrace_hidden"
_SHOWN = 20


def _macros(parameters: str, body: str) -> str:
    return ";".join(
        f"CREATE TEMP MACRO {identifier(name)}({parameters}) AS {body}" for name in _HIDDEN.split()
    )


NOT_CALLED = _macros("", f"error('{_WHY_HIDDEN}')")
"""Statements after which such calls fail when they are made."""
NOT_NAMED = _macros(_MARK, _MARK)
"""Statements after which queries with such calls have no columns, since the calls lack an argument."""


@contextlib.contextmanager
def explained(schemas: Mapping[SqlTable, pa.Schema]) -> Iterator[None]:
    """Around what tells the columns of a query of these tables, in a session that runs `NOT_NAMED`."""
    try:
        yield
    except SqlRejected as error:
        if _MARK in str(error.__cause__):
            raise SqlRejected(_WHY_HIDDEN, hint="give what they would tell as a parameter") from None
        if not is_of_absent_column(error.__cause__):
            raise
        there = sorted({f"{table.named} has {_some(schema.names)}" for table, schema in schemas.items()})
        raise SqlRejected(error.message, hint="; ".join(there) or None) from None


@contextlib.contextmanager
def naming(query: CheckedQuery) -> Iterator[None]:
    """Errors tell which tables the query names, for whoever keeps a record of what was asked for."""
    try:
        yield
    except HeadraceError as error:
        error.details["tables"] = list(dict.fromkeys(table.named for table in query.tables))
        raise


def _some(names: list[str]) -> str:
    return ", ".join([*names[:_SHOWN], *(["…"] if len(names) > _SHOWN else [])])
