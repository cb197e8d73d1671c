"""Frames of several libraries become Arrow tables as they are, or not at all."""

from __future__ import annotations

import datetime as dt
from typing import Any
from uuid import uuid4

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import headrace as hr
from headrace.client.frame import to_table

DAY, NOON = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)


@pytest.mark.parametrize("lazy", [False, True])
def test_objects_in_polars_are_refused(lazy: bool) -> None:
    frame = pl.DataFrame({"id": [1, 2], "u": [uuid4(), uuid4()]})
    with pytest.raises(hr.SchemaMismatch, match="column 'u' has no Arrow type: it holds Python objects"):
        to_table(frame.lazy() if lazy else frame)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([DAY, NOON], "it holds dates and times"),
        ([pd.Timestamp("2024-01-01T00:00:00.000000001")], "below a microsecond"),
        ([1, "a"], "it holds integers and texts"),
    ],
)
def test_categories_are_of_one_kind(values: list[Any], told: str) -> None:
    with pytest.raises(hr.SchemaMismatch, match=told):
        to_table(pd.DataFrame({"c": pd.Categorical(values)}))


def test_categories_stay_a_dictionary() -> None:
    column = to_table(pd.DataFrame({"c": pd.Categorical(["a", None, "b", "a"])}))["c"]
    assert column.type == pa.dictionary(pa.int8(), pa.string())
    assert column.to_pylist() == ["a", None, "b", "a"]


@pytest.mark.parametrize(
    ("column", "index"),
    [
        ("0", pd.Index([5], name=0)),
        ("x", pd.MultiIndex.from_tuples([(1, 2)], names=["i", "i"])),
        ("i", pd.Index([5], name="i")),
    ],
)
def test_names_of_an_index_that_are_there_twice(column: str, index: pd.Index[Any]) -> None:
    with pytest.raises(hr.NameClash, match="the same name"):
        to_table(pd.DataFrame({column: [1]}, index=index))


def test_levels_without_a_name_are_left_out() -> None:
    index = pd.MultiIndex.from_tuples([(1, 2)], names=[None, "i"])
    assert to_table(pd.DataFrame({"x": [3]}, index=index)).to_pylist() == [{"i": 2, "x": 3}]
