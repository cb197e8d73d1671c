"""Rows come back equal, types included: all that pickle brings back."""

from __future__ import annotations

import copyreg
import datetime as dt
import decimal
import io
import pickle
import subprocess
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import headrace_native
import hypothesis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from headrace import rowcodec
from headrace.errors import InvalidArgument, Unsupported
from rowcodec.samples import (
    Color,
    Derived,
    Failure,
    Frozen,
    Labelled,
    Level,
    Pair,
    Part,
    Point,
    Row3,
    Slotted,
    Text,
    Whole,
    same,
)

pytestmark = pytest.mark.slow

BERLIN, UTC = zoneinfo.ZoneInfo("Europe/Berlin"), zoneinfo.ZoneInfo("UTC")
HALF_PAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
NAMED = dt.timezone(dt.timedelta(seconds=90), "odd")


def by_api(rows: list[Any]) -> bytes:
    return headrace_native.dump_rows(rows, direct=False)


def streamed(rows: list[Any]) -> bytes:
    sink = io.BytesIO()
    with rowcodec.Encoder(sink) as encoder:
        for n, row in enumerate(rows):
            encoder.append(row)
            if n % 7 == 6:
                encoder.flush()
    return sink.getvalue()


WAYS: dict[str, Callable[[list[Any]], bytes]] = {
    "plain": lambda rows: rowcodec.dumps(rows, dictionaries=False, tier="program"),
    "plain by machine": lambda rows: rowcodec.dumps(rows, dictionaries=False, tier="machine"),
    "dictionaries": lambda rows: rowcodec.dumps(rows, tier="program"),
    "machine": lambda rows: rowcodec.dumps(rows, tier="machine"),
    "api": by_api,
    "encoder": streamed,
    "lz4": lambda rows: rowcodec.dumps(rows, compression="lz4"),
    "zstd": lambda rows: rowcodec.dumps(rows, compression="zstd"),
}


def read_by_arrow(data: bytes) -> int:
    """Every segment by pyarrow, all of it checked; gives the number of rows."""
    source, rows = pa.BufferReader(data), 0
    while source.tell() < source.size():
        with pa.ipc.open_stream(source) as stream:
            for batch in stream:
                batch.validate(full=True)
                rows += batch.num_rows
    return rows


def check(rows: list[Any], ways: list[str] | None = None) -> None:
    expected = pickle.loads(pickle.dumps(rows, 5))
    written = {name: WAYS[name](rows) for name in ways or WAYS}
    for name, data in written.items():
        found = rowcodec.loads(data, allow_pickle=True)
        assert same(found, expected), name
        assert read_by_arrow(data) == len(rows)
    for name, other in {"plain": "plain by machine", "dictionaries": "machine"}.items():
        assert written.get(other) == written.get(name)
    found = [
        row for batch in rowcodec.to_batches(rows) for row in rowcodec.from_batch(batch, allow_pickle=True)
    ]
    assert same(found, expected)


CASES: dict[str, list[Any]] = {
    "none": [],
    "empty tuples": [(), ()],
    "empty lists": [[], []],
    "empty dicts": [{}, {}],
    "tuples": [(1, "a", 0.5), (2, None, 1.5), (None, "c", None)],
    "lists": [[1, "a"], [2, "b"]],
    "dicts": [{"a": 1, "b": "x"}, {"a": 2, "b": None}],
    "dicts, other order": [{"a": 1, "b": 2}, {"b": 3, "a": 4}],
    "dicts, other keys": [{"a": 1}, {"b": 2}, {}],
    "dicts of numbers": [{1: 2}, {3: 4, 5: 6}],
    "dicts of mixed keys": [{1: 2, "a": 3}, {None: 4}],
    "surrogate keys": [{"\ud800": 1}],
    "values": [1, None, 3],
    "nulls": [None, None],
    "named tuples": [Point(1, "a"), Point(2, "b")],
    "two named tuples": [Point(1, "a"), Pair(2, "b")],
    "dataclasses": [Part(1, "a"), Part(2, None)],
    "frozen": [Frozen(1), Frozen("b")],
    "dataclasses with bases": [Derived(1, "a"), Derived(2, None)],
    "dataclasses that are errors": [Failure(1), Failure(2)],
    "slots": [Slotted(1)],
    "bool or int": [True, 1, 0, False],
    "int or float": [(1,), (1.0,), (True,)],
    "int or text": [(1, "a"), ("1", 2)] * 40,
    "wide ints": [0, 127, -128, 128, 2**15, -(2**15) - 1, 2**31, 2**63 - 1, -(2**63)],
    "huge ints": [2**63, -(2**63) - 1, 2**64, 10**100, -(10**100)],
    "floats": [0.0, -0.0, float("nan"), -float("nan"), float("inf"), 5e-324],
    "texts": ["", "a", "é", "日本", "😀", "a" * 100, "x" * 3_000_000],
    "surrogates": ["\ud800", "ok", "\udc00\ud800", "\ud83d\ude00"],
    "bytes": [b"", b"\0\xff", bytearray(b"a"), bytearray()],
    "bytearrays": [bytearray(b"a"), None],
    "dates": [dt.date.min, dt.date.max, dt.date(1970, 1, 1), dt.date(1969, 12, 31), dt.date(2000, 2, 29)],
    "datetimes": [dt.datetime.min, dt.datetime.max, dt.datetime(1969, 12, 31, 23, 59, 59, 999999)],
    "folds": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, fold=1)],
    "utc": [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)] * 2,  # noqa: UP017
    "utc by name": [dt.datetime(2020, 1, 1, tzinfo=UTC)],
    "half past": [dt.datetime(2020, 1, 1, tzinfo=HALF_PAST)],
    "named offset": [dt.datetime(2020, 1, 1, tzinfo=NAMED)],
    "zones": [dt.datetime(2020, 1, 1, tzinfo=zone) for zone in (BERLIN, UTC, HALF_PAST, NAMED, None)],
    "clock turned back": [dt.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1)],
    "clock turned forward": [dt.datetime(2020, 3, 29, 2, 30, tzinfo=BERLIN)],
    "fold for nothing": [dt.datetime(2020, 5, 5, tzinfo=BERLIN, fold=1)],
    "edges with zone": [dt.datetime.min.replace(tzinfo=BERLIN), dt.datetime.max.replace(tzinfo=BERLIN)],
    "edges with offset": [
        dt.datetime.min.replace(tzinfo=HALF_PAST),
        dt.datetime.max.replace(tzinfo=HALF_PAST),
    ],
    "times of day": [dt.time(1, 2, 3)],
    "durations": [dt.timedelta(1, 2, 3), -dt.timedelta(microseconds=1), dt.timedelta.max, dt.timedelta.min],
    "decimals": [decimal.Decimal("1.00"), decimal.Decimal("-2.50"), decimal.Decimal("0.00")],
    "decimals of any kind": [
        decimal.Decimal(text)
        for text in ("1", "1.0", "1E+5", "1E-30", "-0", "NaN", "sNaN12", "-Infinity", "9" * 60)
    ],
    "38 digits": [decimal.Decimal("9" * 38), decimal.Decimal("-" + "9" * 38), decimal.Decimal(0)],
    "39 digits": [decimal.Decimal("9" * 39)],
    "uuids": [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), None],
    "safe uuids": [uuid.UUID(int=1, is_safe=uuid.SafeUUID.safe)],
    "enums": [Color.RED, Level.HIGH, None],
    "subclasses": [Whole(3), Text("a"), Row3((1, 2)), Labelled(a=1), 3, "a", (1, 2), {"a": 1}],
    "sets": [{1}, frozenset([2])],
    "nested": [
        ([1, [2.5]], (1, "a"), {"k": [{"z": b"1"}]}, [[], [None]], {"m": {1: [2]}}),
        ([], (2, None), {"k": []}, [[1], None], {"m": {}}),
    ],
    "nested of other types": [([1, "a"], [{"a": 1}, {"b": 2}], [(1,), (1, 2)]), ([None], [], [])] * 20,
    "long tuples within": [(tuple(range(50)),), (tuple(range(40)),)],
    "tuples as keys": [{(1, 2): "a"}, {(3, 4): "b"}],
    "records within": [(Point(1, Part("a", Point(2, 3))), [Part(1, 2)]), (None, [])],
    "arities": [(1,), (1, 2), (1, 2, 3)],
    "kinds of rows": [(1,), [1], {"a": 1}, 1, None, Point(1, 2), "a"],
    "late type": [(None, n) for n in range(100)] + [("a", 100), (5, 101)],
    "one odd row of many": [(n, "a") for n in range(500)] + [(2**70, "a")] + [(n, "b") for n in range(500)],
    "wide": [tuple(range(200)) for _ in range(3)],
    "wider than a struct": [tuple(range(3000)) for _ in range(2)],
}
CASES |= {
    f"numpy {np.dtype(code).name}": [np.dtype(code).type(1), None, np.dtype(code).type(0)]
    for code in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
CASES["numpy, mixed"] = [np.float64(1), 1.0, np.int64(1), 1, np.str_("a"), np.datetime64("2020-01-01")]


@pytest.mark.parametrize("rows", CASES.values(), ids=CASES.keys())
def test_case(rows: list[Any]) -> None:
    check(rows)


def test_case_in_tuples() -> None:
    for rows in CASES.values():
        check([(n, row) for n, row in enumerate(rows)])


def test_cases_beside_one_another() -> None:
    rows = [row for case in CASES.values() for row in case if not (type(row) is str and len(row) > 1000)]
    check(rows * 3)


def test_batches_and_dictionaries() -> None:
    rows = [(n, f"text {n % 100}", f"unique {n}", "é" * (n % 3)) for n in range(40_000)]
    check(rows)


def test_dictionary_that_stops_to_pay() -> None:
    rows = [(f"{n % 10}",) for n in range(17_000)] + [(f"unique {n}",) for n in range(30_000)]
    check(rows, ["dictionaries", "machine"])


def test_row_that_holds_itself() -> None:
    row: list[Any] = [1]
    row.append(row)
    (found,) = rowcodec.loads(rowcodec.dumps([row]), allow_pickle=True)
    assert found[0] == 1
    assert found[1] is found


class Registered(NamedTuple):
    x: Any


copyreg.pickle(Registered, lambda found: (list, ((found.x,),)))  # type: ignore[arg-type]


def test_class_that_is_registered_to_pickle_in_its_way() -> None:
    check([Registered(n) for n in range(3)])
    check([(Registered(1), 2)])


def module_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A new one, whose classes are made anew each time."""
    module = types.ModuleType("remade")
    source = """
import dataclasses, typing
@dataclasses.dataclass
class Data:
    a: int
class Named(typing.NamedTuple):
    a: int
"""
    monkeypatch.setitem(sys.modules, "remade", module)
    exec(source, module.__dict__)
    return module


@pytest.mark.parametrize("kind", ["Data", "Named"])
def test_class_that_is_another_one_now(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by pickle, which looks whether a class is the one of its name whenever it writes."""
    old = getattr(module_of(monkeypatch), kind)
    for rows in ([old(n) for n in range(200)], [(old(1), [old(2)], {3: old(3)})]):
        found = module_of(monkeypatch)
        setattr(found, kind, old)
        check(rows)
        delattr(found, kind)
        for _ in range(2):
            with pytest.raises(Unsupported, match="row 0 holds a value of the class"):
                rowcodec.dumps(rows)
        module_of(monkeypatch)
        with pytest.raises(Unsupported, match="row 0 holds a value of the class"):
            rowcodec.dumps(rows)


@pytest.mark.parametrize("kind", ["Data", "Named"])
def test_class_that_tells_later_how_it_is_pickled(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = getattr(module_of(monkeypatch), kind)
    rows = [cls(n) for n in range(3)]
    check(rows)
    monkeypatch.setitem(copyreg.dispatch_table, cls, lambda found: (cls, (found.a + 1,)))
    assert rowcodec.loads(rowcodec.dumps(rows), allow_pickle=True) == [cls(n + 1) for n in range(3)]


def test_zone_of_a_file_is_refused() -> None:
    """As by pickle: its key may be that of another zone."""
    with resources.files("tzdata.zoneinfo.Asia").joinpath("Tokyo").open("rb") as file:
        zone = zoneinfo.ZoneInfo.from_file(file, key="Europe/Berlin")
    at = dt.datetime(2024, 6, 1, 12, tzinfo=zone)
    for rows in ([(at,)], [(at.replace(tzinfo=BERLIN),)] * 100 + [(at,)], [([at, 1],)]):
        with pytest.raises(Unsupported, match="file"):
            rowcodec.dumps(rows)


def test_same_list_again_and_again() -> None:
    """2**60 values for who does not see that they are the same."""
    value: list[Any] = [1]
    for _ in range(60):
        value = [value, value]
    (found,) = rowcodec.loads(rowcodec.dumps([(value,)]), allow_pickle=True)
    for _ in range(60):
        assert found[0] is not None
        found = found[0]


def test_same_text_again_and_again_in_a_variant() -> None:
    """20 GB for who does not look how much there is: the process must not die of it, and pickle tells it once."""
    script = """
import resource
from headrace import rowcodec
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
rows = [({1: ["a" * (1 << 20)] * 20_000, "b": 2},)]
print(rowcodec.loads(rowcodec.dumps(rows), allow_pickle=True) == rows)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


class Told(type):
    """Its classes run code when they are asked for their name."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        cls.meddle()  # type: ignore[attr-defined]
        return "Meddler"


def test_what_is_looked_at_changes_meanwhile() -> None:
    """The shapes of rows are found while code of others may run: here it empties all that is being looked at."""
    texts = [f"text {n}" for n in range(1000)]

    def emptying(parts: list[Any]) -> Any:
        class Meddler(metaclass=Told):
            @staticmethod
            def meddle() -> None:
                for part in parts:
                    part.clear()

            def __reduce__(self) -> Any:
                return (int, ())

        return Meddler()

    for wrap in (list, tuple, lambda values: dict(enumerate(values)), lambda values: {"k": values}, Part.of):
        parts: list[Any] = []
        part = [emptying(parts), *(text + "!" for text in texts)]
        row = (wrap(part), *(text + "?" for text in texts))
        rows = [row]
        parts.extend([rows, part, *([row[0]] if isinstance(row[0], dict) else [])])
        if isinstance(row[0], Part):
            parts.append(row[0].__dict__)
        del row
        assert rowcodec.loads(rowcodec.dumps(rows)) == []


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [10, 31, 32, 33, 61, 62, 63, 64, 100])
def test_deep(levels: int) -> None:
    check([(deep(levels), 1)])


simple = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True),
    st.text(st.characters(), max_size=20),
    st.binary(max_size=20),
    st.dates(),
    st.datetimes(timezones=st.none() | st.sampled_from([BERLIN, UTC, HALF_PAST, NAMED, dt.timezone.utc])),  # noqa: UP017
    st.timedeltas(),
    st.decimals(),
    st.uuids(),
    st.sampled_from([Color.RED, Level.HIGH, Whole(1), Text("a"), np.int32(3), np.float64(2)]),
)
nested = st.recursive(
    simple,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
        st.builds(Point, inner, inner),
        st.builds(Part, inner, inner),
    ),
    max_leaves=8,
)


@hypothesis.given(st.lists(nested, max_size=12))
def test_any_rows(rows: list[Any]) -> None:
    check(rows, ["plain", "plain by machine", "api", "encoder"])


@hypothesis.given(st.data())
def test_rows_of_columns(data: st.DataObject) -> None:
    """Rows alike, with a few among them that are not."""
    kinds = data.draw(st.lists(st.sampled_from(simple.element_strategies), min_size=1, max_size=4))
    make = data.draw(st.sampled_from([tuple, list, lambda v: dict(zip("abcd", v, strict=False))]))
    rows = data.draw(st.lists(st.tuples(*kinds).map(make), min_size=1, max_size=40))
    for odd in data.draw(st.lists(nested, max_size=2)):
        rows.insert(data.draw(st.integers(0, len(rows))), odd)
    check(rows, ["dictionaries", "machine", "encoder"])


def test_dataclasses_with_bases_are_columns() -> None:
    rows = [Derived(n, f"{n}") for n in range(3)]
    data = rowcodec.dumps(rows, allow_pickle=False)
    assert rowcodec.loads(data) == rows
    assert pa.ipc.open_stream(data).schema.names == ["id", "value"]


@pytest.mark.parametrize(
    "odd", [[0], [42, 489, 914], [*range(0, 1000, 20)]], ids=["first", "three", "a twentieth"]
)
def test_few_odd_rows_change_no_column(odd: list[int]) -> None:
    rows: list[Any] = [(n / 2,) for n in range(1000)]
    for n in odd:
        rows[n] = (n,) if n % 2 == 0 else "odd"
    data = rowcodec.dumps(rows)
    assert rowcodec.loads(data) == rows
    assert pa.ipc.open_stream(data).schema.types == [pa.float64(), pa.binary()]


def test_an_encoder_whose_first_row_is_the_odd_one() -> None:
    rows = [{"price": 10}, *({"price": n / 4} for n in range(999))]
    file = io.BytesIO()
    with rowcodec.Encoder(file) as encoder:
        for row in rows:
            encoder.append(row)
    assert same(rowcodec.loads(file.getvalue()), rows)
    file.seek(0)
    first = pa.ipc.open_stream(file).read_all()
    table = pa.ipc.open_stream(file).read_all()
    assert first.num_rows == 16
    assert table.schema.types == [pa.float64()]
    assert table.num_rows == 984
    assert file.read() == b""


def unpicklable() -> list[Any]:
    class Local:
        pass

    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return [Local(), lambda: None, (n for n in ()), deep]


@pytest.mark.parametrize("value", unpicklable(), ids=["local", "lambda", "generator", "deep"])
def test_what_pickle_cannot_carry_is_named_with_its_row(value: Any) -> None:
    with pytest.raises(
        Unsupported, match=r"row 1 holds a value of the class \S+ that pickle cannot carry"
    ) as found:
        rowcodec.dumps([(1,), (value,)])
    assert isinstance(found.value.__cause__, headrace_native.RowError)
    assert found.value.__cause__.__cause__ is not None


@pytest.mark.parametrize(
    "given", ["path", None, io.BytesIO(b""), memoryview(b"abcd")[::2]], ids=["str", "None", "file", "steps"]
)
def test_what_is_not_bytes_is_refused(given: Any) -> None:
    with pytest.raises(InvalidArgument, match=f"{type(given).__name__} is not bytes"):
        rowcodec.loads(given)


def test_a_class_that_is_not_loaded() -> None:
    data = rowcodec.dumps([Derived(1, "a")])
    gone = data.replace(b"rowcodec.samples:Derived", b"rowcodec.samples:Derivex")
    for trusted in (False, True):
        with pytest.raises(Unsupported, match="Derivex is not loaded") as found:
            rowcodec.loads(gone, allow_pickle=trusted)
        assert "import its module" in str(found.value.hint)


@pytest.mark.parametrize("given", [3, None, Derived(1, 2)], ids=["int", "None", "record"])
def test_what_cannot_be_gone_through_is_refused(given: Any) -> None:
    with pytest.raises(InvalidArgument, match=f"{type(given).__name__} is not rows"):
        rowcodec.dumps(given)


@pytest.mark.parametrize(
    "given",
    ["text", b"bytes", bytearray(b"b"), {"a": 1}, pa.table({"a": [1]}), pa.record_batch({"a": [1]}), pd.DataFrame({"a": [1]})],
    ids=lambda given: type(given).__name__,
)  # fmt: skip
def test_what_is_not_rows_is_refused(given: Any) -> None:
    """To iterate over these would give letters, or names of columns."""
    with pytest.raises(InvalidArgument, match=f"{type(given).__name__} is not rows"):
        rowcodec.dumps(given)


def test_options_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match='compression is "gzip"'):
        rowcodec.dumps([], compression="gzip")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match='compression is "gzip"'):
        rowcodec.Encoder(io.BytesIO(), compression="gzip")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="cannot write to a str"):
        rowcodec.Encoder(str(tmp_path))  # type: ignore[arg-type]
    encoder = rowcodec.Encoder(io.BytesIO())
    encoder.close()
    with pytest.raises(InvalidArgument, match="the encoder is closed"):
        encoder.append((1,))


def test_what_is_no_record_batch_is_refused() -> None:
    table = pa.Table.from_batches(rowcodec.to_batches([(1, "a")]))
    with pytest.raises(InvalidArgument, match="Table is no record batch"):
        rowcodec.from_batch(table)  # type: ignore[arg-type]


def wrapped(levels: int, wrap: Callable[[Any], Any]) -> Any:
    value = None
    for _ in range(levels):
        value = wrap(value)
    return value


WIDE = {
    "a row": [{"users": {f"u{n}": dict.fromkeys((f"a{m}" for m in range(40)), n) for n in range(2_000)}}],
    "rows of lists": [[{f"a{m}": n for m in range(40)} for n in range(2_000)]] * 3,
    "fields one after the other": [
        {f"f{n}": {f"a{m}": m for m in range(100)} if n == row else None for n in range(900)}
        for row in range(900)
    ],
}


@pytest.mark.parametrize("rows", WIDE.values(), ids=WIDE)
def test_more_fields_than_a_schema_has(rows: list[Any]) -> None:
    """What was written is read, whatever columns it had to be put into."""
    assert rowcodec.loads(rowcodec.dumps(rows)) == rows
    sink = io.BytesIO()
    with rowcodec.Encoder(sink) as encoder:
        for row in rows:
            encoder.append(row)
    assert rowcodec.loads(sink.getvalue()) == rows


DEEP: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: [value],
    "dict": lambda value: {"v": 1, "next": value},
    "map": lambda value: {1: value},
    "tuple": lambda value: (value, 1),
}


@pytest.mark.parametrize("wrap", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("step", [1, 7, 25, 31])
def test_rows_that_are_ever_deeper(wrap: Callable[[Any], Any], step: int) -> None:
    """Each gives a type to what was None in those before."""
    rows = [wrapped(levels, wrap) for levels in range(0, 120, step)]
    sink = io.BytesIO()
    with rowcodec.Encoder(sink) as encoder:
        for row in rows:
            encoder.append((row,))
    assert rowcodec.loads(sink.getvalue(), allow_pickle=True) == [(row,) for row in rows]
    for given in (rows, [(row,) for row in rows] * 50, rows[-1:]):
        assert rowcodec.loads(rowcodec.dumps(given), allow_pickle=True) == given


@pytest.mark.parametrize("empty", [{}, (), None], ids=repr)
def test_many_values_that_take_no_room(empty: Any) -> None:
    for rows in (
        [(n, [empty] * 65) for n in range(16_384)],
        [(1, [empty] * 1_100_000)],
        [[empty] * 1_100_000],
    ):
        assert rowcodec.loads(rowcodec.dumps(rows)) == rows


def test_a_row_of_many_texts_that_repeat_and_then_do_not() -> None:
    """The dictionary is full within a row that is too long to be written without it."""
    row = (1, ["x" * 4_096] * 20_000 + [f"{n:08}" for n in range(40_000)])
    few = [(0, ["x"])] * 64
    assert rowcodec.loads(rowcodec.dumps([*few, row])) == [*few, row]
    assert rowcodec.loads(rowcodec.dumps([row])) == [row]
