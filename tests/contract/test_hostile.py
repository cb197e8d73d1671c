"""Input that is made to hurt: statements in literals, damaged bytes, values that no column can hold."""

from __future__ import annotations

import datetime as dt
import decimal
import random
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headrace as hr
from conftest import fresh
from contract.helpers import Unchanged, rows
from headrace.model.expression import Compare, Condition, Not, Ref, Value

D = decimal.Decimal


@pytest.fixture
def numbers(store):
    schema = pa.schema({"id": pa.int64(), "name": pa.string(), "x": pa.float64()})
    group = store.create_feature_group("numbers", primary_key=["id"], schema=schema)
    group.insert([{"id": i, "name": f"n{i}", "x": i / 2} for i in range(3)])
    return group


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int", "(SELECT 1)"),
        ("int", "1) OR (true"),
        ("int", "9" * 5000),
        ("int", "\uff11"),
        ("float", "abc"),
        ("float", "1' AS DOUBLE) OR CAST('1"),
        ("decimal", "1.0 OR true"),
        ("bool", "true OR true"),
        ("bytes", "zz"),
        ("bytes", "00') OR unhex('00"),
        ("date", "2024-01-01' OR DATE '2024-01-01"),
        ("date", "2024-13-01"),
        ("timestamp", "2024-01-01T00:00:00' OR '"),
        ("timestamp", "2024-13-01T00:00:00"),
    ],
)
def test_a_literal_is_a_value_of_its_type_and_no_statement(kind, text):
    with pytest.raises(hr.InvalidArgument, match=f"is no {kind}"):
        Value(kind, text)
    sent = msgspec.json.encode(
        {
            "node": "compare",
            "op": "=",
            "left": {"name": "id"},
            "right": {"node": "value", "type": kind, "text": text},
        }
    )
    with pytest.raises((hr.InvalidArgument, msgspec.ValidationError)):
        msgspec.json.decode(sent, type=Condition)


def test_a_condition_of_the_wire_is_checked(server):
    """As a client would send it that does not check what it sends."""
    store = server.connect(project=fresh("project"))
    numbers = store.create_feature_group("numbers", primary_key=["id"])
    numbers.insert([{"id": 1}, {"id": 2}])
    forged = Value("int", "1")
    msgspec.structs.force_setattr(forged, "text", "1) OR (true")
    with Unchanged(numbers, hr.InvalidArgument):
        store._backend.delete_rows("numbers@v1", None, Not(Compare("=", Ref("id"), forged)), "key")


class TestDamagedBytes:
    def insert(self, numbers, names, mode):
        ids = pa.array([10, 11, 12], pa.int64())
        numbers.insert(pa.table({"id": ids, "name": names, "x": pa.array([1.0, 2.0, 3.0])}), mode=mode)

    @pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
    @pytest.mark.parametrize("middle", [0x6FFFFFFF, -5, 3])
    def test_offsets_that_lead_astray(self, numbers, mode, middle):
        offsets = pa.py_buffer(np.array([0, 1, middle, 2], np.int32))
        names = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"ab")])
        with Unchanged(numbers, hr.HeadraceError):
            self.insert(numbers, names, mode)

    @pytest.mark.parametrize("mode", ["upsert", "append", "overwrite"])
    def test_text_that_is_no_utf8(self, numbers, mode):
        offsets = pa.py_buffer(np.array([0, 1, 2, 3], np.int32))
        names = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xffc")])
        with Unchanged(numbers, hr.SchemaMismatch) as caught:
            self.insert(numbers, names, mode)
        assert "'name'" in str(caught.value)


class TestDecimals:
    @pytest.mark.parametrize(("digits", "scale"), [(17, 2), (38, 3), (38, 0)])
    def test_keys_longer_than_a_float(self, store, digits, scale):
        kind = pa.decimal128(digits, scale)
        key, other = (
            D(("1234567890123456789012345678901234567"[: digits - scale - 1]) + end) for end in "57"
        )
        schema = pa.schema({"k": kind, "x": pa.int64()})
        group = store.create_feature_group("g", primary_key=["k"], schema=schema)
        for x in (1, 2):
            commit = group.insert(pa.table({"k": pa.array([key, other], kind), "x": [x, x * 10]}))
        assert (commit.rows_inserted, commit.rows_updated) == (0, 2)
        assert rows(group.read(filter=group["k"] == key)) == [{"k": key, "x": 2}]
        assert rows(group.read(filter=group["k"].isin([other]))) == [{"k": other, "x": 20}]
        assert group.delete(keys=pa.table({"k": pa.array([key], kind)})).rows_deleted == 1
        assert rows(group.read()) == [{"k": other, "x": 20}]


class TestDeleteByFilter:
    def test_of_several_columns(self, store):
        schema = pa.schema({"id": pa.int64(), "a": pa.bool_(), "b": pa.bool_()})
        group = store.create_feature_group("g", primary_key=["id"], schema=schema)
        given = [(True, True), (False, False), (False, None), (True, False)]
        group.insert([{"id": 1, "a": a, "b": b} for a, b in given], mode="append")
        condition = (group["a"] == True) & (group["b"] == True)  # noqa: E712
        assert rows(group.read(["a", "b"], condition)) == [{"a": True, "b": True}]
        assert group.delete(filter=condition).rows_deleted == 1
        left = {(row["a"], row["b"]) for row in rows(group.read())}
        assert left == {(False, False), (False, None), (True, False)}

    def test_of_a_group_without_keys(self, store):
        group = store.create_feature_group("g", primary_key=[])
        group.insert([{"a": 1, "s": "x", "v": [1, 2]}, {"a": 2, "s": "y", "v": None}], mode="append")
        assert group.delete(filter=(group["a"] == 2) & (group["s"] == "y")).rows_deleted == 1
        assert rows(group.read()) == [{"a": 1, "s": "x", "v": [1, 2]}]


def test_a_null_in_a_dictionary_is_a_null_key(store):
    group = store.create_feature_group("g", primary_key=["k"])
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    with pytest.raises(hr.NullKeys):
        group.insert(pa.table({"k": keys, "x": [1, 2]}))


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("s"), pa.date32()], ids=str)
def test_times_that_no_calendar_has_are_refused(store, kind):
    group = store.create_feature_group("g", primary_key=["k"])
    far = pa.array(
        [2**58 if kind != pa.date32() else 2**30], pa.int64() if kind != pa.date32() else pa.int32()
    )
    with pytest.raises(hr.SchemaMismatch, match=r"9999|not"):
        group.insert(pa.table({"k": [1], "at": far.cast(kind)}))


def test_bytes_do_not_partition(store):
    group = store.create_feature_group("g", primary_key=["k"], partition_by=["p"])
    with pytest.raises(hr.SchemaMismatch, match="partitioned"):
        group.insert(pa.table({"k": [1], "p": [b"\x00x"]}))


class TestVersions:
    def test_nothing_is_deleted_without_one(self, store, numbers):
        for delete in (store.delete_feature_group, store._backend.delete_group):
            arguments = ("numbers", None) if delete == store.delete_feature_group else ("numbers", None, True)
            with Unchanged(numbers, hr.InvalidArgument):
                delete(*arguments)
        with pytest.raises(hr.InvalidArgument):
            store._backend.delete_view("numbers", None, force=False)

    def test_are_numbers(self, store, numbers):
        for version in ("1", 1.0, True, 0, -1):
            with pytest.raises(hr.InvalidArgument):
                store.get_feature_group("numbers", version)


@pytest.mark.parametrize(
    "wrong",
    [
        {"description": None},
        {"change_feed": "yes"},
        {"tags": {"a": 1}},
        {"event_time": 5},
        {"tie_breaker": 3},
        {"created_time": b"x"},
    ],
    ids=str,
)
def test_a_declaration_of_a_wrong_type_is_refused_and_nothing_kept(store, wrong):
    with pytest.raises(hr.InvalidArgument):
        store.create_feature_group("g", primary_key=["id"], **wrong)
    assert store.list_feature_groups() == []


def test_a_result_does_not_go_on_with_another_table_of_the_name(store):
    old = store.create_feature_group("g", primary_key=["a"])
    old.insert([{"a": 1}])
    result = old.read()
    store.delete_feature_group("g", 1)
    store.create_feature_group("g", version=1, primary_key=["a"]).insert([{"a": 2}])
    other = store.create_feature_group("other", primary_key=["a"])
    other.insert([{"a": 1}])
    for n in range(20):  # more plans than are kept
        other.read(filter=other["a"] == n).to_arrow()
    with pytest.raises(hr.NotFound, match="deleted meanwhile"):
        result.to_arrow()


class TestFrames:
    def test_with_two_columns_of_a_name(self, numbers):
        with Unchanged(numbers, hr.NameClash):
            numbers.insert(pd.DataFrame([[1, 2.0, 3.0]], columns=["id", "x", "x"]))
        frame = pd.DataFrame({"id": [9], "x": [1.0]}, index=pd.Index([9], name="id"))
        with Unchanged(numbers, hr.NameClash):
            numbers.insert(frame)

    def test_with_names_that_are_no_text(self, numbers):
        with Unchanged(numbers, hr.InvalidArgument):
            numbers.insert([{1: 2}])

    def test_with_half_a_surrogate_pair(self, numbers):
        for given in (
            [{"id": 9, "name": "\ud800", "x": 1.0}],
            pd.DataFrame({"id": [9], "name": pd.Series(["\ud800"], dtype=object), "x": [1.0]}),
        ):
            with Unchanged(numbers, hr.SchemaMismatch):
                numbers.insert(given)


HALF = "\ud800"
CALLS = {
    "name of groups": lambda store, g: store.list_feature_groups(name=HALF),
    "name of views": lambda store, g: store.list_feature_views(name=HALF),
    "tag of groups": lambda store, g: store.list_feature_groups(tags={HALF: "x"}),
    "tag of views": lambda store, g: store.list_feature_views(tags={"x": HALF}),
    "group got": lambda store, g: store.get_feature_group(HALF),
    "group deleted": lambda store, g: store.delete_feature_group(HALF, 1),
    "view deleted": lambda store, g: store.delete_feature_view(HALF, 1),
    "description": lambda store, g: store.create_feature_group("g", primary_key=["k"], description=HALF),
    "tags": lambda store, g: store.create_feature_group("g", primary_key=["k"], tags={HALF: "x"}),
    "primary_key": lambda store, g: store.create_feature_group("g", primary_key=[HALF]),
    "partition_by": lambda store, g: store.create_feature_group("g", primary_key=["k"], partition_by=[HALF]),
    "event_time": lambda store, g: store.create_feature_group("g", primary_key=["k"], event_time=HALF),
    "tie_breaker": lambda store, g: store.create_feature_group("g", primary_key=["k"], tie_breaker=HALF),
    "description of a view": lambda store, g: store.create_feature_view("v", g, description=HALF),
    "tags of a view": lambda store, g: store.create_feature_view("v", g, tags={"x": HALF}),
    "labels": lambda store, g: store.create_feature_view("v", g, labels=[HALF]),
    "time of a spine": lambda store, g: store.create_feature_view("v", g).batch_data(event_time=HALF),
    "tag set": lambda store, g: g.set_tags({"x": HALF}),
    "tag removed": lambda store, g: g.set_tags({HALF: None}),
    "column": lambda store, g: g.select(HALF),
    "prefix": lambda store, g: g.join(g, prefix=HALF),
    "key of a write": lambda store, g: g.insert([{"id": 9}], idempotency_key=HALF),
    "key of a delete": lambda store, g: g.delete(filter=g["id"] == 1, idempotency_key=HALF),
    "project": lambda store, g: hr.connect(store._target, project=HALF),
}


@pytest.mark.parametrize("call", CALLS)
def test_half_a_surrogate_pair_in_what_is_no_row(store, numbers, call):
    with Unchanged(numbers, hr.InvalidArgument) as caught:
        CALLS[call](store, numbers)
    str(caught.value).encode()
    assert [g.name for g in store.list_feature_groups()] == ["numbers"]
    assert numbers.tags == {}


@pytest.mark.parametrize("name", [5, b"numbers", ["numbers"]])
def test_names_to_list_by_are_text(store, name):
    for call in (store.list_feature_groups, store.list_feature_views):
        with pytest.raises(hr.InvalidArgument, match="no text"):
            call(name=name)


@pytest.mark.parametrize("number", [2**63, 2**70, -1])
def test_numbers_that_nothing_counts_to(numbers, number):
    for call in (
        lambda: numbers.read().to_reader(number),
        lambda: numbers.read(snapshot=number),
        lambda: numbers.read(limit=number),
        lambda: numbers.history(number),
    ):
        with pytest.raises(hr.InvalidArgument):
            call()
    assert numbers.read().to_reader(2**63 - 1).read_all().num_rows == 3
    assert len(numbers.history(2**63 - 1)) == 2
    with pytest.raises(hr.SnapshotNotFound):
        numbers.read(snapshot=2**63 - 1)


def test_conditions_of_any_length(numbers):
    condition = numbers["id"] == 0
    for n in range(2000):
        condition = condition | (numbers["id"] == n)
    assert len(rows(numbers.read(filter=condition))) == 3
    for _ in range(2000):
        condition = ~condition
    assert len(rows(numbers.read(filter=condition))) == 3


def test_dates_before_the_calendar(numbers):
    assert rows(numbers.read(filter=numbers["x"] < float(dt.date.max.year)))


@pytest.mark.parametrize(
    "uri",
    [
        "grpc://[::1:8815",
        "grpc://a..b:8815",
        f"grpc://{'a' * 64}:8815",
        "grpc://a b:8815",
        "grpc://h%zz:1",
        "grpc://\ud800:1",
        "grpc+unix://",
        "grpc+unix:///nul\0",
        "grpc+unix:///\ud800",
        f"grpc+unix:///{'a' * 108}",
        f"grpc+unix:///{'é' * 54}",
    ],
)
def test_addresses_that_are_none(uri):
    with pytest.raises(hr.InvalidArgument):
        hr.connect(uri, timeout=1)


def test_the_longest_path_of_a_socket_that_every_system_has():
    with pytest.raises(hr.Unavailable):
        hr.connect(f"grpc+unix:///{'a' * 102}", timeout=1)


@pytest.mark.local_files
def test_a_file_whose_bytes_make_no_sense_is_corrupt(store):
    """Parquet has no checksums here: what can still be read is not known to be wrong."""
    group = store.create_feature_group("g", primary_key=["id"])
    group.insert(pa.table({"id": range(3000), "name": [f"n{i % 7}" for i in range(3000)]}))
    (path,) = Path(group.location).rglob("*.parquet")
    whole, chance, told = path.read_bytes(), random.Random(3), 0
    for _ in range(150):
        damaged = bytearray(whole)
        at = chance.randrange(len(damaged) - 8)
        damaged[at : at + 8] = chance.randbytes(8)
        path.write_bytes(damaged)
        try:
            group.read().to_arrow()
        except hr.CorruptTable:
            told += 1
    assert told > 20
    path.write_bytes(whole)
    assert group.read().to_arrow().num_rows == 3000
