"""SQLite, whose values are of whatever type they were given."""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headrace as hr
from formats.external_cases import VALUES, check
from headrace.formats.external import sqlite as module


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder" / "theirs ü.db"


@pytest.fixture
def execute(path: Path) -> Callable[..., None]:
    path.parent.mkdir()

    def run(sql: str, rows: list[tuple] | None = None) -> None:
        with sqlite3.connect(path) as connection:
            connection.executemany(sql, rows) if rows is not None else connection.executescript(sql)

    return run


@pytest.fixture
def store(tmp_path: Path):
    with hr.connect(tmp_path / "lake") as opened:
        yield opened


@contextlib.contextmanager
def held(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A writer has the database to itself until it gets a line. In another process: locks of files are of processes."""
    hold = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); input()"
    command = [sys.executable, "-c", hold, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
        if holder.poll() is None:
            holder.communicate("\n")


def create(store: hr.FeatureStore, path: Path, table: str | None = "t", **options: object):
    options = {"driver": "sqlite", "uri": f"file:{path}", "table": table, "primary_key": ["id"]} | options
    return store.create_external_feature_group("g", **options)


def test_types(store, execute, path) -> None:
    execute(
        """CREATE TABLE t (id INTEGER PRIMARY KEY, big BIGINT, r REAL, f FLOAT, n NUMERIC, m DECIMAL(10, 2), b BOOLEAN,
        s TEXT, v VARCHAR(5), y BLOB, day DATE, at DATETIME, tz TIMESTAMPTZ, x, none)"""
    )
    execute(
        "INSERT INTO t VALUES (1, 2, 1.5, 2, 3, 1.25, 1, 's', 'v', x'00ff', '2026-01-02', '2026-01-02 12:00:00.5', "
        "'2026-01-02T12:00:00Z', 'text', NULL)"
    )
    table = create(store, path).read().to_arrow()
    found = {field.name: (str(field.type), table[field.name][0].as_py()) for field in table.schema}
    assert found == {
        "id": ("int64", 1),
        "big": ("int64", 2),
        "r": ("double", 1.5),
        "f": ("double", 2.0),
        "n": ("double", 3.0),
        "m": ("decimal128(10, 2)", Decimal("1.25")),
        "b": ("bool", True),
        "s": ("string", "s"),
        "v": ("string", "v"),
        "y": ("binary", b"\0\xff"),
        "day": ("date32[day]", dt.date(2026, 1, 2)),
        "at": ("timestamp[us]", dt.datetime(2026, 1, 2, 12, 0, 0, 500_000)),
        "tz": ("timestamp[us, tz=UTC]", dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)),
        "x": ("string", "text"),
        "none": ("string", None),
    }


def test_of_a_query_what_comes_from_tables_has_their_types(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER, day DATE, x INTEGER); INSERT INTO t VALUES (1, '2026-01-02', 3)")
    query = "SELECT id, day, x / 2.0 AS half, 'a' || id AS s, NULL AS none FROM t;"
    schema = create(store, path, None, query=query).schema
    assert [str(field.type) for field in schema] == ["int64", "date32[day]", "double", "string", "string"]


@pytest.mark.parametrize("declared", ["INTEGER", "TEXT", "REAL", "BLOB", "DATE", ""])
def test_nulls_before_the_first_value(store, execute, path, declared) -> None:
    value = {"INTEGER": 7, "REAL": 7.5, "BLOB": b"7", "DATE": "2026-01-02"}.get(declared, "seven")
    execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})")
    execute("INSERT INTO t VALUES (?, ?)", [(i, None) for i in range(70_000)] + [(70_000, value)])
    if declared == "":
        execute("INSERT INTO t VALUES (-1, 'first')")
    table = create(store, path).read().to_arrow()
    last = table.filter(pa.compute.equal(table["id"], 70_000))["v"][0].as_py()
    assert last == (dt.date(2026, 1, 2) if declared == "DATE" else value)
    assert table.num_rows == 70_001 + (declared == "")


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("INTEGER", "many"),
        ("INTEGER", 1.5),
        ("REAL", "much"),
        ("DATE", "some day"),
        ("DATE", 1_700_000_000),
        ("DATETIME", "2026-13-01 00:00:00"),
        ("DECIMAL(4, 2)", 12345.6),
        ("BOOLEAN", "perhaps"),
        ("TEXT", b"\xff"),
        ("REAL", b"1.5"),
        ("INTEGER", b"1"),
    ],
)
def test_values_that_are_none_of_their_column(store, execute, path, declared, value) -> None:
    execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})")
    execute("INSERT INTO t VALUES (?, ?)", [(1, None), (2, value)])
    group = create(store, path)
    assert group.read(["id"]).to_arrow().num_rows == 2
    with pytest.raises(hr.BadData, match="feature group g") as caught:
        group.read().to_arrow()
    assert "query=" in str(caught.value)


@pytest.mark.parametrize("declared", ["TEXT", "BLOB", "", "JSON", "TIME", "WHATEVER"])
def test_of_what_is_mixed_nothing_is_lost(store, execute, path, declared) -> None:
    """A union's column has the first table's type, whatever the second one holds."""
    execute(f"CREATE TABLE one (id INTEGER PRIMARY KEY, v {declared}); CREATE TABLE two (id INTEGER, v REAL)")
    execute("INSERT INTO one VALUES (1, 'text'); INSERT INTO two VALUES (2, 1.234567890123)")
    query = "SELECT id, v FROM one UNION ALL SELECT id, v FROM two"
    found = create(store, path, None, query=query).read().to_arrow().sort_by("id")
    assert found["v"].cast(pa.string()).to_pylist() == ["text", "1.234567890123"]


@pytest.mark.parametrize(("value", "read"), [("12:30:00", "12:30:00"), ('{"a": 1}', '{"a": 1}'), (7, 7)])
def test_a_declaration_that_says_nothing(store, execute, path, value, read) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TIME)")
    execute("INSERT INTO t VALUES (?, ?)", [(1, None), (2, value)])
    assert create(store, path).read().to_arrow().sort_by("id")["v"].to_pylist() == [None, read]


@pytest.mark.parametrize("declared", ["TIMESTAMP", "TIMESTAMPTZ"])
def test_how_times_are_written(store, execute, path, declared) -> None:
    written = {
        "2026-01-02": "2026-01-02T00:00",
        "2026-01-02 03:04": "2026-01-02T03:04",
        "2026-01-02T03:04:05.123456789": "2026-01-02T03:04:05.123456",
        "2026-01-02 03:04:05Z": "2026-01-02T03:04:05",
        "2026-01-02 03:04:05+02:00": "2026-01-02T01:04:05",
        "2026-01-02 03:04:05.5 -0130": "2026-01-02T04:34:05.5",
        "2026-01-02 03:04:05+02": "2026-01-02T01:04:05",
    }
    execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, at {declared})")
    execute("INSERT INTO t VALUES (?, ?)", list(enumerate(written)))
    found = create(store, path).read().to_arrow().sort_by("id")["at"].to_pylist()
    zone = dt.UTC if declared == "TIMESTAMPTZ" else None
    assert found == [dt.datetime.fromisoformat(text).replace(tzinfo=zone) for text in written.values()]


@pytest.mark.parametrize(("declared", "value", "op"), [("INTEGER", "many", ">"), ("REAL", "1x", "<=")])
def test_a_filter_does_not_hide_what_is_mistyped(store, execute, path, declared, value, op) -> None:
    """SQLite finds texts greater than all numbers: what it is asked for has all rows that Headrace would find."""
    execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {declared})")
    execute("INSERT INTO t VALUES (?, ?)", [(1, 5), (2, value)])
    group = create(store, path)
    condition = group["v"] > 7 if op == ">" else group["v"] <= 7
    for asked in (condition, ~condition, group["v"].isin([5])):
        with pytest.raises(hr.BadData, match="column 'v'"):
            group.read(filter=asked).to_arrow()


def test_bytes_among_texts_are_found_as_texts(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    execute("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, b"a"), (3, "b"), (4, b"b")])
    group = create(store, path)
    for condition, ids in (
        (group["v"] == "a", [1, 2]),
        (group["v"] > "a", [3, 4]),
        (~(group["v"] == "b"), [1, 2]),
    ):
        assert sorted(group.read(filter=condition).to_arrow()["id"].to_pylist()) == ids


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("DECIMAL(20, 2)", "12345678901234.56"),
        ("DECIMAL(20, 2)", "123456789012345.67"),
        ("DECIMAL(20, 2)", "-0.10"),
        ("DECIMAL(20, 2)", "123456789012345.5"),
        ("NUMERIC(9, 5)", "0.00001"),
        ("DECIMAL(10)", "12"),
        ("DECIMAL(38, 30)", "0.1"),
    ],
)
def test_decimals_are_those_that_were_written(store, execute, path, declared, value) -> None:
    execute(f"CREATE TABLE t (id INTEGER, m {declared}); INSERT INTO t VALUES (1, {value}), (2, NULL)")
    assert create(store, path).read().to_arrow().sort_by("id")["m"].to_pylist() == [Decimal(value), None]


@pytest.mark.parametrize("value", ["1.234", "12345678901.5", "'much'"])
def test_no_digit_of_a_decimal_is_lost(store, execute, path, value) -> None:
    execute(f"CREATE TABLE t (id INTEGER, m DECIMAL(10, 2)); INSERT INTO t VALUES (1, {value})")
    with pytest.raises(hr.BadData, match="'m'"):
        create(store, path).read().to_arrow()


def test_times_that_are_texts(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER, at TEXT); INSERT INTO t VALUES (1, '2026-01-02 12:00:00')")
    with pytest.raises(hr.SchemaMismatch, match="'at' is string") as caught:
        create(store, path, event_time="at")
    assert "unixepoch" in caught.value.hint
    query = "SELECT id, unixepoch(at) AS at FROM t"
    group = create(store, path, None, query=query, event_time="at", event_time_unit="s")
    noon = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
    assert group.read().to_arrow()["at"].to_pylist() == [noon.timestamp()]


def test_many_rows(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    execute("INSERT INTO t VALUES (?, ?)", [(i, str(i % 7)) for i in range(100_000)])
    group = create(store, path)
    assert group.read().to_arrow().num_rows == 100_000
    assert sum(batch.num_rows for batch in group.read(filter=group["v"] == "3").to_reader()) == 14_286


def test_odd_names(store, execute, path) -> None:
    execute('CREATE TABLE "a ""t"" \'x\'" (id INTEGER PRIMARY KEY, "order" TEXT, "a b" TEXT, "q""" TEXT)')
    execute("INSERT INTO \"a \"\"t\"\" 'x'\" VALUES (1, 'o', 'a', 'q')")
    group = create(store, path, "a \"t\" 'x'")
    assert group.read().to_arrow().to_pylist() == [{"id": 1, "order": "o", "a b": "a", 'q"': "q"}]
    assert group.read(["id"], group['q"'] == "q").to_arrow().num_rows == 1


def test_nothing_is_written(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    before = path.read_bytes()
    create(store, path).read().to_arrow()
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_writer_is_waited_for(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    group = create(store, path)
    with held(path) as holder:
        ending = threading.Timer(0.5, holder.communicate, ["\n"])
        ending.start()
        assert group.read().to_arrow().num_rows == 0
        ending.join()


def test_a_writer_that_does_not_end_is_told(store, execute, path, monkeypatch) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    group, read = create(store, path), store.get_feature_group("g").read()
    monkeypatch.setattr(module, "_PATIENCE_MS", 10)
    path.touch()  # so that a connection with less patience is opened
    with held(path):
        for asked in (group.read, lambda: read):
            with pytest.raises(hr.Unavailable, match=r"feature group g.*locked") as caught:
                asked().to_arrow()
            assert "a program writes to it" in caught.value.hint
    assert group.read().to_arrow().num_rows == 0


def test_what_a_writer_that_was_killed_left_behind(store, execute, path) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    execute("INSERT INTO t VALUES (1, 'whole')")
    group = create(store, path)
    die = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('PRAGMA cache_size = 5');"
        "c.executemany('INSERT INTO t VALUES (?, hex(zeroblob(3000)))', [(i,) for i in range(2, 500)]);"
        "os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", die, str(path)], check=False)
    with pytest.raises(hr.Unavailable, match="feature group g") as caught:
        group.read().to_arrow()
    assert "open it once with one that may write" in caught.value.hint
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (1,)
    assert group.read().to_arrow()["v"].to_pylist() == ["whole"]


@pytest.mark.parametrize("how", ["renamed", "written over"])
def test_another_database_in_its_place(store, execute, path, how) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'old')")
    group = create(store, path)
    assert group.read().to_arrow()["v"].to_pylist() == ["old"]
    new = path.with_name("new.db")
    shutil.copy(path, new)
    with sqlite3.connect(new) as connection:
        connection.executescript("DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
        connection.execute("INSERT INTO t VALUES (1, 'new')")
    connection.close()
    if how == "renamed":
        new.replace(path)
    else:
        shutil.copyfile(new, path)
    assert group.read().to_arrow()["v"].to_pylist() == ["new"]
    path.unlink()
    with pytest.raises(hr.NotFound, match="no SQLite database"):
        group.read()


def test_what_is_no_database(store, tmp_path) -> None:
    (tmp_path / "no.db").write_text("nothing of the kind")
    with pytest.raises(hr.InvalidArgument, match="not a database"):
        create(store, tmp_path / "no.db")
    with pytest.raises(hr.NotFound, match="no SQLite database"):
        create(store, tmp_path / "none.db")
    with pytest.raises(hr.NotFound, match="no SQLite database"):
        create(store, tmp_path)


def test_a_path_in_a_variable(store, execute, path, monkeypatch) -> None:
    execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    for uri in (str(path), f"sqlite://{path}", f"sqlite:///{path}", f"file:{path}", f"file://{path}"):
        monkeypatch.setenv("THEIRS", uri)
        found = create(store, path, uri="env:THEIRS").read().to_arrow()
        assert found.num_rows == 0


def test_what_is_passed_on_finds_what_is_found_here(store, execute, path) -> None:
    execute(
        "CREATE TABLE t (id INTEGER, f REAL, s TEXT, b BOOLEAN, at TIMESTAMPTZ, day DATE, m DECIMAL(10, 2))"
    )
    theirs = create(store, path)

    def fill(rows: list[dict[str, Any]]) -> None:
        execute("DELETE FROM t")
        execute(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                tuple(str(v) if isinstance(v, (Decimal, dt.date)) else v for v in map(row.get, VALUES))
                for row in rows
            ],
        )

    check(store, theirs, fill, nan=False)  # of which SQLite makes null
