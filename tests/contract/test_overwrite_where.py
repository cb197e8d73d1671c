"""Overwriting a part of a group: exactly the rows of the filter go, and only such rows come."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from conftest import fresh
from contract.helpers import Unchanged, rows

SCHEMA = pa.schema({"id": pa.int64(), "day": pa.date32(), "x": pa.float64()})


def day(number: int) -> dt.date:
    return dt.date(2026, 1, number)


def frame(*given) -> pa.Table:
    return pa.Table.from_pylist([{"id": i, "day": day(d), "x": x} for i, d, x in given], SCHEMA)


def held(group):
    return sorted((r["id"], r["day"].day, r["x"]) for r in rows(group.read()))


@pytest.fixture(params=[(), ("day",)], ids=["whole", "partitioned"])
def group(store, request):
    made = store.create_feature_group("days", primary_key=["id"], partition_by=request.param, schema=SCHEMA)
    made.insert(frame((1, 1, 1.0), (2, 1, 2.0), (3, 2, 3.0), (4, 3, 4.0)))
    return made


class TestOverwritten:
    def test_the_rows_of_the_filter(self, group):
        commit = group.insert(
            frame((2, 1, 20.0), (5, 1, 5.0)), mode="overwrite", filter=group["day"] == day(1)
        )
        assert held(group) == [(2, 1, 20.0), (3, 2, 3.0), (4, 3, 4.0), (5, 1, 5.0)]
        assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (1, 1, 1)

    def test_by_any_column(self, group):
        group.insert(frame((9, 9, 2.5)), mode="overwrite", filter=(group["x"] >= 2) & (group["x"] < 4))
        assert held(group) == [(1, 1, 1.0), (4, 3, 4.0), (9, 9, 2.5)]

    def test_where_nothing_was(self, group):
        commit = group.insert(frame((7, 7, 7.0)), mode="overwrite", filter=group["day"] == day(7))
        assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (1, 0, 0)
        assert len(held(group)) == 5

    def test_by_nothing(self, group):
        commit = group.insert(frame(), mode="overwrite", filter=group["day"] == day(1))
        assert (commit.rows_inserted, commit.rows_updated, commit.rows_deleted) == (0, 0, 2)
        assert held(group) == [(3, 2, 3.0), (4, 3, 4.0)]
        assert group.insert(frame(), mode="overwrite", filter=group["day"] == day(1)).operation == "NONE"

    def test_changes_tell_it(self, group):
        group.insert(frame((2, 1, 20.0), (5, 1, 5.0)), mode="overwrite", filter=group["day"] == day(1))
        told = sorted((r["id"], r["_change_type"], r["x"]) for r in rows(group.changes(1)))
        assert told == [
            (1, "delete", 1.0),
            (2, "update_postimage", 20.0),
            (2, "update_preimage", 2.0),
            (5, "insert", 5.0),
        ]

    def test_the_first_rows(self, store):
        group = store.create_feature_group("new", primary_key=["id"], schema=SCHEMA)
        group.insert(frame((1, 1, 1.0)), mode="overwrite", filter=group["day"] == day(1))
        assert held(group) == [(1, 1, 1.0)]

    def test_once_by_a_key(self, group):
        options = {"mode": "overwrite", "filter": group["day"] == day(1), "idempotency_key": "k"}
        first = group.insert(frame((2, 1, 20.0)), **options)
        assert group.insert(frame((2, 1, 21.0)), **options) == first
        assert (2, 1, 20.0) in held(group)

    def test_many_rows(self, group):
        many = pa.table({"id": range(10, 5000), "day": [day(1)] * 4990, "x": [0.5] * 4990}).cast(SCHEMA)
        group.insert(many, mode="overwrite", filter=group["day"] <= day(1))
        assert len(held(group)) == 4992
        group.insert(frame((1, 1, 1.0)), mode="overwrite", filter=group["day"] <= day(1))
        assert held(group) == [(1, 1, 1.0), (3, 2, 3.0), (4, 3, 4.0)]

    def test_groups_without_a_key(self, store):
        group = store.create_feature_group("bag", primary_key=[], schema=SCHEMA)
        group.insert(frame((1, 1, 1.0), (1, 1, 1.0), (2, 2, 2.0)), mode="append")
        group.insert(frame((3, 1, 3.0)), mode="overwrite", filter=group["day"] == day(1))
        assert held(group) == [(2, 2, 2.0), (3, 1, 3.0)]

    def test_rows_that_repeat(self, store):
        group = store.create_feature_group("twice", primary_key=["id"], schema=SCHEMA)
        group.insert(frame((1, 1, 1.0), (1, 2, 2.0), (2, 1, 1.0)), mode="append")
        with Unchanged(group, hr.DuplicateKeys):
            group.insert(frame((1, 1, 3.0)), mode="overwrite", filter=group["day"] == day(1))
        group.insert(frame((3, 1, 3.0)), mode="overwrite", filter=group["day"] == day(1))
        assert held(group) == [(1, 2, 2.0), (3, 1, 3.0)]


class TestRefused:
    def test_rows_outside_the_filter(self, group):
        with Unchanged(group, hr.BadData) as caught:
            group.insert(frame((2, 1, 1.0), (8, 2, 1.0)), mode="overwrite", filter=group["day"] == day(1))
        assert "not true for 1 row(s): id = 8" in caught.value.message

    def test_rows_for_which_it_is_not_known(self, group):
        with Unchanged(group, hr.BadData):
            group.insert(frame((2, 1, None)), mode="overwrite", filter=group["x"] > 0)

    def test_rows_that_others_have_outside(self, group):
        with Unchanged(group, hr.DuplicateKeys) as caught:
            group.insert(frame((4, 1, 1.0)), mode="overwrite", filter=group["day"] == day(1))
        assert "rows that stay, since the filter is not true for them" in caught.value.message
        assert "id = 4" in caught.value.message

    def test_rows_that_repeat(self, group):
        with Unchanged(group, hr.DuplicateKeys):
            group.insert(frame((5, 1, 1.0), (5, 1, 2.0)), mode="overwrite", filter=group["day"] == day(1))

    @pytest.mark.parametrize("mode", ["upsert", "append"])
    def test_other_modes(self, group, mode):
        with Unchanged(group, hr.InvalidArgument):
            group.insert(frame((5, 1, 1.0)), mode=mode, filter=group["day"] == day(1))

    def test_what_is_no_filter(self, group):
        for given_filter in ("day = 1", True, group):
            with Unchanged(group, hr.InvalidArgument):
                group.insert(frame((5, 1, 1.0)), mode="overwrite", filter=given_filter)


ROW = st.tuples(st.integers(0, 5), st.integers(1, 3), st.sampled_from([0.0, 1.0, float("nan")]))


@given(
    before=st.lists(ROW, max_size=6, unique_by=lambda r: r[0]),
    coming=st.lists(ROW, max_size=6, unique_by=lambda r: r[0]),
    wanted=st.sets(st.integers(1, 3)),
    partitioned=st.booleans(),
)
def test_as_a_list_would(embedded_store, before, coming, wanted, partitioned):
    group = embedded_store.create_feature_group(
        fresh("days"), primary_key=["id"], schema=SCHEMA, partition_by=["day"] if partitioned else []
    )
    group.insert(frame(*before))
    coming = [row for row in coming if row[1] in wanted]
    stay = [row for row in before if row[1] not in wanted]
    condition = group["day"].isin([day(d) for d in wanted])
    if {row[0] for row in stay} & {row[0] for row in coming}:
        with pytest.raises(hr.DuplicateKeys):
            group.insert(frame(*coming), mode="overwrite", filter=condition)
        stay, coming = before, []
    else:
        commit = group.insert(frame(*coming), mode="overwrite", filter=condition)
        gone = len(before) - len(stay)
        assert (commit.rows_inserted + commit.rows_updated, commit.rows_updated + commit.rows_deleted) == (
            len(coming),
            gone,
        )
    assert str(held(group)) == str(sorted((*stay, *coming)))
