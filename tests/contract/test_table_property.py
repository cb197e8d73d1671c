"""Random inserts and deletes of one feature group, read back in every way, against a list of rows."""

from __future__ import annotations

import dataclasses
from typing import Any
from unittest import mock

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import headrace as hr
from contract.cases import ODD_NAMES, PLAIN_NAMES, Chooser, Stored, condition_on, group_of
from contract.driver import column_of, plain, write
from headrace.service import upserting
from reference.condition import Condition, holds
from reference.point_in_time import Ambiguous, latest
from reference.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:.*min_age:UserWarning")
EXAMPLES = hypothesis.settings.default.max_examples


@dataclasses.dataclass
class History:
    group: Stored
    deletes: list[tuple[str, Any]]
    """("filter", condition), or ("keys", rows with the key columns, or those and the event time)."""
    filters: list[Condition]
    columns: list[str]


@st.composite
def histories(draw: st.DrawFn) -> History:
    choose = Chooser(draw)
    group = group_of(choose, "g", ODD_NAMES if choose.rarely(2) else PLAIN_NAMES, root=choose.rarely(2))
    table = group.table
    deletes: list[tuple[str, Any]] = []
    for _ in range(choose.count(0, 2)):
        doomed = choose.some(table.rows, 0, 2) if table.key else []
        if doomed and choose.rarely(2):
            names = [*table.key, *([table.event_time] if table.event_time and choose.rarely(2) else [])]
            deletes.append(("keys", [{name: row[name] for name in names} for row in doomed]))
        else:
            deletes.append(("filter", condition_on(choose, group.types)))
    filters = [condition_on(choose, group.types) for _ in range(3)]
    return History(group, deletes, filters, choose.some(table.columns, 1, 4))


def check(store: hr.FeatureStore, history: History) -> None:
    table = history.group.table
    group, commits = write(store, history.group)
    for commit, (mode, rows), there in zip(commits, history.group.writes, table.states, strict=False):
        check_counts(commit, table, mode, rows, there)
    for kind, what in history.deletes:
        if kind == "filter":
            dropped = table.delete(lambda row, what=what: holds(what, row))
            commit = group.delete(filter=column_of(what, group))
        else:
            dropped = table.delete(lambda row, what=what: any(row.items() >= keys.items() for keys in what))
            schema = pa.schema([(name, history.group.types[name]) for name in what[0]])
            commit = group.delete(keys=pa.Table.from_pylist(what, schema))
        assert (commit.rows_deleted or 0) == dropped
        commits.append(commit)
    for commit, rows in zip(commits, table.states[1:], strict=True):
        compare(group.read(snapshot=commit.snapshot), rows, table.columns)
    for condition in history.filters:
        matching = [row for row in table.rows if holds(condition, row)]
        compare(group.read(history.columns, column_of(condition, group)), matching, history.columns)
        result = group.read(history.columns, column_of(condition, group), latest=True)
        try:
            expected = latest(table, matching, history.columns)
        except Ambiguous:
            with pytest.raises(hr.AmbiguousRows):
                result.to_arrow()
        else:
            compare(result, expected, history.columns)


def check_counts(
    commit: hr.Commit, table: Table, mode: str, rows: list[dict[str, Any]], there: list[dict[str, Any]]
) -> None:
    identities = {table.identity(row) for row in there}
    if mode == "upsert" and len(identities) < len(there):
        return  # one row in the place of several has no agreed count
    updated = sum(table.identity(row) in identities for row in rows) if mode == "upsert" else 0
    assert (commit.rows_inserted, commit.rows_updated or 0) == (len(rows) - updated, updated)


def compare(result: hr.Result, rows: list[dict[str, Any]], columns: list[str]) -> None:
    found = result.to_arrow()
    assert found.schema.names == columns
    told = sorted(repr([plain(row[name]) for name in columns]) for row in found.to_pylist())
    assert told == sorted(repr([plain(row[name]) for name in columns]) for row in rows)


@hypothesis.settings(max_examples=max(EXAMPLES // 4, 50))
@hypothesis.given(histories(), st.sampled_from([0, 100]))
def test_tables_hold_what_was_written(embedded_store, history: History, few: int):
    with mock.patch.object(upserting, "_FEW_ROWS", few):  # merged or exchanged
        check(embedded_store, history)


@hypothesis.settings(max_examples=max(EXAMPLES // 20, 10))
@hypothesis.given(histories())
def test_tables_hold_what_was_written_remote(remote_store, history: History):
    check(remote_store, history)
